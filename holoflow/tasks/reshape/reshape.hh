// SPDX-License-Identifier: LGPL-2.1-or-later
// Which strides show a tensor in another shape.
#pragma once

#include <optional>
#include <vector>

#include "holoflow/core/tensor.hh"

namespace holoflow::tasks {

/// Byte strides of a view of `in` with this shape (of as many elements), nothing where only a copy
/// has it.
[[nodiscard]] std::optional<std::vector<size_t>> reshaped_strides(
    const core::TDesc &in, const std::vector<size_t> &shape);

}  // namespace holoflow::tasks
