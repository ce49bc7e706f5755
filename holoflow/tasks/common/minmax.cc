// SPDX-License-Identifier: LGPL-2.1-or-later
// Smallest and largest finite value, on Host, and the plan of the reduction for both places.
#include "holoflow/tasks/common/minmax.hh"

#include <algorithm>

#include "holoflow/tasks/common/axes.hh"

namespace holoflow::tasks {
namespace {

/// Lanes that run side by side, so that the compiler can keep them in vector registers.
constexpr size_t lanes = 16;

template <typename In> MinMax minmax_of_row(const In *row, size_t count) {
  float lo[lanes], hi[lanes];
  std::fill_n(lo, lanes, HUGE_VALF);
  std::fill_n(hi, lanes, -HUGE_VALF);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      const float x = real_part(row[i + lane]);
      // A value that does not count is replaced by one that changes nothing.
      const float low = fabsf(x) <= FLT_MAX ? x : HUGE_VALF;
      const float high = fabsf(x) <= FLT_MAX ? x : -HUGE_VALF;
      lo[lane] = low < lo[lane] ? low : lo[lane];
      hi[lane] = high > hi[lane] ? high : hi[lane];
    }
  }
  MinMax range;
  for (size_t lane = 0; lane < lanes; ++lane)
    range.include(MinMax{lo[lane], hi[lane]});
  for (; i < count; ++i)
    range.include(real_part(row[i]));
  return range;
}

}  // namespace

GroupPlan plan_groups(const core::TDesc &desc, const std::vector<size_t> &reduced) {
  GroupPlan plan;
  std::vector<size_t> shape, strides;
  const auto append = [&](size_t axis, uint64_t &product) {
    shape.push_back(desc.shape[axis]);
    strides.push_back(desc.strides[axis]);
    product *= desc.shape[axis];
  };
  for (const size_t axis : other_axes(reduced, desc.rank()))
    append(axis, plan.groups);
  std::vector<size_t> sorted = reduced;
  std::sort(sorted.begin(), sorted.end());
  for (const size_t axis : sorted)
    append(axis, plan.size);
  plan.elements = make_loop<1>(shape, {strides});
  return plan;
}

MinMax minmax_host(const StridedLoop<1> &loop, core::DType dtype, std::byte *in) {
  MinMax range;
  with_type(dtype, [&](auto tag) {
    using In = typename decltype(tag)::type;
    for_each_row<1>(loop, {in}, [&](auto at, auto steps, size_t count) {
      if (steps[0] == sizeof(In)) {
        range.include(minmax_of_row(reinterpret_cast<const In *>(at[0]), count));
        return;
      }
      for (size_t i = 0; i < count; ++i)
        range.include(real_part(*reinterpret_cast<const In *>(at[0] + i * steps[0])));
    });
  });
  return range;
}

uint32_t minmax_blocks(const GroupPlan &plan) {
  constexpr uint64_t elements_per_block = 4096;
  constexpr uint64_t most_blocks = 1024;  // about what a large GPU holds at once
  const uint64_t wanted = (plan.size + elements_per_block - 1) / elements_per_block;
  const uint64_t allowed = most_blocks / std::clamp<uint64_t>(plan.groups, 1, most_blocks);
  return static_cast<uint32_t>(std::clamp<uint64_t>(wanted, 1, allowed));
}

size_t minmax_memory_bytes(const GroupPlan &plan) {
  const uint64_t blocks = minmax_blocks(plan);
  return plan.groups * (1 + (blocks > 1 ? blocks : 0)) * sizeof(MinMax);
}

}  // namespace holoflow::tasks
