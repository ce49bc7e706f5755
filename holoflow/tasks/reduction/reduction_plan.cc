// SPDX-License-Identifier: LGPL-2.1-or-later
// Groups of Mean, Max and Min, and how a GPU shares them out.
#include "holoflow/tasks/reduction/reduction_plan.hh"

#include <algorithm>

#include "holoflow/tasks/common/axes.hh"

namespace holoflow::tasks {

ReductionPlan plan_reduction(
    const core::TDesc &in, const std::vector<size_t> &reduced, core::DType out) {
  ReductionPlan plan;
  const std::vector<size_t> kept = other_axes(reduced, in.rank());
  const std::vector<size_t> shape = pick_axes(in.shape, kept);
  plan.heads = make_loop<2>(shape, {pick_axes(in.strides, kept), core::packed_strides(shape, out)});

  // The result does not depend on the order of the members; memory is read best from the largest
  // stride to the smallest.
  std::vector<size_t> ordered = reduced;
  std::sort(ordered.begin(), ordered.end(), [&in](size_t a, size_t b) {
    return in.strides[a] != in.strides[b] ? in.strides[a] > in.strides[b] : a < b;
  });
  plan.members = make_loop<1>(pick_axes(in.shape, ordered), {pick_axes(in.strides, ordered)});
  plan.groups = plan.heads.count;
  plan.size = plan.members.count;
  if (plan.heads.rank > 0)
    plan.side_by_side = plan.members.rank == 0 ||
        plan.heads.strides[0][plan.heads.rank - 1] < plan.members.strides[0][plan.members.rank - 1];
  return plan;
}

ReductionSplit split_reduction(const ReductionPlan &plan) {
  constexpr uint64_t threads = 1 << 17;  // about what a large GPU holds at once
  constexpr uint64_t blocks = 1024;  // likewise
  constexpr uint64_t least_per_thread = 64;
  constexpr uint64_t least_per_block = 4096;
  constexpr uint64_t small_group = 8;  // neighbours of one thread share a cache line
  constexpr uint64_t warp_group = 1024;
  using Worker = ReductionSplit::Worker;
  const uint64_t groups = std::max<uint64_t>(plan.groups, 1);
  const auto parts = [&](uint64_t workers, uint64_t least) {
    const uint64_t allowed = std::max<uint64_t>(workers / groups, 1);
    return static_cast<uint32_t>(std::clamp<uint64_t>(plan.size / least, 1, allowed));
  };
  if (plan.side_by_side || plan.size <= small_group)
    return {Worker::Thread, parts(threads, least_per_thread)};
  if (plan.size <= warp_group && plan.groups >= blocks)
    return {Worker::Warp, 1};
  return {Worker::Block, parts(blocks, least_per_block)};
}

size_t reduction_memory_bytes(Reduction reduction, core::DType dtype, const ReductionPlan &plan) {
  const ReductionSplit split = split_reduction(plan);
  if (split.parts == 1)
    return 0;
  return with_reduction(reduction, dtype, [&](auto op) {
    return plan.groups * split.parts * sizeof(typename decltype(op)::State);
  });
}

std::vector<size_t> reduced_axes(const core::TDesc &in, const nlohmann::json &params) {
  return normalise_axes(params["axis"], in.rank(), "axis");
}

}  // namespace holoflow::tasks
