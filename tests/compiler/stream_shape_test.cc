// SPDX-License-Identifier: LGPL-2.1-or-later
// Rates and delays between where frames enter and where they leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/graph_runner.hh"
#include "holoflow/runtime/stream_shape.hh"
#include "tests/support/graph_runs.hh"

namespace holoflow::runtime {

namespace {

using testing::ElementsAre;

const core::TDesc frame({1, 2, 3}, core::DType::F32, core::MemLoc::Host);

std::vector<StreamShape> shapes_of(const std::string &graph) {
  core::Registry registry;
  register_builtin_tasks(registry);
  const auto spec = core::GraphSpec::from_text(graph, registry.keys());
  CompilerConfig config;
  for (const auto &node : spec.nodes)
    if (node.kind == "Input")
      config.inputs[node.name] = frame;
  const auto inferred = Compiler(registry, config).infer(spec);
  EXPECT_TRUE(inferred.faults.empty()) << core::to_text(inferred.faults);
  return stream_shapes(inferred.graph);
}

StreamShape shape_of(const std::string &chain) {
  return shapes_of(chain).at(0);
}

/// frames_settled() after 0, 1, … frames.
std::vector<uint64_t> settled(const StreamShape &shape, uint64_t last) {
  std::vector<uint64_t> result;
  for (uint64_t entered = 0; entered <= last; ++entered)
    result.push_back(shape.frames_settled(entered));
  return result;
}

}  // namespace

TEST(StreamShape, OfSingleFramesNothingWaits) {
  const auto shape = shape_of("batchqueue ! sqrt ! batchqueue");
  EXPECT_EQ(shape.input, "input");
  EXPECT_EQ(shape.output, "output");
  EXPECT_EQ(shape.tensors_per_frame, (StreamRate{1, 1}));
  EXPECT_EQ(shape.records_per_frame, (StreamRate{1, 1}));
  EXPECT_EQ(shape.delay_frames, 2u) << "each queue holds one back where the stream is live";
  EXPECT_THAT(settled(shape, 4), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(shape.window_frames(), 1u);
  EXPECT_FALSE(shape.drops);
}

TEST(StreamShape, OfWindowsThatFollowEachOther) {
  const auto shape = shape_of("batchqueue output_size=3 output_stride=3 target_capacity=6");
  EXPECT_EQ(shape.tensors_per_frame, (StreamRate{1, 3}));
  EXPECT_EQ(shape.records_per_frame, (StreamRate{1, 1}));
  EXPECT_EQ(shape.records, 3u);
  EXPECT_THAT(settled(shape, 7), ElementsAre(0, 0, 0, 3, 3, 3, 6, 6));
  EXPECT_EQ(shape.window_frames(), 3u);
}

TEST(StreamShape, OfWindowsThatOverlap) {
  const auto shape = shape_of(
      "batchqueue output_size=4 output_stride=2 target_capacity=8 ! mean axis=0 keepdims=true");
  EXPECT_EQ(shape.tensors_per_frame, (StreamRate{1, 2}));
  EXPECT_EQ(shape.records_per_frame, (StreamRate{1, 2}));
  EXPECT_THAT(settled(shape, 9), ElementsAre(0, 0, 0, 0, 4, 4, 6, 6, 8, 8));
}

TEST(StreamShape, SkippedFramesAreSettledWhenTheyCome) {
  const auto shape = shape_of("batchqueue output_size=1 output_stride=3");
  EXPECT_EQ(shape.tensors_per_frame, (StreamRate{1, 3}));
  EXPECT_THAT(settled(shape, 5), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(StreamShape, OfWindowsOfWindows) {
  const auto shape = shape_of(
      "batchqueue output_size=2 output_stride=2 target_capacity=4 ! mean axis=0 keepdims=true ! "
      "batchqueue output_size=3 output_stride=3 target_capacity=6");
  EXPECT_EQ(shape.tensors_per_frame, (StreamRate{1, 6}));
  EXPECT_THAT(settled(shape, 7), ElementsAre(0, 0, 0, 0, 0, 0, 6, 6));
  EXPECT_EQ(shape.window_frames(), 6u);
}

TEST(StreamShape, OfAnAverageThatDiscards) {
  const auto shape = shape_of("slidingaverage window_size=3 discard_first=2");
  EXPECT_EQ(shape.tensors_per_frame, (StreamRate{1, 1}));
  EXPECT_THAT(settled(shape, 7), ElementsAre(0, 1, 2, 2, 2, 5, 6, 7)) << "two are left out at once";
}

TEST(StreamShape, OfABatchAtTheInput) {
  const auto shape = shape_of(
      R"({"nodes": {"in": {"type": "Input", "params": {"batch": 2}}, "out": {"type": "Output"}},
          "edges": ["in -> out"]})");
  EXPECT_EQ(shape.tensors_per_frame, (StreamRate{1, 2}));
  EXPECT_EQ(shape.records_per_frame, (StreamRate{1, 1}));
  EXPECT_EQ(shape.delay_frames, 1u);
  EXPECT_THAT(settled(shape, 4), ElementsAre(0, 0, 2, 2, 4));
}

TEST(StreamShape, ALimiterThatDropsHasNoRate) {
  const auto drops = shape_of("ratelimiter max_fps=5 policy=drop");
  EXPECT_FALSE(drops.tensors_per_frame.known());
  EXPECT_TRUE(drops.thins);
  EXPECT_TRUE(drops.drops);
  const auto waits = shape_of("ratelimiter max_fps=5 policy=block");
  EXPECT_EQ(waits.tensors_per_frame, (StreamRate{1, 1}));
  EXPECT_FALSE(waits.thins);
}

TEST(StreamShape, EachOutputFollowsTheFirstInputOfItsNodes) {
  const auto shapes = shapes_of(
      R"({"nodes": {"a": {"type": "Input"}, "b": {"type": "Input"}, "sum": {"type": "Add"},
                    "x": {"type": "Output"}, "y": {"type": "Output"}},
          "edges": ["b -> sum:0", "a -> sum:1", "sum -> x", "a -> y"]})");
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].output, "x");
  EXPECT_EQ(shapes[0].input, "b");
  EXPECT_EQ(shapes[1].output, "y");
  EXPECT_EQ(shapes[1].input, "a");
}

