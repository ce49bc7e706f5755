// SPDX-License-Identifier: LGPL-2.1-or-later
// How a tensor's elements fall into the groups that Mean, Max and Min reduce, and what the Host and
// GPU tasks share.
#pragma once

#include <vector>

#include "holoflow/tasks/reduction/reduction.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

struct ReductionType {
  const char *type;
  const char *doc;
  Reduction reduction;
};

inline constexpr ReductionType reduction_types[] = {
    {"Mean", "Mean along axes; F32, of CF32 CF32 (NumPy's mean).", Reduction::Mean},
    {"Max", "Largest element along axes; NaN wins, CF32 by real, then imaginary part.",
     Reduction::Max},
    {"Min", "Smallest element along axes; NaN wins, CF32 by real, then imaginary part.",
     Reduction::Min},
};

/// Element j of group g lies heads(g) + members(j) behind the first element of the tensor; groups
/// are in the output's order, members from the largest stride to the smallest.
struct ReductionPlan {
  uint64_t groups = 1;
  uint64_t size = 1;  ///< elements per group
  StridedLoop<2> heads;  ///< operands: first elements of the groups, output
  StridedLoop<1> members;
  /// Neighbouring groups lie closer to each other than neighbouring members: then groups are
  /// reduced side by side, so that memory is read as it lies.
  bool side_by_side = false;
};

[[nodiscard]] ReductionPlan plan_reduction(
    const core::TDesc &in, const std::vector<size_t> &reduced, core::DType out);

/// How a GPU works: who takes a group, and into how many parts groups are cut to occupy it.
struct ReductionSplit {
  enum class Worker { Thread, Warp, Block };
  Worker worker = Worker::Thread;
  uint32_t parts = 1;
};
[[nodiscard]] ReductionSplit split_reduction(const ReductionPlan &plan);

/// Device memory for the states of the parts; 0 where groups are not cut.
[[nodiscard]] size_t reduction_memory_bytes(
    Reduction reduction, core::DType dtype, const ReductionPlan &plan);

/// The axes that a node with complete params reduces.
[[nodiscard]] std::vector<size_t> reduced_axes(const core::TDesc &in, const nlohmann::json &params);

[[nodiscard]] SyncMaker make_reduction_host(Reduction reduction);

}  // namespace holoflow::tasks
