// SPDX-License-Identifier: LGPL-2.1-or-later
// Functions of one element: Sqrt, Log1p, Abs, AbsSquared. One definition for Host and GPU.
#pragma once

#include <cmath>

#include "holoflow/tasks/common/scalar.hh"

namespace holoflow::tasks {

enum class Elementwise { Sqrt, Log1p, Abs, AbsSquared };

/// NumPy's: NaN below 0; of complex numbers the root with a real part ≥ 0.
struct SqrtOp {
  HOLOFLOW_HOST_DEVICE float operator()(float x) const { return sqrtf(x); }

  /// In double, where no float overflows, by sqrt(z) = (t, im / 2t), t = sqrt((|re| + |z|) / 2).
  HOLOFLOW_HOST_DEVICE Complex operator()(Complex z) const {
    if (is_infinite(z.im))
      return {HUGE_VALF, z.im};
    if (is_infinite(z.re)) {
      const float other = z.im == z.im ? 0.0f : z.im;  // NaN stays NaN
      if (z.re > 0)
        return {z.re, copysignf(other, z.im)};
      return {fabsf(other), copysignf(HUGE_VALF, z.im)};
    }
    const double re = z.re;
    const double im = z.im;
    const double t = sqrt((fabs(re) + sqrt(re * re + im * im)) / 2);
    if (t == 0)
      return {0.0f, z.im};
    if (re >= 0)
      return {static_cast<float>(t), static_cast<float>(im / (2 * t))};
    return {static_cast<float>(fabs(im) / (2 * t)), copysignf(static_cast<float>(t), z.im)};
  }
};

/// The library's log1pf takes one element at a time and differs between Host and GPU; this fills
/// vector registers and gives the same bits. Within 1 ulp.
struct Log1pOp {
  /// With u = fl(1 + x) = 2^k · (1 + f) and u's rounding error c: log1p(x) = k ln 2 + log(1 + f) +
  /// c/u, and log(1 + f) = 2 atanh(s), s = f / (2 + f), by its series; |s| < 0.172. Written as f −
  /// f²/2 + s (f²/2 + rest), so that f, which is exact, carries most of the result.
  HOLOFLOW_HOST_DEVICE float operator()(float x) const {
    constexpr uint32_t sqrt_half_bits = 0x3f3504f3;
    constexpr float ln2_high = 0.693359375f;  // few bits, so that k times it is exact
    constexpr float ln2_low = -2.12194440e-4f;
    const float u = add(1.0f, x);
    const float c = x > 1 ? add(1.0f, -add(u, -x)) : add(x, -add(u, -1.0f));
    const uint32_t bits = float_bits(u);
    const int32_t k = static_cast<int32_t>(bits - sqrt_half_bits) >> 23;
    const float f = add(bits_float(bits - (static_cast<uint32_t>(k) << 23)), -1.0f);
    const float s = f / add(2.0f, f);
    const float z = mul(s, s);
    const float rest =
        mul(z, add(2.0f / 3, mul(z, add(2.0f / 5, mul(z, add(2.0f / 7, mul(z, 2.0f / 9)))))));
    const float half_square = mul(0.5f, mul(f, f));
    const auto exponent = static_cast<float>(k);
    const float small = add(mul(s, add(half_square, rest)), add(mul(exponent, ln2_low), c / u));
    const float result = add(mul(exponent, ln2_high), add(f, add(small, -half_square)));
    // Where u is no positive finite number its bits say nothing. NaN comes through c.
    const float beyond = x > 0 ? HUGE_VALF : (x == -1 ? -HUGE_VALF : NAN);
    return u > 0 && u <= FLT_MAX ? result : beyond;
  }
};

/// Integers are not negative, so they stay.
struct AbsOp {
  HOLOFLOW_HOST_DEVICE uint8_t operator()(uint8_t x) const { return x; }
  HOLOFLOW_HOST_DEVICE uint16_t operator()(uint16_t x) const { return x; }
  HOLOFLOW_HOST_DEVICE float operator()(float x) const { return fabsf(x); }
  HOLOFLOW_HOST_DEVICE float operator()(Complex x) const { return magnitude(x); }
};

struct AbsSquaredOp {
  HOLOFLOW_HOST_DEVICE float operator()(float x) const { return mul(x, x); }
  HOLOFLOW_HOST_DEVICE float operator()(Complex x) const {
    return add(mul(x.re, x.re), mul(x.im, x.im));
  }
};

/// Calls visit(op, TypeTag<In>{}) for a function and an element type that the spec allows.
template <typename Visit>
decltype(auto) with_elementwise(Elementwise function, core::DType dtype, Visit &&visit) {
  const bool complex = dtype == core::DType::CF32;
  switch (function) {
  case Elementwise::Sqrt:
    return complex ? visit(SqrtOp{}, TypeTag<Complex>{}) : visit(SqrtOp{}, TypeTag<float>{});
  case Elementwise::Log1p:
    return visit(Log1pOp{}, TypeTag<float>{});
  case Elementwise::AbsSquared:
    return complex ? visit(AbsSquaredOp{}, TypeTag<Complex>{})
                   : visit(AbsSquaredOp{}, TypeTag<float>{});
  case Elementwise::Abs:
    break;
  }
  return with_type(dtype, [&visit](auto in) { return visit(AbsOp{}, in); });
}

}  // namespace holoflow::tasks
