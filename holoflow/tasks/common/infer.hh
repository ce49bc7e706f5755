// SPDX-License-Identifier: LGPL-2.1-or-later
// What the infer functions of built-in tasks share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/core/tensor.hh"
#include "holoflow/tasks/common/index.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

/// A packed tensor at offset 0 with the input's shape, location and annotation.
[[nodiscard]] core::TDesc like_input(const core::TDesc &input, core::DType dtype);
[[nodiscard]] core::TDesc like_input(const core::TDesc &input);

/// Whether an output like `output` may live in the storage of `input`: both packed at offset 0, of
/// the same shape and element type.
[[nodiscard]] bool can_share(const core::TDesc &input, const core::TDesc &output);

/// Refuses tensors that kernels cannot index: more than max_rank axes, or strides or an offset that
/// are not multiples of the element size. Throws std::invalid_argument.
void require_indexable(std::span<const core::TDesc> inputs);

/// Refuses inputs that lie in different places. Throws std::invalid_argument.
void require_same_location(std::span<const core::TDesc> inputs);

/// A synchronous task's contract: these outputs, nothing in place, nothing owned.
[[nodiscard]] core::InferResult sync_result(
    std::span<const core::TDesc> inputs, std::vector<core::TDesc> outputs);

/// The same for one output that may live in input `in_idx`'s storage where that fits.
[[nodiscard]] core::InferResult elementwise_result(
    std::span<const core::TDesc> inputs, core::TDesc output, size_t in_idx = 0);

/// NumPy's broadcast of two shapes; nothing where they do not fit.
[[nodiscard]] std::optional<std::vector<size_t>> broadcast_shapes(
    const std::vector<size_t> &a, const std::vector<size_t> &b);

/// Byte strides with which a tensor is read as one of the (broadcast) shape: 0 along repeated axes.
[[nodiscard]] std::vector<size_t> broadcast_strides(
    const core::TDesc &desc, const std::vector<size_t> &shape);

/// A number of the params as F32. Throws ParamError where it does not fit.
[[nodiscard]] float float_param(const nlohmann::json &params, const std::string &name);

/// A `spec.infer` that needs no compile context.
template <typename Infer> [[nodiscard]] InferFunction without_context(Infer infer) {
  return [infer](
             const InferContext &, std::span<const core::TDesc> inputs,
             const nlohmann::json &params) { return infer(inputs, params); };
}

}  // namespace holoflow::tasks
