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
  if (!frames_.some)
    return padding_.some ? merged(padding_) : uint32_t{FrameRecord::None};
  const bool has_padding = padding_.some || (frames_.of_any & shows_padding) != 0;
  return (merged(frames_) & ~shows_padding) | (has_padding ? shows_padding : 0);
}

uint32_t MergedFlags::merged(const Seen &seen) {
  return (seen.of_any & kept_of_any) | (seen.of_all & ~kept_of_any);
}

}  // namespace holoflow::core
