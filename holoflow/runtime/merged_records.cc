// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/runtime/merged_records.hh"

#include <algorithm>

#include "holoflow/core/merged_flags.hh"

namespace holoflow::runtime {

using core::FrameRecord;

void merge_records(
    std::span<const FrameRecord> frames, size_t stride, std::span<FrameRecord> merged) {
  if (frames.empty() || merged.empty())
    return;
  const auto newest = std::find_if(frames.rbegin(), frames.rend(), [](const FrameRecord &record) {
    return (record.flags & FrameRecord::Padding) == 0;
  });
  core::MergedFlags flags;
  for (const auto &frame : frames)
    flags.add(frame.flags);
  auto &record = merged.front();
  record = newest == frames.rend() ? frames.back() : *newest;
  record.flags = flags.value();
  if (record.duration_ns > 0)
    record.duration_ns *= static_cast<int64_t>(stride);
}

}  // namespace holoflow::runtime
