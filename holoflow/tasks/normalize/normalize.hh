// SPDX-License-Identifier: LGPL-2.1-or-later
// Normalisation of one element. One definition for Host and GPU.
#pragma once

#include "holoflow/tasks/common/minmax.hh"

namespace holoflow::tasks {

/// (x − min) / (max − min + eps) · (hi − lo) + lo with the range of the group's finite values. In
/// double, so that no range of floats overflows or vanishes; written as a weighted mean of lo and
/// hi, which is exact at both ends. A constant becomes lo, an infinity stays one (· −1 where
/// hi < lo), NaN stays. A group without finite values becomes NaN.
struct NormalizeOp {
  double lo;
  double hi;
  double eps;

  template <typename In> HOLOFLOW_HOST_DEVICE float operator()(In element, MinMax range) const {
    const double x = real_part(element);
    const double min = range.lo;
    const double max = range.hi;
    const double span = add(add(max, -min), eps);
    const double part = span > 0 ? add(x, -min) / span : 0.0;
    const double y = add(mul(lo, add(1.0, -part)), mul(hi, part));
    const double direction = hi > lo ? 1.0 : (hi < lo ? -1.0 : 0.0);
    const double result = x - x == 0 ? y : mul(x, direction);  // NaN where x is not finite
    return static_cast<float>(range.lo <= range.hi ? result : NAN);
  }
};

}  // namespace holoflow::tasks
