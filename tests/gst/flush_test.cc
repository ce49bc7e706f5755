// SPDX-License-Identifier: LGPL-2.1-or-later
// Flushes in every pairing that the core allows.
#include <gtest/gtest.h>

#include "../support/watchdog.hh"
#include "stream_script.hh"
#include "test_tasks.hh"
#include <atomic>

namespace holoflow::test {
namespace {

class Flush : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(Subjects, Flush, ::testing::ValuesIn(all_subjects()), name_of);

// queue of 1.22 may stop for ever: its FLUSH_START waits for a task that another FLUSH_STOP has
// started again.
class OverlappingFlushes : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(
    Subjects, OverlappingFlushes, ::testing::ValuesIn(identity_and_graphs()), name_of);

Script joined(std::initializer_list<Script> parts) {
  Script all;
  for (const auto &part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Four frames have left before anything else happens.
Script played_four() {
  return {begin(), frames(0), await("buffer 30")};
}

// What must work after any flush.
Script plays_on(guint64 first_ms) {
  return {segment(first_ms), frames(first_ms), eos(), await("eos")};
}

TEST_P(Flush, StartAndStopKeepCapsAndForgetTheSegment) {
  expect_like_identity(
      GetParam(), joined({played_four(), {flush_start(), flush_stop()}, plays_on(100)}));
}

TEST_P(Flush, StopAloneReturnsAndTheStreamGoesOn) {
  expect_like_identity(GetParam(), joined({played_four(), {flush_stop()}, plays_on(100)}));
}

TEST_P(Flush, StopTwiceReturns) {
  expect_like_identity(
      GetParam(),
      joined({played_four(), {flush_start(), flush_stop(), flush_stop()}, plays_on(100)}));
}

TEST_P(Flush, AStrayStopBehindDataReturnsAndTheStreamGoesOn) {
  expect_like_identity(
      GetParam(),
      joined(
          {played_four(),
           {flush_start(), flush_start(), flush_stop(), segment(50), frames(50), await("buffer 80"),
            flush_stop()},
           plays_on(100)}));
}

TEST_P(Flush, StartAloneRefusesDataAndEvents) {
  expect_like_identity(
      GetParam(),
      joined(
          {played_four(),
           {flush_start(), frames(40), custom("late"), gap(50), flush_stop()},
           plays_on(100)}));
}

TEST_P(Flush, ComesBeforeAnyEvent) {
  expect_like_identity(
      GetParam(), {flush_start(), flush_stop(), begin(), frames(0), eos(), await("eos")});
}

TEST_P(Flush, ComesBetweenStreamStartAndCaps) {
  expect_like_identity(
      GetParam(),
      {stream_start(), flush_start(), flush_stop(), caps(), segment(), frames(0), eos(),
       await("eos")},
      Part::AfterTheLastFlush);
}

TEST_P(Flush, ComesBeforeTheFirstBuffer) {
  expect_like_identity(
      GetParam(), joined({{begin(), flush_start(), flush_stop()}, plays_on(100)}),
      Part::AfterTheLastFlush);
}

TEST_P(Flush, ComesFiftyTimesInARow) {
  Script script = played_four();
  for (guint64 i = 1; i <= 50; ++i)
    for (const auto &step : {flush_start(), flush_stop(), segment(i * 1000), frames(i * 1000)})
      script.push_back(step);
  script.push_back(eos());
  script.push_back(await("eos"));
  expect_like_identity(GetParam(), script, Part::AfterTheLastFlush);
}

TEST_P(Flush, ReleasesUpstreamWhileDownstreamBlocks) {
  expect_like_identity(
      GetParam(),
      joined(
          {{begin(), close_gate(), beside({frames_until_refused(0)}), await_blocked(),
            await_asleep(), flush_start(), join(), flush_stop()},
           plays_on(100000)}),
      Part::AfterTheLastFlush);
}

TEST_P(Flush, ASecondStartWhileDownstreamBlocksReturnsToo) {
  expect_like_identity(
      GetParam(),
      joined(
          {{begin(), close_gate(), beside({frames_until_refused(0)}), await_blocked(),
            await_asleep(), flush_start(), flush_start(), join(), flush_stop(), flush_stop()},
           plays_on(100000)}),
      Part::AfterTheLastFlush);
}

// START and STOP of one thread among those of the other. What they return depends on the order.
Step flushes_of_two_threads() {
  return [](Rig &rig) {
    const auto flush = [&rig] {
      (void)flush_start()(rig);
      (void)flush_stop()(rig);
      return std::vector<std::string>{};
    };
    rig.start(flush);
    (void)flush();
    (void)rig.join();
    return "";
  };
}

TEST_P(OverlappingFlushes, OfTwoThreadsLetTheStreamGoOn) {
  Script script{begin()};
  for (guint64 i = 1; i <= 50; ++i) {
    const guint64 ms = i * 1000;
    for (const auto &step :
         {flushes_of_two_threads(), segment(ms), frames(ms),
          await("buffer " + std::to_string(ms + 30))})
      script.push_back(step);
  }
  script.push_back(eos());
  script.push_back(await("eos"));
  expect_like_identity(GetParam(), script, Part::AfterTheLastFlush);
}

// The streaming thread waits in the element or downstream when both flushes come.
TEST_P(OverlappingFlushes, OfTwoThreadsReleaseUpstreamWhileDownstreamBlocks) {
  const Watchdog watchdog(GetParam().name + ": overlapping flushes do not end");
  Rig rig(GetParam());
  begin()(rig);
  for (guint64 i = 1; i <= 20; ++i) {
    const guint64 ms = i * 100000;
    rig.close_gate();
    GstFlowReturn refused = GST_FLOW_OK;
    std::atomic<bool> is_over = false;
    std::thread streaming([&] {
      // It may be between two buffers all the while, and then sees no refusal.
      for (guint64 frame = 0; refused == GST_FLOW_OK && !is_over; ++frame) {
        GstBuffer *buffer = buffer_of(noise(rig.frame_bytes));
        GST_BUFFER_PTS(buffer) = (ms + 10 * frame) * GST_MSECOND;
        refused = gst_harness_push(rig.harness(), buffer);
      }
    });
    EXPECT_TRUE(rig.await_blocked());
    (void)flushes_of_two_threads()(rig);
    is_over = true;
    streaming.join();
    EXPECT_TRUE(refused == GST_FLOW_FLUSHING || refused == GST_FLOW_OK) << refused;
    // Its frames behind the flushes would be in windows with those to come.
    flush_start()(rig);
    flush_stop()(rig);
    segment(ms + 50000)(rig);
    EXPECT_EQ(frames(ms + 50000)(rig), "ok ok ok ok ");
    ASSERT_TRUE(rig.await("buffer " + std::to_string(ms + 50030))) << "round " << i;
  }
}

std::string held() {
  return R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY"}},"hold":{"type":"HoldAtGate"},)"
         R"("out":{"type":"Output"}},"edges":["in->hold","hold->out"]})";
}

// Nothing of before the flush.
const std::vector<std::string> seen{
    "100 in 8x4 30/1", "110 in 8x4 30/1", "120 in 8x4 30/1", "130 in 8x4 30/1"};

TEST(FlushOfHoloflow, StartReturnsWhileATaskExecutes) {
  const Watchdog watchdog("FLUSH_START waits for a task");
  Rig rig({.name = "held", .graph = held()});
  begin()(rig);
  task_gate().close();
  frames(0, 1)(rig);
  task_gate().await_held();
  EXPECT_EQ(flush_start()(rig), "flush-start: true");
  EXPECT_EQ(rig.left().back(), "flush-start") << "downstream knows of it too";
  EXPECT_EQ(frames(10, 1)(rig), "flushing ");
  task_gate().open();
  flush_stop()(rig);
  segment(100)(rig);
  frames(100)(rig);
  eos()(rig);
  ASSERT_TRUE(rig.await("eos"));
  EXPECT_EQ(buffers_with_caps(rig.left()), seen);
}

TEST(FlushOfHoloflow, StopWaitsForTheTaskThatExecutes) {
  const Watchdog watchdog("FLUSH_STOP never returns");
  Rig rig({.name = "held", .graph = held()});
  begin()(rig);
  task_gate().close();
  frames(0, 1)(rig);
  task_gate().await_held();
  flush_start()(rig);
  std::atomic<bool> stopped = false;
  rig.start([&] {
    flush_stop()(rig);
    stopped = true;
    return std::vector<std::string>{};
  });
  rig.await_asleep();
  EXPECT_FALSE(stopped) << "a frame of before could leave behind the flush";
  task_gate().open();
  rig.join();
  segment(100)(rig);
  frames(100)(rig);
  eos()(rig);
  ASSERT_TRUE(rig.await("eos"));
  EXPECT_EQ(buffers_with_caps(rig.left()), seen);
}

}  // namespace
}  // namespace holoflow::test
