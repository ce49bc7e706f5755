// SPDX-License-Identifier: LGPL-2.1-or-later
// Recording and replaying on the emulated GPU: when it records, what it follows, when it falls
// back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/rim.hh"
#include "tests/emulated/control.hh"
#include "tests/emulated/expect_same.hh"

namespace holoflow::emulated {
namespace {

using runtime::CompilerConfig;
using runtime::GraphRunner;
using runtime::ReplayStats;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const core::TDesc frame({1, 16, 32}, core::DType::F32, core::MemLoc::Host);
constexpr int frames = 60;

/// Output of a run and what its recordings say.
struct Recorded {
  std::vector<test::Bytes> output;
  std::vector<ReplayStats> replays;
};

class RecordingOnAGpu : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_NE(control(), nullptr);
    control()->reset();
  }
  void TearDown() override {
    if (control() != nullptr) {
      control()->reset();
      EXPECT_EQ(control()->live_recordings(), 0);
    }
  }

  /// `before(n)` is called before frame n is pushed, when all earlier ones have come out.
  static Recorded run(
      const std::string &chain, CompilerConfig::Replay replay = CompilerConfig::Replay::Auto,
      const std::function<void(int)> &before = {}) {
    const emulated::Run what = chain_run(chain, frame, frames);
    CompilerConfig config;
    config.device = CompilerConfig::Device::Cuda;
    config.inputs = what.inputs;
    config.replay = replay;
    config.lag = 0;
    auto runner = GraphRunner::from_spec(what.graph, config);
    Recorded result;
    std::vector<float> pixels(frame.num_elements());
    for (int number = 0; number < frames; ++number) {
      if (before)
        before(number);
      for (size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<float>((static_cast<size_t>(number) * 7 + i) % 251);
      EXPECT_TRUE(runner.push("input", pixels.data(), frame));
      const auto tensor = runner.pop("output");
      if (!tensor)
        break;
      result.output.emplace_back(tensor->data(), tensor->data() + tensor->desc().num_bytes());
    }
    runner.end();
    EXPECT_FALSE(runner.pop("output").has_value());
    runner.scheduler().wait();
    result.replays = runner.scheduler().replays();
    return result;
  }

  static Recorded expect_as_eager(
      const std::string &chain, const std::function<void(int)> &before = {}) {
    const auto eager = run(chain, CompilerConfig::Replay::Off);
    EXPECT_THAT(eager.replays, IsEmpty());
    auto recorded = run(chain, CompilerConfig::Replay::Auto, before);
    EXPECT_EQ(recorded.output, eager.output);
    return recorded;
  }
};

constexpr char fixed[] = "affine scale=2 ! upload ! abs ! sqrt ! affine offset=1 ! copy ! download";
constexpr char slots[] = "upload ! batchqueue target_capacity=4 ! affine scale=2 ! sqrt ! affine "
                         "offset=1 ! batchqueue target_capacity=3 ! download";

}  // namespace

TEST_F(RecordingOnAGpu, TheFirstFrameIsRecordedAndEveryLaterOneReplayed) {
  const auto recorded = expect_as_eager(fixed);
  ASSERT_EQ(recorded.replays.size(), 1u);
  const auto &replay = recorded.replays[0];
  EXPECT_THAT(replay.nodes, ElementsAre("upload", "abs", "sqrt", "affine1", "copy", "download"));
  EXPECT_EQ(replay.operations, 6u);
  EXPECT_EQ(replay.records, 1u);
  EXPECT_EQ(replay.hits + replay.misses, static_cast<uint64_t>(frames));
  EXPECT_LE(replay.misses, 2u) << "Output's memory moves once";
  EXPECT_THAT(replay.fallbacks, IsEmpty());
  EXPECT_EQ(replay.bytes, 6 * runtime::recorded_bytes_per_operation);
}

TEST_F(RecordingOnAGpu, SlotsOfQueuesAreFollowedFromTheThirdFrameOn) {
  uint64_t recordings_of_three = 0;
  const auto recorded = expect_as_eager(slots, [&](int number) {
    if (number == 3)
      recordings_of_three = control()->recordings();
  });
  ASSERT_EQ(recorded.replays.size(), 1u);
  const auto &replay = recorded.replays[0];
  EXPECT_EQ(replay.records, 1u);
  EXPECT_EQ(replay.re_records, 1u);
  EXPECT_EQ(replay.misses, 2u);
  EXPECT_EQ(replay.hits, static_cast<uint64_t>(frames) - 2);
  EXPECT_EQ(control()->recordings(), recordings_of_three) << "nothing is recorded later";
}

