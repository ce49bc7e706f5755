// SPDX-License-Identifier: LGPL-2.1-or-later
// Conversion of one element. One definition for Host and GPU.
#pragma once

#include <type_traits>

#include "holoflow/tasks/common/minmax.hh"

namespace holoflow::tasks {

enum class Strategy { Real, Scaled, Modulus, Argument };

/// Rounds half to even, saturates to 0 … top (at most 65535), NaN gives 0.
HOLOFLOW_HOST_DEVICE inline float round_saturated(float x, float top) {
  constexpr float two_to_23 = 8388608.0f;  // from here on a float has no fraction
  x = x > 0 ? x : 0.0f;
  x = x < top ? x : top;
  return add(add(x, two_to_23), -two_to_23);
}

template <typename Out> constexpr float top_level() {
  return std::is_same_v<Out, uint8_t> ? 255.0f : 65535.0f;
}

/// Strategy Real: an element of the same type stays as it is, of any other the real part counts.
template <typename Out, typename In> HOLOFLOW_HOST_DEVICE Out to_element(In element) {
  if constexpr (std::is_same_v<Out, In>) {
    return element;
  } else if constexpr (std::is_same_v<Out, float>) {
    return real_part(element);
  } else if constexpr (std::is_same_v<Out, Complex>) {
    return {real_part(element), 0.0f};
  } else {
    const float level = round_saturated(real_part(element), top_level<Out>());
    return static_cast<Out>(static_cast<int32_t>(level));
  }
}

HOLOFLOW_HOST_DEVICE inline float modulus(uint8_t x) {
  return static_cast<float>(x);
}
HOLOFLOW_HOST_DEVICE inline float modulus(uint16_t x) {
  return static_cast<float>(x);
}
HOLOFLOW_HOST_DEVICE inline float modulus(float x) {
  return fabsf(x);
}
HOLOFLOW_HOST_DEVICE inline float modulus(Complex x) {
  return magnitude(x);
}

HOLOFLOW_HOST_DEVICE inline float argument(uint8_t) {
  return 0.0f;
}
HOLOFLOW_HOST_DEVICE inline float argument(uint16_t) {
  return 0.0f;
}
/// π where the sign is set, −0 included (as NumPy's angle); NaN stays.
HOLOFLOW_HOST_DEVICE inline float argument(float x) {
  constexpr float pi = 3.14159265358979f;
  if (x != x)
    return x;
  return copysignf(1.0f, x) < 0 ? pi : 0.0f;
}
HOLOFLOW_HOST_DEVICE inline float argument(Complex x) {
  return atan2f(x.im, x.re);
}

struct RealOp {
  template <typename In> HOLOFLOW_HOST_DEVICE In operator()(In x) const { return x; }
};
struct ModulusOp {
  template <typename In> HOLOFLOW_HOST_DEVICE float operator()(In x) const { return modulus(x); }
};
struct ArgumentOp {
  template <typename In> HOLOFLOW_HOST_DEVICE float operator()(In x) const { return argument(x); }
};

/// Scaled: trunc((x − min) · levels / (max − min) + 0.5) with the range of the finite values. A
/// constant gives 0, NaN 0, −∞ 0, +∞ the top level; without any finite value everything is 0.
struct ScaledMap {
  float shrink;  ///< 1, or a power of 2 that keeps wide ranges from overflowing
  float min;  ///< shrunk
  float range;  ///< shrunk
  float levels;
  float top;

  HOLOFLOW_HOST_DEVICE ScaledMap(MinMax values, float levels_wanted) : levels(levels_wanted) {
    constexpr float widest = 1e33f;  // 65535 times this is still finite
    constexpr float two_to_minus_20 = 1.0f / 1048576.0f;
    const bool any = values.lo <= values.hi;
    const float half = any ? values.hi * 0.5f - values.lo * 0.5f : 0.0f;
    shrink = half > widest ? two_to_minus_20 : 1.0f;
    min = any ? values.lo * shrink : 0.0f;
    range = any ? values.hi * shrink - min : 0.0f;
    top = any ? levels : 0.0f;
  }

  template <typename In> HOLOFLOW_HOST_DEVICE float operator()(In element) const {
    const float x = add(mul(real_part(element), shrink), -min);
    const float level = add(mul(x, levels) / range, 0.5f);
    // Comparisons with NaN (0/0 for a constant) are false.
    return level > 0 ? (level < top ? level : top) : 0.0f;
  }
};

/// Cuts the fraction off a level that is in range.
template <typename Out> HOLOFLOW_HOST_DEVICE Out cut(float level) {
  return static_cast<Out>(static_cast<int32_t>(level));
}

}  // namespace holoflow::tasks
