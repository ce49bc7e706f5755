// SPDX-License-Identifier: LGPL-2.1-or-later
// A compiled graph and its runs: legal moves, ends, stops, failures, going on after an end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/error.hh"
#include "holoflow/runtime/graph_session.hh"
#include "holoflow/runtime/stream_shape.hh"
#include "tests/support/watchdog.hh"

namespace holoflow::runtime {

namespace {

using State = SessionState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr State all_states[] = {State::Idle,    State::Running, State::Ending, State::Stopping,
                                State::Drained, State::Stopped, State::Failed};

/// Keeps the first value and the sequence number of each tensor.
class Collector final : public IFrameSink {
public:
  core::OpResult on_frames(OutputFrames &&given) override {
    {
      const std::lock_guard lock(mutex_);
      values_.push_back(*reinterpret_cast<const float *>(given.data));
      sequences_.push_back(given.records.empty() ? 0 : given.records.back().sequence);
      gaps_.push_back(
          !given.records.empty() &&
          (given.records.front().flags & core::FrameRecord::Discontinuity) != 0);
    }
    given.release();
    return core::OpResult::Ok;
  }
  void on_end(bool eof) override { ends.push_back(eof); }
  void interrupt() noexcept override {}

  std::vector<float> take_values() {
    const std::lock_guard lock(mutex_);
    return std::exchange(values_, {});
  }
  std::vector<uint64_t> take_sequences() {
    const std::lock_guard lock(mutex_);
    return std::exchange(sequences_, {});
  }
  std::vector<bool> take_gaps() {
    const std::lock_guard lock(mutex_);
    return std::exchange(gaps_, {});
  }

  std::vector<bool> ends;

private:
  std::mutex mutex_;
  std::vector<float> values_;
  std::vector<uint64_t> sequences_;
  std::vector<bool> gaps_;
};

/// A session whose frames are single numbers.
class GraphSessionTest : public testing::Test {
protected:
  GraphSessionTest() {
    register_builtin_tasks(registry_);
    core::add_kernel(
        registry_, "Fails",
        [](std::span<const core::TView>, std::span<core::TView>, const nlohmann::json &,
           cudaStream_t) { throw std::runtime_error("it was told to fail"); });
  }

  void make(const std::string &graph) {
    CompilerConfig config;
    const core::TDesc frame({1, 1, 1}, core::DType::F32, core::MemLoc::Host);
    const auto spec = core::GraphSpec::from_text(graph, registry_.keys());
    for (const auto &node : spec.nodes)
      if (node.kind == "Input")
        config.inputs[node.name] = frame;
    session_ = std::make_unique<GraphSession>(Compiler(registry_, config).compile(spec));
    for (const auto &[name, output] : session_->outputs())
      output->set_sink(&sink_);
  }

  void push(float value, const std::string &input = "input") {
    const auto memory = std::make_shared<float>(value);
    InputFrames frames;
    frames.data = reinterpret_cast<const std::byte *>(memory.get());
    frames.desc = core::TDesc({1, 1, 1}, core::DType::F32, core::MemLoc::Host);
    frames.release = [memory] {};
    EXPECT_EQ(session_->input(input).push(std::move(frames)), IFrameInput::PushResult::Ok);
  }
  void push_all(float from, float to) {
    for (float value = from; value <= to; ++value)
      push(value);
  }
  void drain() {
    session_->end();
    session_->wait();
    EXPECT_EQ(session_->state(), State::Drained);
  }
  [[nodiscard]] uint64_t unaccounted(const std::string &node) const {
    const auto ledger = session_->scheduler().ledger().at(node);
    uint64_t dropped = 0;
    for (const auto &[reason, frames] : ledger.dropped)
      dropped += frames;
    return ledger.entered - ledger.left - dropped - ledger.skipped - ledger.failed - ledger.held;
  }

  Collector sink_;
  core::Registry registry_;
  std::unique_ptr<GraphSession> session_;
  const test::Watchdog watchdog_{"a run of the session hangs"};
};

}  // namespace

TEST(SessionStates, OnlyTheMovesOfTheDrawingAreLegal) {
  const std::set<std::pair<State, State>> drawn = {
      {State::Idle, State::Running},    {State::Drained, State::Running},
      {State::Stopped, State::Running}, {State::Failed, State::Running},
      {State::Running, State::Ending},  {State::Running, State::Stopping},
      {State::Ending, State::Stopping}, {State::Running, State::Drained},
      {State::Ending, State::Drained},  {State::Stopping, State::Stopped},
      {State::Running, State::Failed},  {State::Ending, State::Failed},
      {State::Stopping, State::Failed},
  };
  for (const State from : all_states)
    for (const State to : all_states)
      EXPECT_EQ(may_follow(from, to), drawn.contains({from, to}))
          << to_string(from) << " to " << to_string(to);
}

TEST_F(GraphSessionTest, RunsEndAndBeginAnew) {
  make("affine scale=2");
  EXPECT_EQ(session_->state(), State::Idle);
  for (int run = 0; run < 3; ++run) {
    session_->start();
    push_all(1, 3);
    session_->end();
    session_->wait();
    EXPECT_EQ(session_->state(), State::Drained);
    EXPECT_THAT(sink_.take_values(), ElementsAre(2, 4, 6));
    EXPECT_THAT(sink_.take_sequences(), ElementsAre(0, 1, 2)) << "frames count from 0 in a new run";
  }
  EXPECT_THAT(sink_.ends, ElementsAre(true, true, true));
}

TEST_F(GraphSessionTest, AStopThrowsAwayAndTheNextRunIsNew) {
  make("batchqueue ! affine");
  session_->start();
  push(1);
  session_->stop();
  session_->wait();
  EXPECT_EQ(session_->state(), State::Stopped);
  EXPECT_EQ(session_->error(), nullptr);
  (void)sink_.take_values();
  session_->start();
  push(7);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(7));
}

