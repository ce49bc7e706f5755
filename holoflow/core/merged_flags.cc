// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/core/merged_flags.hh"

namespace holoflow::core {

namespace {

constexpr uint32_t kept_of_any = FrameRecord::Discontinuity | FrameRecord::Corrupted;

}  // namespace

void MergedFlags::add(uint32_t flags) {
  auto &seen = (flags & FrameRecord::Padding) != 0 ? padding_ : frames_;
  seen.of_any |= flags;
  seen.of_all &= flags;
  seen.some = true;
}

uint32_t MergedFlags::value() const {
  const auto &seen = frames_.some ? frames_ : padding_;
  return seen.some ? (seen.of_any & kept_of_any) | (seen.of_all & ~kept_of_any) : FrameRecord::None;
}

}  // namespace holoflow::core
