// SPDX-License-Identifier: LGPL-2.1-or-later
// Whole graphs through GraphRunner: frames in, frames out, ends, stops and failures.
#include "holoflow/runtime/graph_runner.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <thread>

#include "holoflow/builtin_tasks.hh"

namespace holoflow::runtime {
namespace {

using core::DType;
using core::FrameRecord;
using core::MemLoc;
using core::TDesc;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TDesc grey({1, 1, 2}, DType::U8, MemLoc::Host);

CompilerConfig cpu(TDesc tensor = grey, const std::string &input = "input") {
  CompilerConfig config;
  config.device = CompilerConfig::Device::Cpu;
  config.inputs = {{input, std::move(tensor)}};
  return config;
}

std::vector<uint8_t> bytes_of(const OutputTensor &tensor) {
  const auto *data = reinterpret_cast<const uint8_t *>(tensor.data());
  return {data, data + tensor.desc().num_bytes()};
}

FrameRecord at(int64_t pts_ns) {
  FrameRecord record;
  record.pts_ns = pts_ns;
  record.duration_ns = 40;
  return record;
}

// Pushes `count` frames whose two pixels are 0 0, 1 1, … from a thread of its own, then ends.
std::thread feed(GraphRunner &runner, int count) {
  return std::thread([&runner, count] {
    for (int i = 0; i < count; ++i) {
      auto pixels = std::make_shared<std::vector<uint8_t>>(2, static_cast<uint8_t>(i % 256));
      EXPECT_TRUE(runner.push("input", pixels->data(), grey, {at(40 * i)}, [pixels] {}));
    }
    runner.end();
  });
}

// Pops until nothing comes; checks order, pixels and times; returns how many frames came.
int drain(GraphRunner &runner, int step = 1) {
  int frames = 0;
  while (const auto tensor = runner.pop("output")) {
    const auto want = static_cast<uint8_t>(frames * step % 256);
    EXPECT_THAT(bytes_of(*tensor), ElementsAre(want, want));
    EXPECT_EQ(tensor->records()[0].pts_ns, 40 * frames * step);
    ++frames;
  }
  return frames;
}

}  // namespace

TEST(GraphRunner, PassesEveryFrameThroughChainsOnTheCpu) {
  for (const char *chain :
       {"upload", "upload ! download", "batchqueue", "upload ! batchqueue ! download",
        "batchqueue ! copy ! batchqueue",
        "upload ! batchqueue ! conversion target=F32 ! conversion "
        "target=U8 ! batchqueue ! download",
        "copy ! batchqueue ! copy", "ratelimiter max_fps=1000000"}) {
    SCOPED_TRACE(chain);
    for (const int count : {0, 1, 2, 500}) {
      GraphRunner runner = GraphRunner::from_chain(chain, cpu());
      std::thread source = feed(runner, count);
      EXPECT_EQ(drain(runner), count);
      source.join();
    }
  }
}

TEST(GraphRunner, ConnectsInputStraightToOutput) {
  GraphRunner runner = GraphRunner::from_json(
      R"({"nodes": {"input": {"type": "Input"}, "output": {"type": "Output"}},
          "edges": ["input -> output"]})",
      cpu());
  std::thread source = feed(runner, 100);
  EXPECT_EQ(drain(runner), 100);
  source.join();
}

TEST(GraphRunner, FansOutToTwoOutputsAndAQueue) {
  GraphRunner runner = GraphRunner::from_json(
      R"({"nodes": {"input": {"type": "Input"}, "q": {"type": "BatchQueue"},
                    "output": {"type": "Output"}, "second": {"type": "Output"}},
          "edges": ["input -> q", "q -> output", "input -> second"]})",
      cpu());
  std::thread source = feed(runner, 50);
  std::thread other([&runner] {
    int frames = 0;
    while (const auto tensor = runner.pop("second")) {
      EXPECT_EQ(bytes_of(*tensor)[0], frames);
      ++frames;
    }
    EXPECT_EQ(frames, 50);
  });
  EXPECT_EQ(drain(runner), 50);
  source.join();
  other.join();
}

TEST(GraphRunner, GivesWindowsWhole) {
  GraphRunner runner = GraphRunner::from_chain("batchqueue output_size=3 output_stride=2", cpu());
  std::thread source = feed(runner, 8);
  std::vector<std::vector<uint8_t>> windows;
  while (const auto tensor = runner.pop("output")) {
    EXPECT_EQ(tensor->desc().shape, (std::vector<size_t>{3, 1, 2}));
    EXPECT_EQ(tensor->records().size(), 3u);
    windows.push_back(bytes_of(*tensor));
  }
  source.join();
  EXPECT_THAT(
      windows,
      ElementsAre(
          ElementsAre(0, 0, 1, 1, 2, 2), ElementsAre(2, 2, 3, 3, 4, 4),
          ElementsAre(4, 4, 5, 5, 6, 6)));
}