TEST_F(GraphSessionTest, StopsFromOtherThreadsAtAnyTimeAreLegal) {
  make("batchqueue ! affine");
  for (int round = 0; round < 50; ++round) {
    std::latch begin(2);
    std::thread stopper([&] {
      begin.arrive_and_wait();
      session_->stop();
    });
    begin.arrive_and_wait();
    session_->start();
    stopper.join();
    session_->stop();
    session_->wait();
    EXPECT_EQ(session_->state(), State::Stopped);
  }
}

TEST_F(GraphSessionTest, AnErrorOfATaskIsKeptUntilTheNextRun) {
  make("fails");
  session_->start();
  push(1);
  session_->wait();
  EXPECT_EQ(session_->state(), State::Failed);
  ASSERT_NE(session_->error(), nullptr);
  try {
    std::rethrow_exception(session_->error());
  } catch (const core::TaskError &error) {
    EXPECT_THAT(error.what(), HasSubstr("it was told to fail"));
  }
  session_->start();
  EXPECT_EQ(session_->error(), nullptr);
  session_->stop();
  session_->wait();
}

TEST_F(GraphSessionTest, ItSaysWhenARunIsOver) {
  make("affine");
  std::vector<bool> well;
  session_->set_on_over([&](std::exception_ptr error) {
    well.push_back(error == nullptr);
    EXPECT_TRUE(is_active(session_->state())) << "who waits is told after it";
  });
  session_->start();
  drain();
  session_->start();
  session_->stop();
  session_->wait();
  EXPECT_THAT(well, ElementsAre(true, true));
}

TEST_F(GraphSessionTest, CallsOutOfTurnSayWhatTheyFound) {
  make("affine");
  try {
    session_->resume();
    FAIL();
  } catch (const std::logic_error &error) {
    EXPECT_STREQ(error.what(), "only a graph that has drained goes on, this one is idle");
  }
  session_->start();
  try {
    session_->start();
    FAIL();
  } catch (const std::logic_error &error) {
    EXPECT_STREQ(error.what(), "a graph that is running cannot become running");
  }
  try {
    (void)session_->input("inptu");
    FAIL();
  } catch (const std::invalid_argument &error) {
    EXPECT_THAT(error.what(), HasSubstr("no Input node \"inptu\" in this graph"));
  }
}

TEST_F(GraphSessionTest, GoesOnCountingFrames) {
  make("affine");
  session_->start();
  push_all(0, 2);
  drain();
  session_->resume();
  push_all(3, 4);
  drain();
  EXPECT_THAT(sink_.take_sequences(), ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(GraphSessionTest, GoesOnWithTheFramesThatWindowsShare) {
  make("batchqueue output_size=4 output_stride=2 target_capacity=8 ! mean axis=0 keepdims=true");
  session_->start();
  push_all(0, 8);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(1.5, 3.5, 5.5)) << "frame 8 was in no window";
  session_->resume();
  push_all(9, 12);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(8, 10.5)) << "6, 7, 9, 10 and 9 to 12";
  EXPECT_THAT(sink_.take_sequences(), ElementsAre(3, 5, 7, 10, 12));
  EXPECT_THAT(sink_.take_gaps(), ElementsAre(false, false, false, true, false));
  EXPECT_EQ(unaccounted("batchqueue"), 0u);
  EXPECT_EQ(session_->scheduler().ledger().at("batchqueue").dropped.at("flush"), 1u);
}

TEST_F(GraphSessionTest, GoesOnInThePhaseOfAStride) {
  make("batchqueue output_size=1 output_stride=4");
  session_->start();
  push_all(0, 5);
  drain();
  session_->resume();
  push_all(6, 9);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(0, 4, 8));
  EXPECT_EQ(unaccounted("batchqueue"), 0u);
}

TEST_F(GraphSessionTest, AWindowThatWasPaddedIsOver) {
  make("batchqueue output_size=4 output_stride=4 flush=pad target_capacity=8 ! mean axis=0 "
       "keepdims=true");
  session_->start();
  push_all(0, 5);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(1.5, 4.75)) << "4, 5, 5, 5";
  session_->resume();
  push_all(6, 9);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(7.5));
  EXPECT_EQ(unaccounted("batchqueue"), 0u);
  EXPECT_EQ(session_->scheduler().ledger().at("batchqueue").entered, 10u);
}

