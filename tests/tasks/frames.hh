// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tests of Input and Output share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "holoflow/core/tensor.hh"

namespace holoflow::test {

[[nodiscard]] inline core::TDesc grey(size_t frames, size_t height = 2, size_t width = 3) {
  return core::TDesc({frames, height, width}, core::DType::U8, core::MemLoc::Host);
}

[[nodiscard]] inline core::FrameRecord numbered(
    uint64_t sequence, uint32_t flags = core::FrameRecord::None) {
  core::FrameRecord record;
  record.sequence = sequence;
  record.pts_ns = static_cast<int64_t>(sequence * 40);
  record.flags = flags;
  return record;
}

[[nodiscard]] inline std::vector<uint64_t> sequences(
    std::span<const core::FrameRecord> records) {
  std::vector<uint64_t> numbers;
  for (const core::FrameRecord &record : records)
    numbers.push_back(record.sequence);
  return numbers;
}

}  // namespace holoflow::test