TEST(GraphRunner, SkipsByStride) {
  GraphRunner runner = GraphRunner::from_chain("batchqueue output_stride=3", cpu());
  std::thread source = feed(runner, 100);
  EXPECT_EQ(drain(runner, 3), 34);
  source.join();
}

TEST(GraphRunner, PadsTheLastBatch) {
  GraphRunner runner = GraphRunner::from_json(
      R"({"nodes": {"input": {"type": "Input", "params": {"batch": 4}},
                    "output": {"type": "Output"}},
          "edges": ["input -> output"]})",
      cpu());
  std::thread source = feed(runner, 6);
  ASSERT_TRUE(runner.pop("output").has_value());
  const auto last = runner.pop("output");
  ASSERT_TRUE(last.has_value());
  EXPECT_THAT(bytes_of(*last), ElementsAre(4, 4, 5, 5, 5, 5, 5, 5));
  EXPECT_EQ(last->records()[1].flags, FrameRecord::None);
  EXPECT_EQ(last->records()[2].flags, FrameRecord::Padding);
  EXPECT_FALSE(runner.pop("output").has_value());
  source.join();
}

TEST(GraphRunner, GivesNoWindowThatHoldsNothingNewButPadding) {
  // 7 frames in batches of 5: the last three of ten repeat frame 6.
  struct Case {
    const char *window;
    std::vector<uint64_t> newest;  // of each window that comes
  };
  for (const auto &[window, newest] : std::vector<Case>{
           {"batchqueue output_size=4 output_stride=1 ! mean axis=0 keepdims=true", {3, 4, 5, 6}},
           {"batchqueue output_size=4 output_stride=1 ! mean axis=0", {3, 4, 5, 6}},
           {"batchqueue output_size=4 output_stride=1", {3, 4, 5, 6}},
           {"batchqueue output_size=4 output_stride=2", {3, 5, 6}},
           {"batchqueue output_size=2 output_stride=2 ! max axis=0", {1, 3, 5, 6}}}) {
    SCOPED_TRACE(window);
    GraphRunner runner = GraphRunner::from_chain(std::string("input batch=5 ! ") + window, cpu());
    std::thread source = feed(runner, 7);
    std::vector<uint64_t> got;
    while (const auto tensor = runner.pop("output")) {
      uint64_t last = 0;
      for (const FrameRecord &record : tensor->records())
        if ((record.flags & FrameRecord::Padding) == 0)
          last = record.sequence;
      got.push_back(last);
    }
    source.join();
    EXPECT_EQ(got, newest);
  }
}

TEST(GraphRunner, OutputTensorsOutliveTheRunner) {
  std::optional<OutputTensor> kept;
  {
    GraphRunner runner = GraphRunner::from_chain("batchqueue", cpu());
    std::thread source = feed(runner, 1);
    kept = runner.pop("output");
    source.join();
  }
  ASSERT_TRUE(kept.has_value());
  EXPECT_THAT(bytes_of(*kept), ElementsAre(0, 0));
  EXPECT_EQ(kept->desc(), TDesc({1, 1, 2}, DType::U8, MemLoc::Host));
  ASSERT_EQ(kept->records().size(), 1u);
  EXPECT_EQ(kept->records()[0].sequence, 0u);
}

TEST(GraphRunner, WhatRecordsHoldIsLetGoWithTheTensor) {
  GraphRunner runner = GraphRunner::from_chain("copy", cpu());
  const auto held = std::make_shared<int>(1);
  FrameRecord record;
  record.owner = held;
  const std::vector<std::byte> pixels(2);
  ASSERT_TRUE(
      runner.push("input", pixels.data(), TDesc({1, 1, 2}, DType::U8, MemLoc::Host), {record}));
  record.owner = nullptr;
  runner.end();
  {
    const auto tensor = runner.pop("output");
    ASSERT_TRUE(tensor.has_value());
    EXPECT_EQ(tensor->records()[0].owner, held);
  }
  EXPECT_FALSE(runner.pop("output").has_value());
  runner.scheduler().wait();
  // The records of the graph's own tensors are all that is left.
  EXPECT_LE(held.use_count(), 3);
}