TEST_F(RecordingOnAGpu, WhatCannotBeFollowedHasARecordingForEachCombination) {
  control()->refuse_to_follow(true);
  const auto recorded = expect_as_eager(slots);
  ASSERT_EQ(recorded.replays.size(), 1u);
  const auto &replay = recorded.replays[0];
  EXPECT_GT(replay.records, 1u);
  EXPECT_LE(replay.records, 12u) << "4 slots of one queue, 3 of the other";
  EXPECT_EQ(replay.hits + replay.misses, static_cast<uint64_t>(frames));
  EXPECT_EQ(replay.misses, replay.records);
  EXPECT_THAT(replay.fallbacks, IsEmpty());
}

TEST_F(RecordingOnAGpu, MoreCombinationsThanExecutablesAreCalledOneByOneAndSaySo) {
  control()->refuse_to_follow(true);
  const auto recorded =
      expect_as_eager("upload ! batchqueue target_capacity=7 ! affine scale=2 ! sqrt ! batchqueue "
                      "target_capacity=5 ! download");
  const auto &replay = recorded.replays.at(0);
  EXPECT_EQ(replay.records, 16u);
  ASSERT_EQ(replay.fallbacks.size(), 1u);
  EXPECT_THAT(
      replay.fallbacks.begin()->first,
      HasSubstr("its memory comes in more than 16 combinations of addresses, which one recording "
                "cannot follow: an operation takes no other addresses"));
  EXPECT_EQ(replay.fallbacks.begin()->second, replay.misses - replay.records);
}

// Each call that concerns recordings fails once: the run goes on, one iteration is eager.
TEST_F(RecordingOnAGpu, ACallThatFailsCostsOneIterationAndNamesItself) {
  const auto eager = run(slots, CompilerConfig::Replay::Off);
  int failed = 0;
  for (uint64_t call = 1; call <= 40; ++call) {
    control()->reset();
    const auto recorded = run(slots, CompilerConfig::Replay::Auto, [&](int number) {
      if (number == 0)
        control()->fail_recording_call(call);
    });
    EXPECT_EQ(recorded.output, eager.output) << call;
    const auto &replay = recorded.replays.at(0);
    EXPECT_GE(replay.hits, static_cast<uint64_t>(frames) - 25) << call << ": it is tried again";
    for (const auto &[reason, count] : replay.fallbacks) {
      ++failed;
      EXPECT_THAT(reason, HasSubstr("emulated GPU: recording call")) << call;
      EXPECT_GE(count, 1u);
    }
  }
  EXPECT_GE(failed, 5) << "begin, end, prepare, set_parameters and launch";
}

namespace {

/// Takes what an Output gives.
class Collector final : public runtime::IFrameSink {
public:
  core::OpResult on_frames(runtime::OutputFrames &&given) override {
    output.emplace_back(given.data, given.data + given.desc->num_bytes());
    given.release();
    return core::OpResult::Ok;
  }
  void on_end(bool) override {}
  void interrupt() noexcept override {}

  std::vector<test::Bytes> output;
};

/// A graph that is compiled again and again, each time from what was compiled before.
class Recompiled {
public:
  Recompiled() {
    register_builtin_tasks(registry_);
    config_.device = CompilerConfig::Device::Cuda;
    config_.inputs = {{"input", frame}};
  }

  void compile(const std::string &graph) {
    compiled_ =
        runtime::Compiler(registry_, config_)
            .compile(core::GraphSpec::from_text(graph, registry_.keys()), std::move(compiled_));
  }
  [[nodiscard]] const runtime::CompileReport &report() const { return compiled_->report; }

