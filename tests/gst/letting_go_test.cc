// SPDX-License-Identifier: LGPL-2.1-or-later
// What delays frames lets go of what must not wait for a frame that may never come.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../support/watchdog.hh"
#include "stream_script.hh"

namespace holoflow::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

using Items = std::vector<std::string>;

std::string window(const std::string &flush, int size = 4, int stride = 4) {
  return queued(
      "GRAY",
      "\"target_capacity\":16,\"output_size\":" + std::to_string(size) +
          ",\"output_stride\":" + std::to_string(stride) + ",\"flush\":\"" + flush + "\"");
}

std::string sliding_of_3() {
  return R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY"}},)"
         R"("f":{"type":"Conversion","params":{"target":"F32"}},)"
         R"("avg":{"type":"SlidingAverage","params":{"window_size":3}},)"
         R"("u8":{"type":"Conversion","params":{"target":"U8"}},"out":{"type":"Output"}},)"
         R"("edges":["in->f","f->avg","avg->u8","u8->out"]})";
}

// The mean of each window of four; windows share two frames.
std::string mean_of_overlapping(const std::string &flush) {
  return R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY"}},"q":{"type":"BatchQueue",)"
         R"("params":{"target_capacity":16,"output_size":4,"output_stride":2,"flush":")" +
      flush +
      R"("}},"f":{"type":"Conversion","params":{"target":"F32"}},)"
      R"("mean":{"type":"Mean","params":{"axis":0,"keepdims":true}},)"
      R"("u8":{"type":"Conversion","params":{"target":"U8"}},"out":{"type":"Output"}},)"
      R"("edges":["in->q","q->f","f->mean","mean->u8","u8->out"]})";
}

std::string batch_of_4() {
  return R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY","batch":4}},)"
         R"("out":{"type":"Output"}},"edges":["in->out"]})";
}

const Subject dropping{.name = "window_drop", .graph = window("drop")};
const Subject padding{.name = "window_pad", .graph = window("pad")};
const Subject batch{.name = "batch", .graph = batch_of_4()};
const Subject sliding{.name = "sliding_average", .graph = sliding_of_3()};
// Two frames between the windows are skipped.
const Subject striding{.name = "window_stride", .graph = window("drop", 3, 5)};

// Frames that leave when a window of them ends: those of a dropping one are given up.
struct Delaying {
  Subject subject;
  bool shows_the_rest;
};
std::ostream &operator<<(std::ostream &stream, const Delaying &delaying) {
  return stream << delaying.subject;
}

Step drain() {
  return [](Rig &rig) {
    GstQuery *query = gst_query_new_drain();
    const bool answer = gst_pad_peer_query(rig.harness()->srcpad, query) != FALSE;
    gst_query_unref(query);
    return std::string("drain: ") + (answer ? "true" : "false");
  };
}

// Of the same stream: 10 ms each.
Step gaps(guint64 first_ms, guint64 count) {
  return [first_ms, count](Rig &rig) {
    for (guint64 i = 0; i < count; ++i)
      (void)gap(first_ms + 10 * i)(rig);
    return "";
  };
}

Items buffers(guint64 first_ms, guint64 count) {
  Items items;
  for (guint64 i = 0; i < count; ++i)
    items.push_back("buffer " + std::to_string(first_ms + 10 * i));
  return items;
}