TEST(GraphRunner, CountsWhatEnteredAndLeft) {
  GraphRunner runner = GraphRunner::from_chain("batchqueue output_size=4", cpu());
  std::thread source = feed(runner, 10);
  while (runner.pop("output")) {
  }
  source.join();
  runner.scheduler().wait();
  const auto ledger = runner.scheduler().ledger();
  EXPECT_EQ(ledger.at("input").entered, 10u);
  EXPECT_EQ(ledger.at("input").left, 10u);
  EXPECT_EQ(ledger.at("batchqueue").left, 8u);
  EXPECT_EQ(ledger.at("batchqueue").dropped.at("flush"), 2u);
  EXPECT_EQ(ledger.at("output").left, 8u);
}

TEST(GraphRunner, StopEndsAWaitingPushAndAWaitingPop) {
  const std::vector<uint8_t> pixels(2);
  GraphRunner runner = GraphRunner::from_chain("batchqueue", cpu());
  // Nobody pops "output" here: after a few frames push waits.
  std::thread source([&runner, &pixels] {
    int pushed = 0;
    while (runner.push("input", pixels.data(), grey))
      ++pushed;
    EXPECT_GT(pushed, 0);
  });
  while (runner.scheduler().ledger().at("output").entered == 0)
    std::this_thread::yield();
  runner.stop();
  source.join();
  while (runner.pop("output")) {
  }
  EXPECT_FALSE(runner.pop("output").has_value());
}

TEST(GraphRunner, CanBeDroppedWhileItIsFull) {
  std::atomic<int> released = 0;
  int pushed = 0;
  const std::vector<uint8_t> pixels(2);
  {
    GraphRunner runner = GraphRunner::from_chain("upload ! batchqueue", cpu());
    for (; pushed < 4; ++pushed)
      ASSERT_TRUE(runner.push("input", pixels.data(), grey, {}, [&released] { ++released; }));
  }
  EXPECT_EQ(released, pushed);
}

TEST(GraphRunner, RethrowsTheErrorThatEndedTheRun) {
  core::Registry registry;
  register_builtin_tasks(registry);
  core::add_kernel(registry, "Broken", [](auto, auto, const auto &, auto) {
    throw std::runtime_error("out of ink");
  });
  const std::vector<uint8_t> pixels(2);
  GraphRunner runner = GraphRunner::from_chain("batchqueue ! broken", cpu(), &registry);
  EXPECT_TRUE(runner.push("input", pixels.data(), grey));
  const auto message = [](const auto &call) {
    try {
      call();
    } catch (const core::TaskError &error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_THAT(message([&] { (void)runner.pop("output"); }), HasSubstr("node \"broken\" (Broken)"));
  EXPECT_THAT(
      message([&] {
        while (runner.push("input", pixels.data(), grey)) {
        }
      }),
      HasSubstr("out of ink"));
}

TEST(GraphRunner, NamesTheNodesThatItHas) {
  GraphRunner runner = GraphRunner::from_chain("upload", cpu());
  bool released = false;
  try {
    (void)runner.push("inptu", nullptr, grey, {}, [&released] { released = true; });
    FAIL() << "accepted";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(), "no Input node \"inptu\" in this graph; did you mean \"input\"?");
  }
  EXPECT_TRUE(released);
  try {
    (void)runner.pop("zzzzzz");
    FAIL() << "accepted";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(), "no Output node \"zzzzzz\" in this graph; it has \"output\"");
  }
}

TEST(GraphRunner, SaysWhatAnInputMisses) {
  CompilerConfig config;
  config.device = CompilerConfig::Device::Cpu;
  try {
    (void)GraphRunner::from_chain("upload", config);
    FAIL() << "compiled";
  } catch (const core::CompileError &error) {
    EXPECT_THAT(error.what(), HasSubstr("node \"input\" (Input)"));
    EXPECT_THAT(error.what(), HasSubstr("Config::inputs[\"input\"]"));
  }
}

TEST(GraphRunner, RefusesTensorsOfInputsThatTheGraphDoesNotHave) {
  const auto refusal = [](const std::string &name) {
    CompilerConfig config = cpu();
    config.inputs.emplace(name, grey);
    try {
      (void)GraphRunner::from_chain("upload", config);
    } catch (const core::CompileError &error) {
      return std::string(error.what());
    }
    return std::string("compiled");
  };
  EXPECT_EQ(refusal("input"), "compiled");
  EXPECT_THAT(
      refusal("inptu"),
      HasSubstr("Config::inputs: there is no Input node \"inptu\"; did you mean \"input\"?"));
  EXPECT_THAT(
      refusal("upload"), HasSubstr("there is no Input node \"upload\"; the graph has \"input\""));
}