// What comes out of runs that end after so many frames without padding.
TEST(StreamShape, IsWhatRunsShow) {
  for (const char *chain :
       {"batchqueue output_size=3 output_stride=2 target_capacity=6",
        "batchqueue output_size=4 output_stride=1 target_capacity=8 ! mean axis=0 keepdims=true",
        "batchqueue output_size=2 output_stride=2 target_capacity=4 ! "
        "copy ! batchqueue output_size=3 output_stride=1 target_capacity=6 ! max axis=0 "
        "keepdims=true",
        "slidingaverage window_size=4 ! copy ! batchqueue output_size=2 output_stride=2 "
        "target_capacity=4",
        "slidingaverage window_size=2 discard_first=3"}) {
    SCOPED_TRACE(chain);
    const auto shape = shape_of(chain);
    for (int pushes = 0; pushes < 16; ++pushes) {
      const test::Run what = test::chain_run(chain, frame, pushes);
      CompilerConfig config;
      config.device = CompilerConfig::Device::Cpu;
      config.inputs = what.inputs;
      auto runner = GraphRunner::from_spec(what.graph, config);
      const std::vector<float> pixels(frame.num_elements(), 1.0f);
      std::jthread feeder([&] {
        for (int i = 0; i < pushes; ++i)
          (void)runner.push("input", pixels.data(), frame);
        runner.end();
      });
      uint64_t shown = 0;
      while (const auto tensor = runner.pop("output"))
        shown = std::max(shown, tensor->records().back().sequence + 1);
      EXPECT_EQ(shape.frames_shown(static_cast<uint64_t>(pushes)), shown) << pushes << " frames";
      const auto settled = shape.frames_settled(static_cast<uint64_t>(pushes));
      if (shown > 0) {
        EXPECT_EQ(settled, shown) << pushes << " frames";
      } else {
        EXPECT_LE(settled, 3u) << "discarded ones";
      }
    }
  }
}

}  // namespace holoflow::runtime
