// SPDX-License-Identifier: LGPL-2.1-or-later
// The Fourier family: what a transform is asked to do, shared by its Host and Device tasks.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

enum class FftDirection { Forward, Inverse };

/// A complex transform along some axes of a tensor; the result is packed, CF32, of the same shape.
struct FftProblem {
  std::vector<size_t> axes;  ///< different ones, ascending: the order does not change the result
  FftDirection direction = FftDirection::Forward;
  float scale = 1;  ///< multiplies the result, as `norm` asks
};

/// The two axes, ascending, that `value` names, or for null the picture's. Throws
/// std::invalid_argument or ParamError where the input has no such axes.
[[nodiscard]] std::vector<size_t> two_axes(const core::TDesc &input, const nlohmann::json &value);

/// The problem that a node with `axes` (two) and `norm` poses. Throws std::invalid_argument or
/// ParamError where the input has no such axes.
[[nodiscard]] FftProblem fft2_problem(
    const core::TDesc &input, const nlohmann::json &params, FftDirection direction);

/// NumPy's factor: `norm` is "backward", "ortho" or "forward", `points` the product of the lengths.
[[nodiscard]] float fft_scale(const std::string &norm, FftDirection direction, size_t points);

/// Host task for F32 or CF32 inputs of any strides.
[[nodiscard]] std::unique_ptr<core::ISyncTask> make_fft_host(
    const MakeArgs<core::SyncCreateCtx> &args, const FftProblem &problem);

}  // namespace holoflow::tasks
