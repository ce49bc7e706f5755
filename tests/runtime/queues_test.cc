// SPDX-License-Identifier: LGPL-2.1-or-later
// Queues in whole graphs: full ones, and incomplete last windows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/graph_runner.hh"

namespace holoflow::runtime {
namespace {

using core::DType;
using core::TDesc;
using ::testing::Each;
using ::testing::Le;

const TDesc grey({1, 1, 2}, DType::U8, core::MemLoc::Host);

GraphRunner runner_of(const std::string &queue) {
  CompilerConfig config;
  config.device = CompilerConfig::Device::Cpu;
  config.inputs = {{"input", grey}};
  return GraphRunner::from_json(
      R"({"nodes": {"input": {"type": "Input"}, "queue": )" + queue +
          R"(, "output": {"type": "Output"}},
          "edges": ["input -> queue", "queue -> output"]})",
      config);
}

void push(GraphRunner &runner, int count) {
  for (int i = 0; i < count; ++i) {
    auto pixels = std::make_shared<std::vector<uint8_t>>(2, static_cast<uint8_t>(i));
    EXPECT_TRUE(runner.push("input", pixels->data(), grey, {}, [pixels] {}));
  }
}

// The sequence numbers of all frames that come, but of repeats; pixels must agree with them.
std::vector<uint64_t> pop_all(GraphRunner &runner) {
  std::vector<uint64_t> frames;
  while (const auto tensor = runner.pop("output"))
    for (size_t i = 0; i < tensor->records().size(); ++i) {
      const core::FrameRecord &record = tensor->records()[i];
      EXPECT_EQ(
          std::to_integer<uint8_t>(tensor->data()[2 * i]),
          static_cast<uint8_t>(record.sequence % 256));
      if ((record.flags & core::FrameRecord::Padding) == 0)
        frames.push_back(record.sequence);
    }
  return frames;
}

NodeLedger balanced_ledger(GraphRunner &runner) {
  const auto ledgers = runner.scheduler().ledger();
  for (const auto &[name, ledger] : ledgers) {
    uint64_t dropped = 0;
    for (const auto &[reason, frames] : ledger.dropped)
      dropped += frames;
    EXPECT_EQ(ledger.entered, ledger.left + dropped + ledger.skipped + ledger.failed + ledger.held)
        << name;
  }
  return ledgers.at("queue");
}

}  // namespace

TEST(Queues, FlagTheRepeatsWherePadded) {
  GraphRunner runner =
      runner_of(R"({"type": "BatchQueue", "params": {"output_size": 4, "flush": "pad"}})");
  push(runner, 2);
  runner.end();
  EXPECT_EQ(pop_all(runner), (std::vector<uint64_t>{0, 1}));
  const NodeLedger ledger = balanced_ledger(runner);
  EXPECT_EQ(ledger.entered, 2u);
  EXPECT_EQ(ledger.left, 2u);
}

// Nobody pops while 300 frames are pushed: a queue that made its producer wait would never end
// this.
TEST(Queues, DropWhatAConsumerDoesNotTake) {
  struct Case {
    const char *queue;
    const char *reason;
    bool newest_comes;
  };
  for (const Case &test :
       {Case{
            R"({"type": "BatchQueue", "params": {"target_capacity": 2, "policy": "drop-oldest"}})",
            "queue-full", true},
        Case{
            R"({"type": "BatchQueue", "params": {"target_capacity": 2, "policy": "drop-newest"}})",
            "queue-full", false},
        Case{
            R"({"type": "RateLimiter", "params": {"max_fps": 1e6, "policy": "drop"}})", "max-fps",
            true}}) {
    SCOPED_TRACE(test.queue);
    GraphRunner runner = runner_of(test.queue);
    push(runner, 300);
    runner.end();
    const std::vector<uint64_t> frames = pop_all(runner);
    EXPECT_TRUE(std::is_sorted(frames.begin(), frames.end()));
    ASSERT_FALSE(frames.empty());
    EXPECT_THAT(frames, Each(Le(299u)));
    if (test.newest_comes) {
      EXPECT_EQ(frames.back(), 299u);
    } else {
      EXPECT_EQ(frames.front(), 0u);
    }
    const NodeLedger ledger = balanced_ledger(runner);
    EXPECT_EQ(ledger.entered, 300u);
    EXPECT_EQ(ledger.left, frames.size());
    EXPECT_EQ(ledger.dropped.at(test.reason), 300u - frames.size());
  }
}

// Each frame less the one half a window before it, of valid ones the mean of two.
TEST(Queues, AverageOverFramesOfTheDualReader) {
  CompilerConfig config;
  config.device = CompilerConfig::Device::Cpu;
  config.inputs = {{"input", grey}};
  GraphRunner runner = GraphRunner::from_json(
      R"({"nodes": {
            "input": {"type": "Input"},
            "f32": {"type": "Conversion", "params": {"target": "F32"}},
            "dual": {"type": "DualReaderBatchQueue", "params": {"window_size": 4}},
            "difference": {"type": "Subtract"},
            "valid": {"type": "Copy"},
            "mean": {"type": "SlidingAverage", "params": {"window_size": 2}},
            "output": {"type": "Output"}},
          "edges": ["input -> f32", "f32 -> dual", "dual:0 -> difference:0",
                    "dual:1 -> difference:1", "dual:2 -> valid", "difference -> mean:0",
                    "valid -> mean:1", "mean -> output"]})",
      config);
  std::thread source([&runner] {
    push(runner, 10);
    runner.end();
  });
  std::vector<uint64_t> frames;
  while (const auto tensor = runner.pop("output")) {
    frames.push_back(tensor->records()[0].sequence);
    float mean = 0;
    std::memcpy(&mean, tensor->data(), sizeof(mean));
    EXPECT_EQ(mean, 1.0F);
  }
  source.join();
  EXPECT_EQ(frames, (std::vector<uint64_t>{4, 5, 6, 7, 8, 9}));
  const auto ledgers = runner.scheduler().ledger();
  EXPECT_EQ(ledgers.at("mean").entered, 10u);
  EXPECT_EQ(ledgers.at("mean").skipped, 3u);
  EXPECT_EQ(ledgers.at("mean").left, 7u);
}

}  // namespace holoflow::runtime
