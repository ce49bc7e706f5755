// SPDX-License-Identifier: LGPL-2.1-or-later
// Add, Subtract, Multiply, Divide of two elements. One definition for Host and GPU.
#pragma once

#include <type_traits>

#include "holoflow/tasks/common/scalar.hh"

namespace holoflow::tasks {

enum class Arithmetic { Add, Subtract, Multiply, Divide };

/// Integers wrap: computed without sign and cut to size. x / 0 is 0. A quotient of two integers
/// below 2^16 keeps further from the next integer than a float's rounding, so float division, which
/// runs in vector registers, cuts to the same.
template <Arithmetic op, typename T>
requires std::is_integral_v<T> HOLOFLOW_HOST_DEVICE T apply(T a, T b) {
  const uint32_t x = a;
  const uint32_t y = b;
  if constexpr (op == Arithmetic::Add)
    return static_cast<T>(x + y);
  if constexpr (op == Arithmetic::Subtract)
    return static_cast<T>(x - y);
  if constexpr (op == Arithmetic::Multiply)
    return static_cast<T>(x * y);
  const float quotient = static_cast<float>(a) / static_cast<float>(y == 0 ? 1 : b);
  return y == 0 ? T{0} : static_cast<T>(static_cast<int32_t>(quotient));
}

template <Arithmetic op> HOLOFLOW_HOST_DEVICE float apply(float a, float b) {
  if constexpr (op == Arithmetic::Add)
    return a + b;
  if constexpr (op == Arithmetic::Subtract)
    return a - b;
  if constexpr (op == Arithmetic::Multiply)
    return a * b;
  return a / b;
}

/// Smith's division, which divides by the larger part of b, in double, where no sum overflows. By 0
/// as NumPy: each part is divided by 0.
HOLOFLOW_HOST_DEVICE inline Complex divide(Complex a, Complex b) {
  if (b.re == 0 && b.im == 0)
    return {a.re / fabsf(b.re), a.im / fabsf(b.re)};
  const bool by_re = fabsf(b.re) >= fabsf(b.im);
  const double large = by_re ? b.re : b.im;
  const double small = by_re ? b.im : b.re;
  const double ratio = small / large;
  const double divisor = large + small * ratio;
  const double re = by_re ? a.re + a.im * ratio : a.re * ratio + a.im;
  const double im = by_re ? a.im - a.re * ratio : a.im * ratio - a.re;
  return {static_cast<float>(re / divisor), static_cast<float>(im / divisor)};
}

template <Arithmetic op> HOLOFLOW_HOST_DEVICE Complex apply(Complex a, Complex b) {
  if constexpr (op == Arithmetic::Add)
    return {a.re + b.re, a.im + b.im};
  if constexpr (op == Arithmetic::Subtract)
    return {a.re - b.re, a.im - b.im};
  if constexpr (op == Arithmetic::Multiply)
    return {add(mul(a.re, b.re), -mul(a.im, b.im)), add(mul(a.re, b.im), mul(a.im, b.re))};
  return divide(a, b);
}

template <typename Out, typename In> HOLOFLOW_HOST_DEVICE Out promote(In x) {
  if constexpr (std::is_same_v<Out, In>) {
    return x;
  } else if constexpr (std::is_same_v<Out, Complex>) {
    return {static_cast<float>(x), 0.0f};
  } else {
    return static_cast<Out>(x);
  }
}

/// The wider of two element types: U8 < U16 < F32 < CF32.
template <typename A, typename B>
using Promoted = std::conditional_t<
    std::is_same_v<A, Complex> || std::is_same_v<B, Complex>, Complex,
    std::conditional_t<
        std::is_same_v<A, float> || std::is_same_v<B, float>, float,
        std::conditional_t<(sizeof(A) > sizeof(B)), A, B>>>;

template <Arithmetic op> struct ArithmeticOp {
  template <typename A, typename B> HOLOFLOW_HOST_DEVICE auto operator()(A a, B b) const {
    using Out = Promoted<A, B>;
    return apply<op>(promote<Out>(a), promote<Out>(b));
  }
};

/// Calls visit(op) with the operation as a function object.
template <typename Visit> decltype(auto) with_arithmetic(Arithmetic op, Visit &&visit) {
  switch (op) {
  case Arithmetic::Add:
    return visit(ArithmeticOp<Arithmetic::Add>{});
  case Arithmetic::Subtract:
    return visit(ArithmeticOp<Arithmetic::Subtract>{});
  case Arithmetic::Multiply:
    return visit(ArithmeticOp<Arithmetic::Multiply>{});
  case Arithmetic::Divide:
    break;
  }
  return visit(ArithmeticOp<Arithmetic::Divide>{});
}

}  // namespace holoflow::tasks
