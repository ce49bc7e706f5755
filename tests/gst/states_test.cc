// SPDX-License-Identifier: LGPL-2.1-or-later
// The states of a stream: the table of moves, and a script that makes each of them.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../support/watchdog.hh"
#include "gst/gstholoflowsession.h"
#include "stream_script.hh"
#include "test_tasks.hh"

namespace holoflow::test {
namespace {

using State = gst::StreamState;
using Moves = std::set<std::pair<State, State>>;

constexpr State all_states[] = {State::Stopped,  State::Waiting,  State::Ready, State::Running,
                                State::Draining, State::Flushing, State::Failed};

/// The moves that the element tells its log, while this lives.
class MoveLog {
public:
  MoveLog() {
    gst_debug_remove_log_function(gst_debug_log_default);
    gst_debug_set_threshold_for_name("holoflow", GST_LEVEL_LOG);
    gst_debug_add_log_function(write, this, nullptr);
  }
  ~MoveLog() {
    gst_debug_remove_log_function_by_data(this);
    gst_debug_unset_threshold_for_name("holoflow");
    gst_debug_add_log_function(gst_debug_log_default, nullptr, nullptr);
  }
  MoveLog(const MoveLog &) = delete;
  MoveLog &operator=(const MoveLog &) = delete;

  void await(State from, State to) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return moves_.contains({from, to}); });
  }

private:
  static void write(
      GstDebugCategory *, GstDebugLevel, const gchar *, const gchar *function, gint, GObject *,
      GstDebugMessage *message, gpointer self) {
    if (std::string(function) == "move_to")
      static_cast<MoveLog *>(self)->add(gst_debug_message_get(message));
  }
  void add(const std::string &text) {
    std::lock_guard lock(mutex_);
    for (const State from : all_states)
      for (const State to : all_states)
        if (text == std::string("from ") + to_string(from) + " to " + to_string(to))
          moves_.insert({from, to});
    changed_.notify_all();
  }

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Moves moves_;
};

std::string chain_of(const std::vector<std::string> &kinds) {
  std::string nodes = R"("in":{"type":"Input","params":{"as":"GRAY"}})", edges, last = "in";
  for (const auto &kind : kinds) {
    nodes += ",\"" + kind + "\":{\"type\":\"" + kind + "\"}";
    edges += "\"" + std::exchange(last, kind) + "->" + kind + "\",";
  }
  return "{\"nodes\":{" + nodes + R"(,"out":{"type":"Output"}},"edges":[)" + edges + "\"" + last +
      "->out\"]}";
}

// What makes the task "FailAt99" fail.
Step frame_of_99() {
  return [](Rig &rig) {
    gst_harness_push(rig.harness(), buffer_of(std::vector<guint8>(rig.frame_bytes, 99)));
    return std::string();
  };
}

Step stop() {
  return [](Rig &rig) {
    gst_element_set_state(rig.element(), GST_STATE_NULL);
    return std::string();
  };
}

/// The script makes the move in a chain of these tasks.
struct Case {
  State from, to;
  std::vector<std::string> tasks;
  Script script;
};

Step together(Script script) {
  return [script = std::move(script)](Rig &rig) {
    for (const Step &step : script)
      step(rig);
    return std::string();
  };
}

// A frame that stays in the task "HoldAtGate".
Step held(const Step &frame) {
  return [frame](Rig &rig) {
    task_gate().close();
    frame(rig);
    task_gate().await_held();
    return std::string();
  };
}

Step let_go() {
  return [](Rig &) {
    task_gate().open();
    return std::string();
  };
}

std::vector<Case> cases() {
  const std::vector<std::string> copy{"Copy"}, fail{"FailAt99"}, hold{"HoldAtGate"};
  const Step runs = together({begin(), frames(0, 1)});
  const Step drains = together({begin(), held(frames(0, 1)), eos()});
  const Step fails = together({begin(), frame_of_99(), await_end()});
  return {
      {State::Stopped, State::Waiting, copy, {}},
      {State::Waiting, State::Ready, copy, {begin()}},
      {State::Waiting, State::Flushing, copy, {flush_start()}},
      {State::Waiting, State::Stopped, copy, {stop()}},
      {State::Ready, State::Running, copy, {runs}},
      {State::Ready, State::Waiting, copy, {runs, caps(larger_caps)}},
      {State::Ready, State::Flushing, copy, {begin(), flush_start()}},
      {State::Ready, State::Stopped, copy, {begin(), stop()}},
      {State::Running, State::Draining, copy, {runs, eos()}},
      {State::Running, State::Failed, {"CannotBegin"}, {runs}},
      {State::Running, State::Flushing, copy, {runs, flush_start()}},
      {State::Running, State::Stopped, copy, {runs, stop()}},
      {State::Draining, State::Ready, copy, {runs, eos()}},
      {State::Draining,
       State::Failed,
       {"HoldAtGate", "FailAt99"},
       {begin(), held(frame_of_99()), eos(), let_go()}},
      {State::Draining, State::Flushing, hold, {drains, flush_start()}},
      {State::Draining, State::Stopped, hold, {drains, beside({stop()})}},
      {State::Flushing, State::Waiting, copy, {flush_start(), flush_stop()}},
      {State::Flushing, State::Ready, copy, {runs, flush_start(), flush_stop()}},
      {State::Flushing, State::Stopped, copy, {runs, flush_start(), stop()}},
      {State::Failed, State::Flushing, fail, {fails, flush_start()}},
      {State::Failed, State::Stopped, fail, {fails, stop()}},
  };
}

std::string name_of_case(const ::testing::TestParamInfo<Case> &info) {
  return std::string(to_string(info.param.from)) + "_to_" + to_string(info.param.to);
}

class EachMove : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Of, EachMove, ::testing::ValuesIn(cases()), name_of_case);

}  // namespace

TEST_P(EachMove, IsMade) {
  const Watchdog watchdog("the move is not made");
  MoveLog log;
  Rig rig({.name = "states", .graph = chain_of(GetParam().tasks)});
  for (const Step &step : GetParam().script)
    step(rig);
  log.await(GetParam().from, GetParam().to);
  task_gate().open();
}

TEST(StreamStates, ASourceThatEndsIsReadyForTheNextRun) {
  const Watchdog watchdog("the move is not made");
  MoveLog log;
  Pipeline pipeline(
      R"(holoflowbin graph="{\"nodes\":{\"c\":{\"type\":\"Counter\",\"params\":{\"frames\":3}},)"
      R"(\"o\":{\"type\":\"Output\"}},\"edges\":[\"c->o\"]}" ! fakesink)");
  ASSERT_TRUE(pipeline.run());
  log.await(State::Running, State::Ready);
}

TEST(StreamStates, EachMoveOfTheTableHasATest) {
  Moves made{{State::Running, State::Ready}};
  for (const Case &each : cases())
    made.insert({each.from, each.to});
  for (const State from : all_states)
    for (const State to : all_states)
      EXPECT_EQ(gst::may_follow(from, to), made.contains({from, to}))
          << to_string(from) << " to " << to_string(to);
}

}  // namespace holoflow::test