TEST_F(GraphSessionTest, AverageGoesOnWithItsFrames) {
  for (const char *type : {"slidingaverage window_size=3", "causalslidingaverage window_size=3"}) {
    SCOPED_TRACE(type);
    make(type);
    session_->start();
    push_all(0, 3);
    drain();
    (void)sink_.take_values();
    session_->resume();
    push(4);
    drain();
    EXPECT_THAT(sink_.take_values(), ElementsAre(3)) << "of 2, 3, 4";
  }
}

TEST_F(GraphSessionTest, ASecondReaderGoesOnWithItsFrames) {
  make(
      R"({"nodes": {"input": {"type": "Input"}, "dual": {"type": "DualReaderBatchQueue",
                    "params": {"window_size": 5}}, "subtract": {"type": "Subtract"},
                    "output": {"type": "Output"}},
          "edges": ["input -> dual", "dual:0 -> subtract:0", "dual:1 -> subtract:1",
                    "subtract -> output"]})");
  session_->start();
  push_all(10, 12);
  drain();
  session_->resume();
  push_all(13, 14);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(10, 11, 2, 2, 2)) << "minus the frame two before";
}

TEST_F(GraphSessionTest, ANewRunForgetsWhatGoingOnKept) {
  make("batchqueue output_size=3 output_stride=1 target_capacity=8 ! mean axis=0 keepdims=true");
  session_->start();
  push_all(0, 3);
  drain();
  session_->resume();
  push(4);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(1, 2, 3));
  session_->start();
  push_all(10, 12);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(11));
}

// A push brings two frames, and one of them was shown: both go.
TEST_F(GraphSessionTest, PushesOfSeveralFramesAreGivenUpWhole) {
  make(
      R"({"nodes": {"input": {"type": "Input", "params": {"batch": 2}},
                    "q": {"type": "BatchQueue", "params": {"output_size": 3, "output_stride": 2,
                          "target_capacity": 8}},
                    "mean": {"type": "Mean", "params": {"axis": 0, "keepdims": true}},
                    "output": {"type": "Output"}},
          "edges": ["input -> q", "q -> mean", "mean -> output"]})");
  session_->start();
  push_all(0, 3);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(1));
  session_->resume();
  push_all(4, 7);
  drain();
  EXPECT_THAT(sink_.take_values(), ElementsAre(5)) << "4, 5, 6";
  EXPECT_EQ(unaccounted("q"), 0u);
  EXPECT_EQ(session_->scheduler().ledger().at("q").entered, 8u);
}

TEST_F(GraphSessionTest, OneInputOfSeveralEndsThePathsThatNeedIt) {
  make(
      R"({"nodes": {"a": {"type": "Input"}, "b": {"type": "Input"}, "sum": {"type": "Add"},
                    "output": {"type": "Output"}},
          "edges": ["a -> sum:0", "b -> sum:1", "sum -> output"]})");
  session_->start();
  push(1, "a");
  push(2, "b");
  session_->end("a");
  session_->wait();
  EXPECT_EQ(session_->state(), State::Drained);
  EXPECT_THAT(sink_.take_values(), ElementsAre(3));
}

// Whatever each window keeps.
TEST_F(GraphSessionTest, GoesOnWithTheShapeThatItTells) {
  for (const char *chain :
       {"affine scale=2", "batchqueue output_size=4 output_stride=4 target_capacity=8 flush=drop",
        "batchqueue output_size=4 output_stride=2 target_capacity=8 flush=drop",
        "batchqueue output_size=3 output_stride=5 target_capacity=8 flush=drop",
        "slidingaverage window_size=3 discard_first=4",
        "batchqueue output_size=2 output_stride=2 target_capacity=4 flush=drop ! copy ! "
        "slidingaverage window_size=3",
        "slidingaverage window_size=3 ! copy ! batchqueue output_size=4 output_stride=1 "
        "target_capacity=8 flush=drop"}) {
    SCOPED_TRACE(chain);
    make(chain);
    const StreamShape shape = stream_shapes(session_->compiled().graph).at(0);
    StreamShape now = shape;
    uint64_t before = 0;
    session_->start();
    for (const uint64_t count : {7, 1, 2, 5, 3, 0, 4, 4, 1, 9, 1, 1, 1, 1, 6}) {
      push_all(1, static_cast<float>(count));
      drain();
      uint64_t shown = 0;
      for (const uint64_t sequence : sink_.take_sequences())
        shown = std::max(shown, sequence + 1);
      EXPECT_EQ(now.frames_shown(count), shown > before ? shown - before : 0)
          << count << " frames behind " << before;
      EXPECT_GE(now.frames_settled(count), now.frames_shown(count));
      EXPECT_LE(now.frames_settled(count), count);
      before += count;
      session_->resume();
      now = shape.resumed(session_->scheduler().ledger());
    }
    drain();
  }
}

}  // namespace holoflow::runtime