Items joined(std::initializer_list<Items> parts) {
  Items all;
  for (const auto &part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Of an account in which nothing was awaited in vain.
Items behind_segment(const Account &account) {
  for (const auto &result : account.returned)
    EXPECT_THAT(result, Not(HasSubstr("never left")));
  const auto found = std::find(account.left.begin(), account.left.end(), "segment 0");
  return found == account.left.end() ? account.left : Items(found + 1, account.left.end());
}

Script from(std::initializer_list<Step> steps, const std::string &text = small_caps) {
  Script script{begin("a", text)};
  script.insert(script.end(), steps);
  return script;
}

// Frames that say what they show: all pixels of one value.
void push_value(Rig &rig, guint64 ms, guint8 value) {
  GstBuffer *buffer = buffer_of(std::vector<guint8>(rig.frame_bytes, value));
  GST_BUFFER_PTS(buffer) = ms * GST_MSECOND;
  GST_BUFFER_DURATION(buffer) = 10 * GST_MSECOND;
  EXPECT_EQ(gst_harness_push(rig.harness(), buffer), GST_FLOW_OK);
}

void push_values(Rig &rig, guint64 first_ms, std::initializer_list<guint8> values) {
  for (const guint8 value : values) {
    push_value(rig, first_ms, value);
    first_ms += 10;
  }
}

// "110: 60", of the next `count` buffers.
Items pull(Rig &rig, size_t count) {
  Items items;
  for (size_t i = 0; i < count; ++i) {
    GstBuffer *buffer = gst_harness_pull(rig.harness());
    if (buffer == nullptr)
      return items;
    items.push_back(
        std::to_string(GST_BUFFER_PTS(buffer) / GST_MSECOND) + ": " +
        std::to_string(bytes_of(buffer).front()));
    gst_buffer_unref(buffer);
  }
  return items;
}

class NothingDelays : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(
    Subjects, NothingDelays,
    ::testing::ValuesIn(with_queue(
        {{.name = "one_section", .graph = passthrough()},
         {.name = "two_sections", .graph = queued("GRAY", "\"target_capacity\":16")}})),
    name_of);

// Each waits for what it has sent, so that nothing may wait for what comes behind.
TEST_P(NothingDelays, NothingWaits) {
  expect_like_identity(
      GetParam(),
      {begin(),
       gap(0),
       await("gap 0"),
       frames(10, 1),
       await("buffer 10"),
       gap(20),
       await("gap 20"),
       tag(),
       await("tag"),
       frames(30, 2),
       custom("own"),
       await("own"),
       caps(faster_caps),
       await("caps 8x4 60/1"),
       frames(50, 1),
       segment_done(),
       await("segment-done"),
       frames(60, 1),
       await("buffer 60"),
       eos(),
       await("eos")});
}

TEST_P(NothingDelays, ADrainAnswersAsDownstreamDoes) {
  expect_like_identity(GetParam(), from({drain(), frames(0, 20), drain(), eos(), await("eos")}));
}

TEST(Drain, AnswersOnceEverythingHasLeft) {
  for (const Subject &subject :
       {Subject{.name = "one_section", .graph = passthrough()},
        Subject{.name = "two_sections", .graph = queued("GRAY", "\"target_capacity\":16")}, batch,
        padding}) {
    SCOPED_TRACE(subject);
    const Watchdog watchdog("a DRAIN query hangs");
    Rig rig(subject);
    begin()(rig);
    for (guint64 round = 0; round < 10; ++round) {
      frames(round * 1000, 18)(rig);
      (void)drain()(rig);
      const auto left = rig.left();
      EXPECT_EQ(left.back(), "buffer " + std::to_string(round * 1000 + 170));
      EXPECT_EQ(buffers_with_caps(left).size(), 18 * (round + 1));
    }
  }
}

class WhatDelays : public ::testing::TestWithParam<Delaying> {};
INSTANTIATE_TEST_SUITE_P(
    Subjects, WhatDelays,
    ::testing::Values(Delaying{dropping, false}, Delaying{padding, true}, Delaying{batch, true}),
    [](const auto &info) { return info.param.subject.name; });

Items rest(const Delaying &delaying, guint64 first_ms, guint64 count) {
  return delaying.shows_the_rest ? buffers(first_ms, count) : Items{};
}

// Behind frames that were given up the first one is marked.
Items behind_the_rest(const Delaying &delaying, guint64 first_ms, guint64 count) {
  Items items = buffers(first_ms, count);
  if (!delaying.shows_the_rest)
    items.front() += " discont";
  return items;
}

TEST_P(WhatDelays, SegmentDoneEndsTheWindow) {
  const Account account = play(
      GetParam().subject,
      from(
          {frames(0, 6), segment_done(), await("segment-done"), frames(100, 4),
           await("buffer 130")}));
  EXPECT_THAT(
      behind_segment(account),
      ElementsAreArray(joined(
          {buffers(0, 4),
           rest(GetParam(), 40, 2),
           {"segment-done"},
           behind_the_rest(GetParam(), 100, 4)})));
}

TEST_P(WhatDelays, ADrainEndsTheWindow) {
  const Account account =
      play(GetParam().subject, from({frames(0, 6), drain(), frames(100, 4), await("buffer 130")}));
  EXPECT_THAT(
      behind_segment(account),
      ElementsAreArray(
          joined({buffers(0, 4), rest(GetParam(), 40, 2), behind_the_rest(GetParam(), 100, 4)})));
}

TEST_P(WhatDelays, ATagPassesAndTheWindowGoesOn) {
  const Account account = play(
      GetParam().subject,
      from({frames(0, 6), tag(), await("tag"), frames(60, 2), await("buffer 70")}));
  EXPECT_THAT(
      behind_segment(account), ElementsAreArray(joined({buffers(0, 4), {"tag"}, buffers(40, 4)})));
}

TEST_P(WhatDelays, AnotherRatePassesAndTheWindowGoesOn) {
  const Account account = play(
      GetParam().subject,
      from(
          {frames(0, 6), caps(faster_caps), await("caps 8x4 60/1"), frames(60, 2),
           await("buffer 70")}));
  EXPECT_THAT(
      behind_segment(account),
      ElementsAreArray(joined({buffers(0, 4), {"caps 8x4 60/1"}, buffers(40, 4)})));
}

TEST_P(WhatDelays, AGapBehindAWholeWindowPassesAtOnce) {
  const Account account = play(
      GetParam().subject,
      from({frames(0, 4), gap(40), await("gap 40"), frames(50, 4), await("buffer 80")}));
  EXPECT_THAT(
      behind_segment(account),
      ElementsAreArray(joined({buffers(0, 4), {"gap 40"}, buffers(50, 4)})));
}

TEST_P(WhatDelays, AShortGapWaitsInItsPlace) {
  const Account account =
      play(GetParam().subject, from({frames(0, 2), gap(20), frames(30, 2), await("buffer 40")}));
  EXPECT_THAT(
      behind_segment(account),
      ElementsAreArray(joined({buffers(0, 2), {"gap 20"}, buffers(30, 2)})));
}

// The window spans 133 ms.
TEST_P(WhatDelays, GapsThatAddUpToMoreThanTheWindowEndIt) {
  const Account account = play(
      GetParam().subject,
      from({frames(0, 2), gaps(20, 14), await("gap 150"), frames(200, 4), await("buffer 230")}));
  Items expected = rest(GetParam(), 0, 2);
  for (guint64 ms = 20; ms <= 150; ms += 10)
    expected.push_back("gap " + std::to_string(ms));
  EXPECT_THAT(
      behind_segment(account),
      ElementsAreArray(joined({expected, behind_the_rest(GetParam(), 200, 4)})));
}

TEST_P(WhatDelays, GapsAddUpOverFramesOfTheSameWindow) {
  const Account account = play(
      GetParam().subject,
      from(
          {frames(0, 1), gaps(10, 7), frames(80, 1), gaps(90, 7), await("gap 150"), frames(200, 4),
           await("buffer 230")}));
  Items expected = rest(GetParam(), 0, 1);
  for (guint64 ms = 10; ms <= 150; ms += 10)
    if (ms != 80)
      expected.push_back("gap " + std::to_string(ms));
    else if (GetParam().shows_the_rest)
      expected.push_back("buffer 80");
  EXPECT_THAT(
      behind_segment(account),
      ElementsAreArray(joined({expected, behind_the_rest(GetParam(), 200, 4)})));
}

TEST_P(WhatDelays, GapsOfTheWindowBeforeDoNotCount) {
  const Account account = play(
      GetParam().subject,
      from(
          {frames(0, 1), gaps(10, 13), frames(140, 3), frames(170, 1), gaps(180, 13),
           frames(310, 3), await("buffer 330")}));
  EXPECT_EQ(buffers_with_caps(account.left).size(), 8u);
}

TEST_P(WhatDelays, WithoutARateTheFirstGapEndsTheWindow) {
  for (const char *text :
       {"video/x-raw,format=GRAY8,width=8,height=4,framerate=0/1",
        "video/x-raw,format=GRAY8,width=8,height=4"}) {
    SCOPED_TRACE(text);
    const Account account = play(
        GetParam().subject,
        from({frames(0, 2), gap(20), await("gap 20"), frames(30, 4), await("buffer 60")}, text));
    EXPECT_THAT(
        behind_segment(account),
        ElementsAreArray(
            joined({rest(GetParam(), 0, 2), {"gap 20"}, behind_the_rest(GetParam(), 30, 4)})));
  }
}

// Each ends what can be ended; they come behind frames at 0, 10, … 40 ms.
const std::vector<std::pair<std::string, Script>> endings{
    {"DRAIN", {drain()}},
    {"SEGMENT_DONE", {segment_done(), await("segment-done")}},
    {"gaps", {gaps(50, 20), await("gap 240")}}};

void run(Rig &rig, const Script &script) {
  for (const auto &step : script)
    EXPECT_THAT(step(rig), Not(HasSubstr("never left")));
}

TEST(Kept, ByASlidingAverageAreTheFramesBefore) {
  for (const auto &[name, ending] : endings) {
    SCOPED_TRACE(name);
    const Watchdog watchdog("an ending hangs");
    Rig rig(sliding);
    begin()(rig);
    push_values(rig, 0, {30, 60, 90});
    run(rig, ending);
    push_values(rig, 300, {120, 150});
    EXPECT_THAT(pull(rig, 3), ElementsAre("20: 60", "300: 90", "310: 120"));
  }
}

// A sparse stream: what mixes it with others sees time go on.
TEST_P(WhatDelays, AStreamOfGapsGoesOn) {
  const Watchdog watchdog("a gap waits for a frame");
  Rig rig(GetParam().subject);
  begin()(rig);
  for (guint64 second = 0; second < 20; ++second) {
    frames(second * 1000, 1)(rig);
    gaps(second * 1000 + 10, 99)(rig);
    ASSERT_TRUE(rig.await("gap " + std::to_string(second * 1000 + 990)));
  }
  EXPECT_EQ(buffers_with_caps(rig.left()).size(), GetParam().shows_the_rest ? 20u : 0u);
}

// Behind frames of `round`.
Script ends(guint64 round) {
  const guint64 ms = round * 10000 + 50;
  switch (round % 3) {
  case 0:
    return {drain()};
  case 1:
    return {segment_done(), await("segment-done", round / 3 + 1)};
  default:
    return {gaps(ms, 20), await("gap " + std::to_string(ms + 190))};
  }
}

TEST(LettingGo, GoesOnHoweverManyWindowsWereEnded) {
  for (const Subject &subject : {dropping, padding, batch, sliding, striding}) {
    SCOPED_TRACE(subject);
    const Watchdog watchdog("an ending hangs");
    Rig rig(subject);
    begin()(rig);
    for (guint64 round = 1; round <= 30; ++round) {
      frames(round * 10000, 1 + round % 3)(rig);
      run(rig, ends(round));
    }
    frames(1000000, 5)(rig);
    EXPECT_TRUE(rig.await("buffer 1000020"));
    eos()(rig);
    EXPECT_TRUE(rig.await("eos"));
  }
}

TEST(LettingGo, DoesNotWaitForFramesBetweenWindows) {
  const Watchdog watchdog("an event waits for a frame that no window shows");
  const Account account = play(
      striding,
      from(
          {frames(0, 4), gap(40), await("gap 40"), tag(), await("tag"), frames(50, 4),
           await("buffer 80")}));
  EXPECT_THAT(
      behind_segment(account),
      ElementsAreArray(
          joined({buffers(0, 3), {"gap 40", "tag"}, {"buffer 60", "buffer 70", "buffer 80"}})));
}

// They have not been in any average, and still are in the first one.
TEST(Kept, ByASlidingAverageAreFramesBeforeTheFirstAverage) {
  for (const auto &[name, ending] : endings) {
    SCOPED_TRACE(name);
    const Watchdog watchdog("an ending hangs");
    Rig rig(sliding);
    begin()(rig);
    push_values(rig, 0, {30, 60});
    run(rig, ending);
    push_values(rig, 300, {90, 120});
    EXPECT_THAT(pull(rig, 2), ElementsAre("300: 60", "310: 90"));
  }
}

TEST(Kept, ByOverlappingWindowsAreFramesThatWereShown) {
  for (const auto &[name, ending] : endings) {
    SCOPED_TRACE(name);
    const Watchdog watchdog("an ending hangs");
    Rig rig({.name = "overlapping", .graph = mean_of_overlapping("drop")});
    begin()(rig);
    push_values(rig, 0, {10, 20, 30, 40, 200});
    run(rig, ending);
    push_values(rig, 300, {60, 70});
    EXPECT_THAT(pull(rig, 2), ElementsAre("30: 25", "310: 50"));
  }
}

TEST(Kept, ByOverlappingWindowsAreFramesThatWereShownWhereNoneWaits) {
  const Watchdog watchdog("an ending hangs");
  Rig rig({.name = "overlapping", .graph = mean_of_overlapping("pad")});
  begin()(rig);
  push_values(rig, 0, {10, 20, 30, 40});
  EXPECT_EQ(drain()(rig), drain()(rig));
  push_values(rig, 300, {60, 70});
  EXPECT_THAT(pull(rig, 2), ElementsAre("30: 25", "310: 50"));
}

}  // namespace
}  // namespace holoflow::test
