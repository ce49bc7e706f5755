// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies of tensors in Host memory: merge axes, then move runs.
#include "holoflow/tasks/transfer/strided_copy.hh"

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace holoflow::tasks {

namespace {

// The innermost axis of runs that are one element long: channel slices and transposed views.
template <size_t Bytes>
void copy_elements(const CopyAxis &axis, const std::byte *from, std::byte *to) {
  for (size_t i = 0; i < axis.count; ++i)
    std::memcpy(to + i * axis.to_stride, from + i * axis.from_stride, Bytes);
}

void copy_runs(const CopyAxis &axis, size_t run_bytes, const std::byte *from, std::byte *to) {
  switch (run_bytes) {
  case 1:
    return copy_elements<1>(axis, from, to);
  case 2:
    return copy_elements<2>(axis, from, to);
  case 4:
    return copy_elements<4>(axis, from, to);
  case 8:
    return copy_elements<8>(axis, from, to);
  default:
    break;
  }
  for (size_t i = 0; i < axis.count; ++i)
    std::memcpy(to + i * axis.to_stride, from + i * axis.from_stride, run_bytes);
}

void copy_level(const CopyPlan &plan, size_t level, const std::byte *from, std::byte *to) {
  const CopyAxis &axis = plan.axes[level];
  if (level + 1 == plan.axes.size())
    return copy_runs(axis, plan.run_bytes, from, to);
  for (size_t i = 0; i < axis.count; ++i)
    copy_level(plan, level + 1, from + i * axis.from_stride, to + i * axis.to_stride);
}

}  // namespace

CopyPlan plan_copy(const core::TDesc &from, const core::TDesc &to) {
  if (from.shape != to.shape || from.dtype != to.dtype)
    throw std::invalid_argument(
        "expected " + core::to_string(to) + ", got " + core::to_string(from) +
        "; shapes and element types must agree");
  CopyPlan plan;
  plan.run_bytes = core::size_of(from.dtype);
  // From the innermost axis outwards; `reversed` has the innermost loop first.
  std::vector<CopyAxis> reversed;
  for (size_t axis = from.rank(); axis-- > 0;) {
    const size_t count = from.shape[axis];
    if (count == 0)
      return {};
    if (count == 1)
      continue;
    const size_t from_stride = from.strides[axis], to_stride = to.strides[axis];
    if (reversed.empty()) {
      if (from_stride == plan.run_bytes && to_stride == plan.run_bytes) {
        plan.run_bytes *= count;
        continue;
      }
    } else if (
        from_stride == reversed.back().from_stride * reversed.back().count &&
        to_stride == reversed.back().to_stride * reversed.back().count) {
      reversed.back().count *= count;
      continue;
    }
    reversed.push_back({count, from_stride, to_stride});
  }
  plan.axes.assign(reversed.rbegin(), reversed.rend());
  return plan;
}

void copy_planned(const CopyPlan &plan, const std::byte *from, std::byte *to) {
  if (plan.run_bytes == 0)
    return;
  if (plan.axes.empty())
    std::memcpy(to, from, plan.run_bytes);
  else
    copy_level(plan, 0, from, to);
}

void copy_strided(
    const core::TDesc &from_desc, const std::byte *from, const core::TDesc &to_desc,
    std::byte *to) {
  copy_planned(plan_copy(from_desc, to_desc), from, to);
}

core::TDesc packed_like(const core::TDesc &desc) {
  core::TDesc packed(desc.shape, desc.dtype, desc.mem_loc);
  packed.media = desc.media;
  return packed;
}

}  // namespace holoflow::tasks
