// SPDX-License-Identifier: LGPL-2.1-or-later
// Whole graphs on the emulated GPU give what they give on the CPU, byte for byte.
#include <gtest/gtest.h>

#include "tests/emulated/control.hh"
#include "tests/emulated/expect_same.hh"

namespace holoflow::emulated {
namespace {

using core::DType;
using core::MemLoc;
using core::TDesc;

const TDesc frame({1, 3, 4}, DType::U8, MemLoc::Host);
const TDesc real_frame({1, 4, 6}, DType::F32, MemLoc::Host);
const TDesc batch({2, 3, 4}, DType::F32, MemLoc::Host);

// More than a stream holds is among them, and fewer than a window shows.
constexpr int frame_counts[] = {0, 1, 2, 3, 17, 100};

void check_chains(const std::vector<std::string> &chains, const TDesc &tensor) {
  for (const auto &chain : chains)
    for (const int count : frame_counts) {
      SCOPED_TRACE(chain + ", " + std::to_string(count) + " frames of " + core::to_string(tensor));
      expect_same_as_on_the_cpu(chain_run(chain, tensor, count));
    }
}

void check_graph(const std::string &json, const TDesc &tensor) {
  for (const int count : frame_counts) {
    SCOPED_TRACE(json + ", " + std::to_string(count) + " frames");
    expect_same_as_on_the_cpu(json_run(json, tensor, count));
  }
}

}  // namespace

TEST(LateGraphs, ChainsOfQueuesAndMaps) {
  check_chains(
      {"upload ! download", "upload ! batchqueue ! download",
       "batchqueue ! upload ! download ! batchqueue",
       "upload ! batchqueue ! affine scale=2 offset=1 ! batchqueue ! download",
       "upload ! affine scale=2 ! download ! affine offset=3 ! upload ! sqrt ! download",
       "upload ! batchqueue target_capacity=1 ! conversion target=F32 ! batchqueue "
       "target_capacity=1 ! conversion target=U8 ! download",
       "upload ! copy ! ratelimiter max_fps=1000000 ! copy ! download"},
      frame);
}

TEST(LateGraphs, Windows) {
  check_chains(
      {"upload ! batchqueue output_size=3 output_stride=1 ! affine scale=2 ! download",
       "upload ! batchqueue output_size=3 output_stride=1 target_capacity=9 ! mean axis=0 "
       "keepdims=true ! batchqueue ! download",
       "upload ! batchqueue output_size=4 output_stride=2 flush=pad ! affine scale=2 ! batchqueue "
       "output_size=3 ! download",
       "batchqueue output_size=5 output_stride=7 ! upload ! affine offset=1 ! download",
       "upload ! batchqueue output_size=3 output_stride=1 ! copy ! batchqueue output_size=2 ! "
       "download"},
      real_frame);
}

TEST(LateGraphs, AWindowOnTheHostIsCompletedOnceTheLastOneHasBeenRead) {
  check_chains(
      {"batchqueue output_size=5 output_stride=4 target_capacity=7 flush=pad ! upload ! affine "
       "scale=2 ! download",
       "upload ! batchqueue output_size=5 output_stride=4 target_capacity=7 flush=pad ! download"},
      real_frame);
}

// A slot of the queue that nobody was shown comes again while the Upload beside still reads it.
TEST(LateGraphs, AHostNodeWritesASlotThatItsOwnStreamReads) {
  for (const char *queue :
       {R"("output_stride": 2, "target_capacity": 1)", R"("target_capacity": 2)"})
    check_graph(
        std::string(R"({"nodes": {"in": {"type": "Input"},
          "x": {"type": "Affine", "params": {"scale": 1}},
          "q": {"type": "BatchQueue", "params": {)") +
            queue + R"(}}, "o1": {"type": "Output"}, "up": {"type": "Upload"},
          "d": {"type": "Download"}, "o2": {"type": "Output"}},
        "edges": ["in -> x", "x -> q", "q -> o1", "x -> up", "up -> d", "d -> o2"]})",
        real_frame);
}

TEST(LateGraphs, Batches) {
  check_chains(
      {"upload ! batchqueue ! affine scale=2 ! batchqueue ! download",
       "upload ! batchqueue output_size=3 output_stride=1 ! affine scale=2 ! download",
       "upload ! batchqueue output_size=2 target_capacity=8 ! sqrt ! batchqueue ! download"},
      batch);
}

TEST(LateGraphs, Averages) {
  check_chains(
      {"upload ! causalslidingaverage window_size=3 ! download",
       "upload ! slidingaverage window_size=3 ! affine scale=2 ! batchqueue ! download",
       "upload ! batchqueue ! causalslidingaverage window_size=4 ! batchqueue ! download"},
      real_frame);
}

