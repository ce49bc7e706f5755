// SPDX-License-Identifier: LGPL-2.1-or-later
// Ends of streams and what comes behind them.
#include <gtest/gtest.h>

#include "stream_script.hh"

namespace holoflow::test {
namespace {

class EndOfStream : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(Subjects, EndOfStream, ::testing::ValuesIn(all_subjects()), name_of);

TEST_P(EndOfStream, FollowsTheLastBuffer) {
  expect_like_identity(GetParam(), {begin(), frames(0), eos(), await("eos")});
}

TEST_P(EndOfStream, ComesOutWithoutBuffers) {
  expect_like_identity(GetParam(), {begin(), eos(), await("eos")});
}

TEST_P(EndOfStream, ComesOutWithoutCaps) {
  expect_like_identity(GetParam(), {stream_start(), eos(), await("eos")});
  expect_like_identity(GetParam(), {stream_start(), segment(), eos(), await("eos")});
}

TEST_P(EndOfStream, AnotherStreamWithoutAnEndLosesNothing) {
  expect_like_identity(
      GetParam(), {begin("a"), frames(0), begin("b"), frames(1000), eos(), await("eos")});
}

TEST_P(EndOfStream, AFlushBehindItLetsTheStreamGoOn) {
  expect_like_identity(
      GetParam(),
      {begin(), frames(0), eos(), await("eos"), flush_start(), flush_stop(), segment(1000),
       frames(1000), eos(), await("eos", 2)});
}

// What the flush overtakes may be lost; what comes behind it may not.
TEST_P(EndOfStream, AFlushThatOvertakesItLetsTheStreamGoOn) {
  expect_like_identity(
      GetParam(),
      {begin(), frames(0), eos(), flush_start(), flush_stop(), segment(1000), frames(1000),
       await("buffer 1030"), eos(), await_end()},
      Part::AfterTheLastFlush);
}

TEST_P(EndOfStream, TenRestartsBySeekPlayTenTimes) {
  Script script{begin(), frames(0), eos(), await("eos")};
  for (guint64 i = 1; i <= 10; ++i)
    for (const auto &step :
         {flush_start(), flush_stop(), segment(i * 1000), frames(i * 1000), eos(),
          await("eos", i + 1)})
      script.push_back(step);
  expect_like_identity(GetParam(), script);
}

TEST_P(EndOfStream, SegmentDonePassesInOrderAndTheStreamGoesOn) {
  expect_like_identity(
      GetParam(),
      {begin(), frames(0), segment_done(), segment(1000), frames(1000), segment_done(),
       custom("behind"), eos(), await("eos")});
}

// The next stream comes while the last one is on its way out. queue is no yardstick here: in 1.22
// the EOS that it has just sent may end the stream that has begun behind it.
class EndOfStreamAtOnce : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(
    Subjects, EndOfStreamAtOnce, ::testing::ValuesIn(identity_and_graphs()), name_of);

TEST_P(EndOfStreamAtOnce, AnotherStreamLosesNothingAndKeepsTheOrder) {
  expect_like_identity(
      GetParam(), {begin("a"), frames(0), eos(), begin("b"), frames(1000), eos(), await("eos", 2)});
}

TEST_P(EndOfStreamAtOnce, SixteenStreamsOfAHundredFramesLoseNothing) {
  Script script;
  constexpr guint64 streams = 16;
  for (guint64 i = 0; i < streams; ++i)
    for (const auto &step : {begin(std::to_string(i)), frames(i * 1000, 100), eos()})
      script.push_back(step);
  script.push_back(await("eos", streams));
  expect_like_identity(GetParam(), script);
}

TEST_P(EndOfStreamAtOnce, StreamsOfOtherCapsLoseNothing) {
  expect_like_identity(
      GetParam(),
      {begin("a"), frames(0), eos(), begin("b", larger_caps), frames(1000), eos(),
       begin("c", faster_caps), frames(2000), eos(), await("eos", 3)});
}

TEST_P(EndOfStreamAtOnce, AnEmptyStreamHasItsOwnEnd) {
  expect_like_identity(
      GetParam(),
      {begin("a"), frames(0), eos(), begin("b"), eos(), begin("c"), frames(2000), eos(),
       await("eos", 3)});
}

TEST_P(EndOfStreamAtOnce, ASecondOneIsRefused) {
  expect_like_identity(
      GetParam(),
      {begin("a"), frames(0), eos(), eos(), begin("b"), frames(1000), eos(), await("eos", 2)});
}

TEST_P(EndOfStreamAtOnce, ASecondOneBehindItIsRefused) {
  expect_like_identity(
      GetParam(),
      {begin("a"), frames(0), eos(), eos(), await("eos"), begin("b"), frames(1000), eos(),
       await("eos", 2)});
}

TEST_P(EndOfStreamAtOnce, RefusesDataUntilAnotherStream) {
  expect_like_identity(
      GetParam(),
      {begin("a"), frames(0), eos(), await("eos"), frames(40), custom("late"), segment(80),
       frames(80), begin("b"), frames(1000), eos(), await("eos", 2)});
}

TEST_P(EndOfStreamAtOnce, AFlushStopAloneBehindItLetsTheStreamGoOn) {
  expect_like_identity(
      GetParam(),
      {begin(), frames(0), eos(), await("eos"), flush_stop(), segment(1000), frames(1000), eos(),
       await("eos", 2)});
}

// A flush behind the second stream, whose first frames have left: nothing of the first one comes.
TEST_P(EndOfStreamAtOnce, AFlushOfTheNextStreamLetsItGoOn) {
  expect_like_identity(
      GetParam(),
      {begin("a"), frames(0), eos(), begin("b"), frames(1000), await("buffer 1030"), flush_start(),
       flush_stop(), segment(2000), frames(2000), eos(), await("eos", 2)});
}

}  // namespace
}  // namespace holoflow::test