  /// Some frames through a new scheduler.
  Recorded run() {
    Collector sink;
    dynamic_cast<runtime::IFrameOutput &>(task("output")).set_sink(&sink);
    auto &input = dynamic_cast<runtime::IFrameInput &>(task("input"));
    runtime::Scheduler scheduler(compiled_->graph, compiled_->sections, compiled_->resources);
    scheduler.start();
    std::vector<float> pixels(frame.num_elements());
    for (int number = 0; number < frames; ++number) {
      for (size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<float>((static_cast<size_t>(number) + i) % 97);
      std::latch read(1);
      runtime::InputFrames pushed;
      pushed.data = reinterpret_cast<const std::byte *>(pixels.data());
      pushed.desc = frame;
      pushed.release = [&read] { read.count_down(); };
      EXPECT_EQ(input.push(std::move(pushed)), runtime::IFrameInput::PushResult::Ok);
      read.wait();
    }
    input.end();
    scheduler.wait();
    return {std::move(sink.output), scheduler.replays()};
  }

private:
  core::ITask &task(const std::string &name) { return *compiled_->resources.tasks.at(name); }

  core::Registry registry_;
  CompilerConfig config_;
  std::unique_ptr<runtime::CompilerOutput> compiled_;
};

std::string two_runs(const std::string &scale) {
  return "upload ! batchqueue ! affine scale=2 ! sqrt ! batchqueue ! affine scale=" + scale +
      " ! abs ! batchqueue ! download";
}

}  // namespace

TEST_F(RecordingOnAGpu, ARestartReplaysWhatTheRunBeforeRecorded) {
  Recompiled graph;
  graph.compile(slots);
  const auto first = graph.run();
  const auto second = graph.run();
  EXPECT_EQ(first.replays.at(0).records, 1u);
  EXPECT_EQ(second.replays.at(0).records, 0u);
  EXPECT_EQ(second.replays.at(0).misses, 0u);
  EXPECT_EQ(second.replays.at(0).hits, static_cast<uint64_t>(frames));
  EXPECT_EQ(second.output, first.output);
}

TEST_F(RecordingOnAGpu, ACompileKeepsTheRecordingsOfRunsThatStayTheSame) {
  Recompiled graph;
  graph.compile(two_runs("3"));
  const auto first = graph.run();
  graph.compile(two_runs("5"));
  EXPECT_EQ(graph.report().kept_tasks, 5u) << "all but the Affine that changed";
  const auto second = graph.run();
  ASSERT_EQ(second.replays.size(), 2u);
  EXPECT_EQ(second.replays[0].misses, 0u) << "kept";
  EXPECT_EQ(second.replays[1].records, 1u) << "recorded anew";
  EXPECT_NE(second.output, first.output);
  graph.compile(two_runs("3"));
  EXPECT_EQ(graph.run().output, first.output);
}

// The tasks stay as they are, but "double" now writes into a slot of another queue, where its
// result was memory of the run alone.
TEST_F(RecordingOnAGpu, ACompileDropsRecordingsWhoseSlotsShareOtherMemory) {
  const auto graph = [](bool second_reader) {
    return std::string(R"({"nodes": {"input": {"type": "Input"}, "up": {"type": "Upload"},
        "q": {"type": "BatchQueue"}, "double": {"type": "Affine", "params": {"scale": 2}},
        "root": {"type": "Sqrt"}, "q2": {"type": "BatchQueue"}, "down": {"type": "Download"},
        "output": {"type": "Output"})") +
        (second_reader ? R"(, "q3": {"type": "BatchQueue"}, "down3": {"type": "Download"},
                              "other": {"type": "Output"})"
                       : "") +
        R"(}, "edges": ["input -> up", "up -> q", "q -> double", "double -> root", "root -> q2",
                        "q2 -> down", "down -> output")" +
        (second_reader ? R"(, "double -> q3", "q3 -> down3", "down3 -> other")" : "") + "]}";
  };
  Recompiled recompiled;
  recompiled.compile(graph(false));
  const auto alone = recompiled.run();
  recompiled.compile(graph(true));
  const auto shared = recompiled.run();
  EXPECT_EQ(shared.output, alone.output);
  ASSERT_EQ(shared.replays.size(), 1u);
  EXPECT_EQ(shared.replays[0].nodes, alone.replays.at(0).nodes);
  EXPECT_NE(shared.replays[0].key, alone.replays[0].key);
  EXPECT_EQ(shared.replays[0].records, 1u) << "recorded anew";
  recompiled.compile(graph(false));
  EXPECT_EQ(recompiled.run().output, alone.output);
}

TEST_F(RecordingOnAGpu, ACompileDropsRecordingsWhoseTasksAreMadeAnew) {
  Recompiled graph;
  graph.compile(slots);
  (void)graph.run();
  const auto alive = control()->live_recordings();
  graph.compile(
      "upload ! batchqueue target_capacity=4 ! affine scale=7 ! abs ! batchqueue ! download");
  EXPECT_LT(control()->live_recordings(), alive);
}

}  // namespace holoflow::emulated