TEST(LateGraphs, AnAverageOnTheHostOfTheFramesThatCount) {
  check_graph(
      R"({"nodes": {"input": {"type": "Input"},
                    "dual": {"type": "DualReaderBatchQueue", "params": {"window_size": 3}},
                    "up": {"type": "Upload"}, "down": {"type": "Download"},
                    "flag": {"type": "Copy"},
                    "mean": {"type": "SlidingAverage", "params": {"window_size": 2}},
                    "output": {"type": "Output"}, "delayed": {"type": "Output"}},
          "edges": ["input -> dual", "dual:0 -> up", "up -> down", "down -> mean:0",
                    "dual:2 -> flag", "flag -> mean:1", "mean -> output", "dual:1 -> delayed"]})",
      real_frame);
}

TEST(LateGraphs, Transforms) {
  check_chains(
      {"upload ! batchqueue ! fft2 ! abs ! fftshift ! batchqueue ! download",
       "upload ! batchqueue ! normalize ! transpose axes=[0,2,1] ! copy ! batchqueue ! download",
       "upload ! slice slices=[{},{\"step\":2},{\"start\":1}] ! batchqueue ! download"},
      real_frame);
}

TEST(LateGraphs, FanOutToTwoOutputs) {
  check_graph(
      R"({"nodes": {"input": {"type": "Input"}, "up": {"type": "Upload"},
                    "queue": {"type": "BatchQueue"}, "double": {"type": "Affine",
                    "params": {"scale": 2}}, "down": {"type": "Download"},
                    "output": {"type": "Output"}, "direct": {"type": "Download"},
                    "second": {"type": "Output"}, "raw": {"type": "Output"}},
          "edges": ["input -> up", "up -> queue", "queue -> double", "double -> down",
                    "down -> output", "up -> direct", "direct -> second", "input -> raw"]})",
      real_frame);
}

TEST(LateGraphs, FanOutToTwoQueuesAndBack) {
  check_graph(
      R"({"nodes": {"input": {"type": "Input"}, "up": {"type": "Upload"},
                    "left": {"type": "BatchQueue"}, "right": {"type": "BatchQueue"},
                    "double": {"type": "Affine", "params": {"scale": 2}},
                    "doubled": {"type": "BatchQueue"}, "add": {"type": "Add"},
                    "down": {"type": "Download"}, "output": {"type": "Output"}},
          "edges": ["input -> up", "up -> left", "up -> right", "left -> double",
                    "double -> doubled", "doubled -> add:0", "right -> add:1", "add -> down",
                    "down -> output"]})",
      real_frame);
}

TEST(LateGraphs, TwoInputsMeet) {
  check_graph(
      R"({"nodes": {"a": {"type": "Input"}, "b": {"type": "Input"}, "up_a": {"type": "Upload"},
                    "up_b": {"type": "Upload"}, "queue": {"type": "BatchQueue"},
                    "late": {"type": "BatchQueue"}, "subtract": {"type": "Subtract"},
                    "down": {"type": "Download"}, "output": {"type": "Output"}},
          "edges": ["a -> up_a", "b -> up_b", "up_a -> queue", "up_b -> late",
                    "queue -> subtract:0", "late -> subtract:1", "subtract -> down",
                    "down -> output"]})",
      real_frame);
}

TEST(LateGraphs, ADualReaderGivesTwoFrames) {
  check_graph(
      R"({"nodes": {"input": {"type": "Input"}, "up": {"type": "Upload"},
                    "dual": {"type": "DualReaderBatchQueue", "params": {"window_size": 5}},
                    "subtract": {"type": "Subtract"}, "down": {"type": "Download"},
                    "output": {"type": "Output"}},
          "edges": ["input -> up", "up -> dual", "dual:0 -> subtract:0", "dual:1 -> subtract:1",
                    "subtract -> down", "down -> output"]})",
      real_frame);
}

TEST(LateGraphs, AnInputThatBatchesCopiesAndPads) {
  check_graph(
      R"({"nodes": {"input": {"type": "Input", "params": {"batch": 4}}, "up": {"type": "Upload"},
                    "queue": {"type": "BatchQueue"}, "double": {"type": "Affine",
                    "params": {"scale": 2}}, "down": {"type": "Download"},
                    "output": {"type": "Output"}},
          "edges": ["input -> up", "up -> queue", "queue -> double", "double -> down",
                    "down -> output"]})",
      frame);
}

}  // namespace holoflow::emulated
