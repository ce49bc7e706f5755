// SPDX-License-Identifier: LGPL-2.1-or-later
// The record of several frames: its times and flags, alone and behind a window in a graph.
#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "holoflow/core/merged_flags.hh"
#include "holoflow/runtime/graph_runner.hh"
#include "holoflow/runtime/merged_records.hh"

namespace holoflow::runtime {
namespace {

using core::FrameRecord;

/// Frames 0, 1, 2, … of 40 ns each, with these flags.
std::vector<FrameRecord> frames_with(const std::vector<uint32_t> &flags) {
  std::vector<FrameRecord> frames;
  for (const auto each : flags) {
    FrameRecord frame;
    frame.sequence = frames.size();
    frame.pts_ns = static_cast<int64_t>(40 * frames.size());
    frame.duration_ns = 40;
    frame.flags = each;
    frames.push_back(frame);
  }
  return frames;
}

FrameRecord merged(const std::vector<FrameRecord> &frames, size_t stride = 1) {
  FrameRecord result;
  merge_records(frames, stride, {&result, 1});
  return result;
}

uint32_t merged_flags(const std::vector<uint32_t> &flags) {
  return merged(frames_with(flags)).flags;
}

TEST(MergedRecords, HaveTheTimesOfTheNewestFrameAndLastForAStride) {
  const auto record = merged(frames_with({0, 0, 0}), 2);
  EXPECT_EQ(record.sequence, 2u);
  EXPECT_EQ(record.pts_ns, 80);
  EXPECT_EQ(record.duration_ns, 80);
}

TEST(MergedRecords, KeepAnUnknownDurationUnknown) {
  auto frames = frames_with({0, 0});
  frames[1].duration_ns = -1;
  EXPECT_EQ(merged(frames, 2).duration_ns, -1);
}

TEST(MergedRecords, AreCorruptedAndDiscontinuousWhereAnyFrameIs) {
  EXPECT_EQ(merged_flags({0, FrameRecord::Corrupted, 0}), FrameRecord::Corrupted);
  EXPECT_EQ(merged_flags({FrameRecord::Discontinuity, 0, 0}), FrameRecord::Discontinuity);
  EXPECT_EQ(
      merged_flags({FrameRecord::Discontinuity, FrameRecord::Corrupted}),
      FrameRecord::Discontinuity | FrameRecord::Corrupted);
  EXPECT_EQ(merged_flags({0, 0, 0}), FrameRecord::None);
}

TEST(MergedRecords, AreAGapOnlyWhereEveryFrameIsOne) {
  EXPECT_EQ(merged_flags({FrameRecord::Gap, 0}), FrameRecord::None);
  EXPECT_EQ(merged_flags({0, FrameRecord::Gap}), FrameRecord::None);
  EXPECT_EQ(merged_flags({FrameRecord::Gap, FrameRecord::Gap}), FrameRecord::Gap);
}

TEST(MergedRecords, OnlyMarkPaddingBesideFrames) {
  const uint32_t padding = FrameRecord::Padding | FrameRecord::Corrupted;
  const auto record = merged(frames_with({0, FrameRecord::Gap, padding}));
  EXPECT_EQ(record.flags, core::shows_padding);
  EXPECT_EQ(record.sequence, 1u);
  EXPECT_EQ(
      merged_flags({FrameRecord::Gap, FrameRecord::Padding}),
      FrameRecord::Gap | core::shows_padding);
  EXPECT_EQ(merged_flags({core::shows_padding, 0}), core::shows_padding);
}

TEST(MergedRecords, ArePaddingWhereEveryFrameIs) {
  const auto record = merged(frames_with({FrameRecord::Padding, FrameRecord::Padding}));
  EXPECT_EQ(record.flags, FrameRecord::Padding);
  EXPECT_EQ(record.sequence, 1u);
}

TEST(MergedRecords, OfNothingAreNothing) {
  EXPECT_EQ(merged({}).sequence, FrameRecord::unknown_sequence);
  merge_records(frames_with({0}), 1, {});
  EXPECT_EQ(core::MergedFlags().value(), FrameRecord::None);
}

/// Flags of what leaves `chain` while frames with these flags come in.
std::vector<uint32_t> flags_behind(const std::string &chain, const std::vector<uint32_t> &flags) {
  const core::TDesc tensor({1, 1, 2}, core::DType::F32, core::MemLoc::Host);
  const CompilerConfig config{.device = CompilerConfig::Device::Cpu, .inputs = {{"input", tensor}}};
  auto runner = GraphRunner::from_chain(chain, config);
  const std::array<float, 2> pixels{1.0f, 2.0f};
  std::jthread feeder([&] {
    for (const auto &record : frames_with(flags))
      EXPECT_TRUE(runner.push("input", pixels.data(), tensor, {record}));
    runner.end();
  });
  std::vector<uint32_t> result;
  while (const auto out = runner.pop("output"))
    for (const auto &record : out->records())
      result.push_back(record.flags);
  return result;
}

TEST(MergedRecords, OfAWindowKeepTheFlagsOfItsFrames) {
  const uint32_t bad = FrameRecord::Corrupted;
  EXPECT_EQ(
      flags_behind(
          "batchqueue output_size=3 output_stride=1 ! max axis=0 keepdims=true", {0, bad, 0, 0, 0}),
      (std::vector<uint32_t>{bad, bad, 0}));
}

TEST(MergedRecords, OfAPaddedWindowAreNoPadding) {
  EXPECT_EQ(
      flags_behind("batchqueue output_size=2 flush=pad ! max axis=0 keepdims=true", {0, 0, 0}),
      (std::vector<uint32_t>{0, 0}));
}

TEST(MergedRecords, AreWhatASlidingAverageGivesToo) {
  const uint32_t bad = FrameRecord::Corrupted;
  EXPECT_EQ(
      flags_behind("slidingaverage window_size=3", {FrameRecord::Gap, bad, 0, 0, 0}),
      (std::vector<uint32_t>{bad, bad, 0}));
}

}  // namespace
}  // namespace holoflow::runtime
