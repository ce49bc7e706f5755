// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies of tensors in Host memory between any two layouts.
#pragma once

#include <cstddef>

#include "holoflow/core/tensor.hh"

namespace holoflow::tasks {

/// One loop of a copy: how many steps, and how many bytes one step moves on each side.
struct CopyAxis {
  size_t count = 0;
  size_t from_stride = 0;
  size_t to_stride = 0;
};

/// A copy as nested loops around contiguous runs: axes of one element are gone, axes that continue
/// each other on both sides are merged.
struct CopyPlan {
  std::vector<CopyAxis> axes;  ///< outermost first, without the run
  size_t run_bytes = 0;  ///< contiguous on both sides; 0 where there is nothing to copy
};

/// Throws std::invalid_argument where shapes or element types differ.
[[nodiscard]] CopyPlan plan_copy(const core::TDesc &from, const core::TDesc &to);

/// Copies as planned; allocates nothing. The pointers are those of the first elements; the memory
/// must not overlap.
void copy_planned(const CopyPlan &plan, const std::byte *from, std::byte *to);

/// Copies every element of `from` to its place in `to`. The pointers are those of the first
/// elements; the memory must not overlap. Throws as plan_copy does.
void copy_strided(
    const core::TDesc &from_desc, const std::byte *from, const core::TDesc &to_desc, std::byte *to);

/// The packed form of a tensor in the same location: offset 0, same media.
[[nodiscard]] core::TDesc packed_like(const core::TDesc &desc);

}  // namespace holoflow::tasks
