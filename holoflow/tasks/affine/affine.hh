// SPDX-License-Identifier: LGPL-2.1-or-later
// x · scale + offset of one element. One definition for Host and GPU.
#pragma once

#include <type_traits>

#include "holoflow/tasks/common/scalar.hh"

namespace holoflow::tasks {

/// One pair of coefficients; arrays along an axis are tables of these.
struct alignas(8) AffineCoefficients {
  float scale;
  float offset;
};

struct AffineOp {
  template <typename In> HOLOFLOW_HOST_DEVICE auto operator()(In x, AffineCoefficients c) const {
    if constexpr (std::is_same_v<In, Complex>) {
      return Complex{add(mul(x.re, c.scale), c.offset), mul(x.im, c.scale)};
    } else {
      return add(mul(static_cast<float>(x), c.scale), c.offset);
    }
  }
};

template <typename In>
using AffineOut = std::conditional_t<std::is_same_v<In, Complex>, Complex, float>;

}  // namespace holoflow::tasks