TEST(GraphRunner, RefusesMoreRecordsThanFrames) {
  GraphRunner runner = GraphRunner::from_chain("upload", cpu());
  const std::vector<std::byte> pixels{std::byte{7}, std::byte{8}};
  bool released = false;
  try {
    (void)runner.push("input", pixels.data(), grey, {at(0), at(40)}, [&] { released = true; });
    FAIL() << "accepted";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(), "push: expected at most one record for each frame, 1 in all, got 2");
  }
  EXPECT_TRUE(released);
  EXPECT_TRUE(runner.push("input", pixels.data(), grey, {at(0)}));  // and goes on
}

TEST(GraphRunner, RunsTheSameChainOnCuda) {
  try {
    (void)cuda_device();
  } catch (const core::DeviceError &error) {
    GTEST_SKIP() << error.what();
  }
  for (const char *chain :
       {"upload ! download", "upload ! batchqueue ! download",
        "upload ! batchqueue ! conversion target=F32 ! conversion target=U8 ! "
        "batchqueue ! download",
        "batchqueue ! upload ! download ! batchqueue",
        "upload ! ratelimiter max_fps=100000 ! download"}) {
    SCOPED_TRACE(chain);
    CompilerConfig config = cpu();
    config.device = CompilerConfig::Device::Cuda;
    GraphRunner runner = GraphRunner::from_chain(chain, config);
    std::thread source = feed(runner, 300);
    EXPECT_EQ(drain(runner), 300);
    source.join();
  }
}

class DeviceMemoryOnCuda : public testing::Test {
protected:
  void SetUp() override {
    try {
      (void)cuda_device();
    } catch (const core::DeviceError &error) {
      GTEST_SKIP() << error.what();
    }
  }

  static GraphRunner make() {
    CompilerConfig config = cpu();
    config.device = CompilerConfig::Device::Cuda;
    return GraphRunner::from_chain("upload ! download", config);
  }
};

TEST_F(DeviceMemoryOnCuda, IsCopiedBeforePushReturns) {
  GraphRunner runner = make();
  Device &device = cuda_device();
  const MemoryBlock block(device, MemLoc::Device, 2);
  const Stream stream(device);
  const Event event(device);
  const std::vector<std::byte> pixels{std::byte{7}, std::byte{8}};
  device.copy(block.get(), MemLoc::Device, pixels.data(), MemLoc::Host, 2, stream.get());
  device.record(event.get(), stream.get());
  bool released = false;
  EXPECT_TRUE(runner.push(
      "input", block.get(), TDesc({1, 1, 2}, DType::U8, MemLoc::Device), {},
      [&released] { released = true; }, event.get()));
  EXPECT_TRUE(released) << "copied, so it may be used again";
  runner.end();
  const auto tensor = runner.pop("output");
  ASSERT_TRUE(tensor.has_value());
  EXPECT_THAT(bytes_of(*tensor), ElementsAre(7, 8));
}

TEST_F(DeviceMemoryOnCuda, MayHoldAnyNumberOfFrames) {
  GraphRunner runner = make();
  Device &device = cuda_device();
  constexpr size_t most = 4;
  const MemoryBlock block(device, MemLoc::Device, 2 * most);
  const Stream stream(device);
  size_t frames = 0;
  std::jthread pusher([&] {
    // Up and down again, so that memory of earlier pushes is too small and too large.
    for (const size_t count : {1, 4, 2, 3, 4, 1}) {
      std::vector<std::byte> pixels(2 * count);
      for (size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::byte>(frames + i / 2);
      device.copy(
          block.get(), MemLoc::Device, pixels.data(), MemLoc::Host, pixels.size(), stream.get());
      device.synchronize(stream.get());
      ASSERT_TRUE(
          runner.push("input", block.get(), TDesc({count, 1, 2}, DType::U8, MemLoc::Device)));
      frames += count;
    }
    runner.end();
  });
  std::vector<uint8_t> seen;
  while (const auto tensor = runner.pop("output"))
    seen.push_back(bytes_of(*tensor).back());
  pusher.join();
  std::vector<uint8_t> expected(frames);
  std::iota(expected.begin(), expected.end(), uint8_t{0});
  EXPECT_EQ(seen, expected);
}

}  // namespace holoflow::runtime
