// SPDX-License-Identifier: LGPL-2.1-or-later
// Normalisation of one element. One definition for Host and GPU.
#pragma once

#include "holoflow/tasks/common/minmax.hh"

namespace holoflow::tasks {

/// (x − min) / (max − min + 1e−7) · width + lo with the range of the group's finite values; NaN and
/// infinities stay. A group without finite values becomes NaN.
struct NormalizeOp {
  float lo;
  float width;  ///< hi − lo

  template <typename In> HOLOFLOW_HOST_DEVICE float operator()(In element, MinMax range) const {
    const float x = add(real_part(element), -range.lo);
    const float span = add(add(range.hi, -range.lo), 1e-7f);
    return add(mul(x / span, width), lo);
  }
};

}  // namespace holoflow::tasks
