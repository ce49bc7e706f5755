// SPDX-License-Identifier: LGPL-2.1-or-later
// Every call of the CUDA runtime fails once; the device is lost at every call.
#include <gtest/gtest.h>

#include <vector>

#include "tests/faults/failing_calls.hh"
#include "tests/support/gpu.hh"

namespace holoflow::faults {
namespace {

using std::chrono::milliseconds;
using test::chain_run;
using test::json_run;

// Of the 60 s that both tests may take on the whole.
constexpr milliseconds all_calls{12'000};
constexpr milliseconds some_calls{4'500};
constexpr milliseconds lost_calls{2'000};

const core::TDesc frame({1, 3, 4}, core::DType::F32, core::MemLoc::Host);
const core::TDesc picture({1, 8, 8}, core::DType::F32, core::MemLoc::Host);
const core::TDesc four_frames({4, 3, 4}, core::DType::F32, core::MemLoc::Host);

const char *const fan_out_and_in =
    R"({"nodes": {"input": {"type": "Input"}, "up": {"type": "Upload"},
                  "left": {"type": "Affine", "params": {"scale": [1, 2, 3, 4]}},
                  "queue": {"type": "BatchQueue"}, "right": {"type": "BatchQueue"},
                  "more": {"type": "Affine", "params": {"offset": 3}},
                  "sum": {"type": "Add"}, "down": {"type": "Download"},
                  "output": {"type": "Output"}},
        "edges": ["input -> up", "up -> left", "up -> right", "right -> more", "left -> queue",
                  "queue -> sum:0", "more -> sum:1", "sum -> down", "down -> output"]})";

FailingGraph small_graph() {
  return {.name = "small", .run = chain_run("upload ! affine scale=2 ! download", frame, 4)};
}

std::vector<FailingGraph> graphs() {
  return {
      {.name = "windows",
       .run = chain_run(
           "upload ! batchqueue output_size=3 output_stride=1 ! mean axis=0 keepdims=true ! "
           "batchqueue ! download",
           frame, 20),
       .page_locked = true},
      {.name = "fan-out and fan-in", .run = json_run(fan_out_and_in, frame, 20)},
      {.name = "two readers", .run = json_run(test::dual_reader_graph, frame, 20)},
      // So many slots that nothing is dropped.
      {.name = "drop-oldest",
       .run = chain_run(
           "upload ! batchqueue policy=drop-oldest target_capacity=64 ! affine scale=2 ! download",
           frame, 20)},
      {.name = "batches",
       .run = chain_run(
           "upload ! batchqueue output_size=2 output_stride=2 ! affine scale=2 ! "
           "slidingaverage window_size=2 ! affine offset=1 ! "
           "batchqueue output_size=3 output_stride=3 ! download",
           four_frames, 6)},
      {.name = "spectra",
       .run = chain_run(
           "upload ! batchqueue ! filter2d r_outer=2 ! fft2 ! abs ! batchqueue ! download", picture,
           20),
       .exact = false},
  };
}

class FailingCalls : public testing::Test {
protected:
  void SetUp() override {
    if (!test::have_gpu())
      GTEST_SKIP() << "no GPU";
  }
};

}  // namespace

// Without a GPU at least the graphs are tried.
TEST(FailingGraphs, RunOnTheCpu) {
  auto all = graphs();
  all.push_back(small_graph());
  for (const auto &graph : all) {
    SCOPED_TRACE(graph.name);
    const auto got = test::run(graph.run, runtime::CompilerConfig::Device::Cpu);
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.not_released, 0);
    ASSERT_EQ(got.outputs.size(), 1u);
    EXPECT_FALSE(got.outputs.begin()->second.empty());
  }
}

TEST_F(FailingCalls, EndTheRunWithOneErrorAndLeaveNothingBehind) {
  check_failing_calls(small_graph(), Failure::Once, all_calls);
  for (const auto &graph : graphs())
    check_failing_calls(graph, Failure::Once, some_calls);
}

TEST_F(FailingCalls, OfALostDeviceEndTheRunWithOneErrorAndLeaveNothingBehind) {
  check_failing_calls(small_graph(), Failure::Lost, lost_calls);
  for (const auto &graph : graphs())
    check_failing_calls(graph, Failure::Lost, lost_calls);
}

}  // namespace holoflow::faults
