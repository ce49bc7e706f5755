// SPDX-License-Identifier: LGPL-2.1-or-later
// Mean, Max and Min: how elements are merged. One definition for Host and GPU.
#pragma once

#include <type_traits>

#include "holoflow/tasks/common/scalar.hh"

namespace holoflow::tasks {

enum class Reduction { Mean, Max, Min };

struct ComplexSum {
  double re;
  double im;
};

/// An operation has a State per group: identity(), of(element), merge(State, State) and, of the
/// whole group's, finish(State, elements). Sums of integers are exact, others kept in double, so
/// that a float's rounding hides the order.
template <typename In> struct MeanOp {
  using Element = In;
  using State = std::conditional_t<std::is_same_v<In, float>, double, uint64_t>;
  using Out = float;

  HOLOFLOW_HOST_DEVICE static State identity() { return 0; }
  HOLOFLOW_HOST_DEVICE static State of(In x) { return static_cast<State>(x); }
  HOLOFLOW_HOST_DEVICE static State merge(State a, State b) { return a + b; }
  HOLOFLOW_HOST_DEVICE static Out finish(State sum, uint64_t elements) {
    return static_cast<float>(static_cast<double>(sum) / static_cast<double>(elements));
  }
};

template <> struct MeanOp<Complex> {
  using Element = Complex;
  using State = ComplexSum;
  using Out = Complex;

  HOLOFLOW_HOST_DEVICE static State identity() { return {0, 0}; }
  HOLOFLOW_HOST_DEVICE static State of(Complex x) { return {x.re, x.im}; }
  HOLOFLOW_HOST_DEVICE static State merge(State a, State b) { return {a.re + b.re, a.im + b.im}; }
  HOLOFLOW_HOST_DEVICE static Out finish(State sum, uint64_t elements) {
    const auto n = static_cast<double>(elements);
    return {static_cast<float>(sum.re / n), static_cast<float>(sum.im / n)};
  }
};

template <typename T> HOLOFLOW_HOST_DEVICE bool is_nan(T x) {
  if constexpr (std::is_same_v<T, Complex>) {
    return is_nan(x.re) || is_nan(x.im);
  } else if constexpr (std::is_same_v<T, float>) {
    return x != x;
  } else {
    return false;
  }
}

/// Complex numbers are ordered by real parts, then imaginary ones.
template <typename T> HOLOFLOW_HOST_DEVICE bool is_less(T a, T b) {
  if constexpr (std::is_same_v<T, Complex>) {
    return a.re < b.re || (a.re == b.re && a.im < b.im);
  } else {
    return a < b;
  }
}

/// NaN wins, as NumPy has it. Of complex numbers with a NaN both parts become NaN: which of them
/// NumPy would pass on depends on their order, and a GPU has none.
template <typename In, bool largest> struct ExtremumOp {
  using Element = In;
  using State = In;
  using Out = In;

  HOLOFLOW_HOST_DEVICE static State identity() {
    if constexpr (std::is_same_v<In, Complex>) {
      const float end = ExtremumOp<float, largest>::identity();
      return {end, end};
    } else if constexpr (std::is_same_v<In, float>) {
      return largest ? -HUGE_VALF : HUGE_VALF;
    } else {
      return largest ? In{0} : static_cast<In>(~In{0});
    }
  }
  HOLOFLOW_HOST_DEVICE static State of(In x) { return x; }
  HOLOFLOW_HOST_DEVICE static State merge(State a, State b) {
    const bool beyond = largest ? is_less(a, b) : is_less(b, a);
    if constexpr (std::is_same_v<In, Complex>) {
      // With a NaN in one part the order of the others means nothing.
      return !is_nan(a) && (is_nan(b) || beyond) ? b : a;
    } else {
      return is_nan(b) || beyond ? b : a;
    }
  }
  HOLOFLOW_HOST_DEVICE static Out finish(State state, uint64_t) {
    if constexpr (std::is_same_v<In, Complex>)
      return is_nan(state) ? Complex{NAN, NAN} : state;
    return state;
  }
};

/// Calls visit(op) with the operation for elements of a type.
template <typename Visit>
decltype(auto) with_reduction(Reduction reduction, core::DType dtype, Visit &&visit) {
  return with_type(dtype, [&](auto tag) {
    using In = typename decltype(tag)::type;
    switch (reduction) {
    case Reduction::Max:
      return visit(ExtremumOp<In, true>{});
    case Reduction::Min:
      return visit(ExtremumOp<In, false>{});
    case Reduction::Mean:
      break;
    }
    return visit(MeanOp<In>{});
  });
}

}  // namespace holoflow::tasks
