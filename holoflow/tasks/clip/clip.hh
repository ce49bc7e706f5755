// SPDX-License-Identifier: LGPL-2.1-or-later
// Clip of one element, and what its Host and GPU tasks share. One definition for Host and GPU.
#pragma once

#include "holoflow/tasks/common/scalar.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

/// min(max(x, lo), hi) as NumPy: NaN stays NaN, and where lo > hi everything becomes hi.
template <typename T> struct ClipOp {
  T lo;
  T hi;

  HOLOFLOW_HOST_DEVICE T operator()(T x) const {
    const T raised = x < lo ? lo : x;
    return raised > hi ? hi : raised;
  }
};

/// Bounds that the elements' type holds exactly.
struct ClipBounds {
  double lo;
  double hi;

  template <typename T> [[nodiscard]] ClipOp<T> op() const {
    return {static_cast<T>(lo), static_cast<T>(hi)};
  }
};

/// The bounds of complete params. Integers stay between the bounds as given: lo is rounded up, hi
/// down, and both saturate at the type's ends. Throws ParamError where a bound does not fit F32.
[[nodiscard]] ClipBounds clip_bounds(core::DType dtype, const nlohmann::json &params);

[[nodiscard]] std::unique_ptr<core::ISyncTask> make_clip_host(
    const MakeArgs<core::SyncCreateCtx> &args);

}  // namespace holoflow::tasks
