// SPDX-License-Identifier: LGPL-2.1-or-later
// Views, windows and transforms inside whole graphs on the CPU: who copies where two owners meet,
// and which records come out.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "holoflow/runtime/graph_runner.hh"

namespace {

using namespace holoflow;

const core::TDesc frame({1, 2, 3}, core::DType::U8, core::MemLoc::Host);

/// Frame i holds 6i, 6i + 1, … .
std::vector<std::vector<uint8_t>> numbered_frames(int count) {
  std::vector<std::vector<uint8_t>> frames;
  for (int i = 0; i < count; ++i) {
    frames.emplace_back(frame.num_bytes());
    std::iota(frames.back().begin(), frames.back().end(), static_cast<uint8_t>(6 * i));
  }
  return frames;
}

struct Result {
  std::vector<size_t> shape;
  std::vector<int> values;  // of all tensors, one behind the other
  std::vector<uint64_t> sequences;
};

/// Runs the chain on numbered frames; the results are U8.
Result run(const std::string &chain, int frame_count) {
  const std::vector<std::vector<uint8_t>> frames = numbered_frames(frame_count);
  const runtime::CompilerConfig config{
      .device = runtime::CompilerConfig::Device::Cpu, .inputs = {{"input", frame}}};
  auto runner = runtime::GraphRunner::from_chain(chain, config);
  std::jthread feeder([&] {
    for (int i = 0; i < frame_count; ++i) {
      core::FrameRecord record;
      record.sequence = static_cast<uint64_t>(i);
      EXPECT_TRUE(runner.push("input", frames[i].data(), frame, {record}));
    }
    runner.end();
  });
  Result result;
  while (const auto tensor = runner.pop("output")) {
    result.shape = tensor->desc().shape;
    for (size_t i = 0; i < tensor->desc().num_elements(); ++i)
      result.values.push_back(std::to_integer<int>(tensor->data()[i]));
    for (const core::FrameRecord &record : tensor->records())
      result.sequences.push_back(record.sequence);
  }
  return result;
}

using Values = std::vector<int>;
using Shape = std::vector<size_t>;

TEST(Views, AReshapeBetweenTwoOwnersIsCopied) {
  const Result result = run("reshape shape=[1,3,2]", 2);
  EXPECT_EQ(result.shape, (Shape{1, 3, 2}));
  EXPECT_EQ(result.values, (Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(result.sequences, (std::vector<uint64_t>{0, 1}));
}

TEST(Views, ATransposeBetweenTwoOwnersReachesTheOutput) {
  const Result result = run("transpose axes=[0,2,1]", 1);
  EXPECT_EQ(result.shape, (Shape{1, 3, 2}));
  EXPECT_EQ(result.values, (Values{0, 3, 1, 4, 2, 5}));
}

TEST(Views, NobodyWritesThroughAViewThatAnotherReads) {
  const Result result = run("transpose axes=[0,2,1] ! clip lo=1 hi=4 ! reshape shape=[1,1,6]", 1);
  EXPECT_EQ(result.values, (Values{1, 3, 1, 4, 2, 4}));
}

TEST(Views, AWindowThatIsReducedGivesOneFrameWithTheNewestRecord) {
  const Result result =
      run("batchqueue output_size=4 output_stride=2 ! max axis=0 keepdims=true ! batchqueue", 6);
  EXPECT_EQ(result.shape, (Shape{1, 2, 3}));
  EXPECT_EQ(result.values, (Values{18, 19, 20, 21, 22, 23, 30, 31, 32, 33, 34, 35}));
  EXPECT_EQ(result.sequences, (std::vector<uint64_t>{3, 5}));
}

TEST(Views, ATransformAlongFramesAndBackGivesTheFirstFrame) {
  const Result result =
      run("batchqueue output_size=3 ! conversion target=F32 ! rfft axis=0 ! irfft axis=0 n=3 ! "
          "slice slices=[0,{},{}] ! reshape shape=[1,2,3] ! conversion target=U8",
          3);
  EXPECT_EQ(result.values, (Values{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(result.sequences.size(), 1u);
}

}  // namespace
