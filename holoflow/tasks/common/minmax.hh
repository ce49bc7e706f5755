// SPDX-License-Identifier: LGPL-2.1-or-later
// Smallest and largest finite value of a tensor or of groups of its elements.
#pragma once

#include <vector>

#include "holoflow/tasks/common/scalar.hh"

namespace holoflow::tasks {

/// Range of the finite values seen; lo > hi where there were none. NaN and infinities do not count,
/// so that one bad pixel does not blank a picture.
struct alignas(8) MinMax {
  float lo = HUGE_VALF;
  float hi = -HUGE_VALF;

  HOLOFLOW_HOST_DEVICE void include(float x) {
    const bool counts = is_finite(x);
    lo = counts && x < lo ? x : lo;
    hi = counts && x > hi ? x : hi;
  }
  HOLOFLOW_HOST_DEVICE void include(MinMax other) {
    lo = other.lo < lo ? other.lo : lo;
    hi = other.hi > hi ? other.hi : hi;
  }
};

/// How the elements of a tensor fall into groups. Element j of group g is element g · size + j of
/// the loop; groups are in row-major order of the axes that are not reduced.
struct GroupPlan {
  uint64_t groups = 1;
  uint64_t size = 1;  ///< elements per group
  StridedLoop<1> elements;
};

/// Groups of the elements that differ only along `reduced` axes.
[[nodiscard]] GroupPlan plan_groups(const core::TDesc &desc, const std::vector<size_t> &reduced);

/// Range of all elements of the loop, on Host; of CF32 of the real parts.
[[nodiscard]] MinMax minmax_host(const StridedLoop<1> &loop, core::DType dtype, std::byte *in);

/// Blocks that share one group on a GPU.
[[nodiscard]] uint32_t minmax_blocks(const GroupPlan &plan);

/// Device memory for the results (first) and the blocks' partial ranges (behind them).
[[nodiscard]] size_t minmax_memory_bytes(const GroupPlan &plan);

}  // namespace holoflow::tasks
