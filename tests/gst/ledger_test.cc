// SPDX-License-Identifier: LGPL-2.1-or-later
// The property stats adds up: each frame that came in is in one of its counts, at every moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>

#include "../support/watchdog.hh"
#include "stream_script.hh"
#include "test_tasks.hh"

namespace holoflow::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Counts {
  guint64 in = 0, out = 0, merged = 0, dropped = 0, skipped = 0, failed = 0, in_flight = 0;

  [[nodiscard]] guint64 sum() const {
    return out + merged + dropped + skipped + failed + in_flight;
  }
  friend bool operator==(const Counts &, const Counts &) = default;
  friend std::ostream &operator<<(std::ostream &stream, const Counts &counts) {
    return stream << counts.in << " in, " << counts.out << " out, " << counts.merged << " merged, "
                  << counts.dropped << " dropped, " << counts.skipped << " skipped, "
                  << counts.failed << " failed, " << counts.in_flight << " in flight";
  }
};

Counts counts_of(GstElement *element) {
  GstStructure *stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  Counts counts;
  EXPECT_TRUE(gst_structure_get(
      stats, "in", G_TYPE_UINT64, &counts.in, "out", G_TYPE_UINT64, &counts.out, "merged",
      G_TYPE_UINT64, &counts.merged, "dropped", G_TYPE_UINT64, &counts.dropped, "skipped",
      G_TYPE_UINT64, &counts.skipped, "failed", G_TYPE_UINT64, &counts.failed, "in-flight",
      G_TYPE_UINT64, &counts.in_flight, nullptr));
  gst_structure_free(stats);
  return counts;
}

void expect_sum(GstElement *element) {
  const Counts counts = counts_of(element);
  EXPECT_EQ(counts.in, counts.sum()) << counts;
}

/// Asks for stats on a thread of its own as long as it lives.
class Asker {
public:
  explicit Asker(GstElement *element)
      : thread_([this, element] {
          while (!done_) {
            const Counts counts = counts_of(element);
            if (counts.in != counts.sum() && wrong_++ == 0)
              ADD_FAILURE() << "the counts do not add up: " << counts;
            std::this_thread::yield();
          }
        }) {}
  ~Asker() {
    done_ = true;
    thread_.join();
  }
  Asker(const Asker &) = delete;
  Asker &operator=(const Asker &) = delete;

private:
  std::atomic<bool> done_ = false;
  int wrong_ = 0;  // the thread's
  std::thread thread_;
};

std::string chain(const std::string &middle, const std::string &first) {
  std::string edges = R"("in->)" + first + "\"";
  return R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY"}},)" + middle +
      R"("out":{"type":"Output"}},"edges":[)" + edges;
}

std::string window(const std::string &flush, int size, int stride) {
  return queued(
      "GRAY",
      "\"target_capacity\":16,\"output_size\":" + std::to_string(size) +
          ",\"output_stride\":" + std::to_string(stride) + ",\"flush\":\"" + flush + "\"");
}

std::string mean(const std::string &flush, int stride) {
  return chain(
             R"("q":{"type":"BatchQueue","params":{"target_capacity":16,"output_size":4,)"
             R"("output_stride":)" +
                 std::to_string(stride) + R"(,"flush":")" + flush +
                 R"("}},"mean":{"type":"Mean","params":{"axis":0,"keepdims":true}},)"
                 R"("u8":{"type":"Conversion","params":{"target":"U8"}},)",
             "q") +
      R"(,"q->mean","mean->u8","u8->out"]})";
}

std::string sliding(int discard_first) {
  return chain(
             R"("f":{"type":"Conversion","params":{"target":"F32"}},"avg":{"type":)"
             R"("SlidingAverage","params":{"window_size":3,"discard_first":)" +
                 std::to_string(discard_first) +
                 R"(}},"u8":{"type":"Conversion","params":{"target":"U8"}},)",
             "f") +
      R"(,"f->avg","avg->u8","u8->out"]})";
}

std::string of_one(const std::string &node) {
  return chain("\"x\":" + node + ",", "x") + R"(,"x->out"]})";
}

std::string batch_of_4() {
  return R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY","batch":4}},)"
         R"("out":{"type":"Output"}},"edges":["in->out"]})";
}

std::string one_and_two() {
  return R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY"}},"q":{"type":"BatchQueue"},)"
         R"("x":{"type":"Output"},"y":{"type":"Output"}},"edges":["in->q","q->x","in->y"]})";
}

std::string two_and_one() {
  return R"({"nodes":{"a":{"type":"Input","params":{"as":"GRAY"}},)"
         R"("b":{"type":"Input","params":{"as":"GRAY"}},"sum":{"type":"Add"},)"
         R"("x":{"type":"Output"}},"edges":["a->sum:0","b->sum:1","sum->x"]})";
}

const std::vector<Subject> &graphs_of_all_kinds() {
  static const std::vector<Subject> subjects{
      {.name = "one_section", .graph = passthrough()},
      {.name = "two_sections", .graph = queued("GRAY", "\"target_capacity\":16")},
      {.name = "batch", .graph = batch_of_4()},
      {.name = "window_drop", .graph = window("drop", 4, 4)},
      {.name = "window_pad", .graph = window("pad", 4, 4)},
      {.name = "stride", .graph = window("drop", 3, 5)},
      {.name = "overlapping_drop", .graph = window("drop", 4, 2)},
      {.name = "overlapping_pad", .graph = window("pad", 4, 2)},
      {.name = "mean_drop", .graph = mean("drop", 4)},
      {.name = "mean_pad", .graph = mean("pad", 4)},
      {.name = "mean_overlapping", .graph = mean("drop", 2)},
      {.name = "sliding_average", .graph = sliding(0)},
      {.name = "discard_first", .graph = sliding(2)},
      {.name = "rate_limiter",
       .graph = of_one(R"({"type":"RateLimiter","params":{"max_fps":100,"policy":"drop"}})")},
      {.name = "drop_newest",
       .graph = queued("GRAY", "\"target_capacity\":4,\"policy\":\"drop-newest\"")},
      {.name = "drop_oldest",
       .graph = queued("GRAY", "\"target_capacity\":4,\"policy\":\"drop-oldest\"")}};
  return subjects;
}

const Subject &subject(const std::string &name) {
  for (const auto &each : graphs_of_all_kinds())
    if (each.name == name)
      return each;
  throw std::invalid_argument(name);
}

// As gst-launch takes it within quotes.
std::string escaped(const std::string &text) {
  std::string all;
  for (const char c : text)
    all += c == '"' ? "\\\"" : std::string(1, c);
  return all;
}

Script joined(Script all, const Script &more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// A buffer that is shorter than its caps say.
Step short_buffer() {
  return [](Rig &rig) {
    (void)gst_harness_push(rig.harness(), buffer_of(noise(rig.frame_bytes - 1)));
    return "";
  };
}

const Script ends{eos(), await("eos")};

// Counts after the last step; they add up after each.
Counts counts_after(const Subject &subject, const Script &script) {
  const Watchdog watchdog(subject.name + ": the script does not end");
  Rig rig(subject);
  for (const auto &step : script) {
    EXPECT_THAT(step(rig), Not(HasSubstr("never left")));
    expect_sum(rig.element());
  }
  return counts_of(rig.element());
}

class AddsUp : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(Subjects, AddsUp, ::testing::ValuesIn(graphs_of_all_kinds()), name_of);

// Everything that moves a frame from one count to another, and nothing stays inside.
TEST_P(AddsUp, AtEveryMoment) {
  const Watchdog watchdog(GetParam().name + ": the script does not end");
  Rig rig(GetParam());
  {
    const Asker asker(rig.element());
    (void)begin()(rig);
    for (guint64 i = 1; i <= 5; ++i) {
      const guint64 ms = i * 100000;
      for (const auto &step :
           {frames(ms, 30), segment_done(), frames(ms + 1000, 3), short_buffer(),
            caps(i % 2 == 1 ? larger_caps : small_caps), frames(ms + 2000, 30), flush_start(),
            flush_stop(), segment(ms), frames(ms + 3000, 7), caps(faster_caps),
            frames(ms + 4000, 7), eos(), await("eos", i), begin()}) {
        EXPECT_THAT(step(rig), Not(HasSubstr("never left")));
        expect_sum(rig.element());
      }
    }
    (void)frames(900000, 9)(rig);
    (void)eos()(rig);
    EXPECT_TRUE(rig.await("eos", 6));
  }
  const Counts counts = counts_of(rig.element());
  EXPECT_EQ(counts.in, 5u * (30 + 3 + 1 + 30 + 7 + 7) + 9);
  EXPECT_EQ(counts.in, counts.sum()) << counts;
  EXPECT_EQ(counts.in_flight, 0u) << counts;
  EXPECT_EQ(counts.failed, 0u) << counts;
}

TEST_P(AddsUp, WhileDownstreamBlocks) {
  const Watchdog watchdog(GetParam().name + ": the script does not end");
  Rig rig(GetParam());
  const Asker asker(rig.element());
  (void)begin()(rig);
  rig.close_gate();
  rig.start([&rig] { return std::vector<std::string>{frames_until_refused(0)(rig)}; });
  EXPECT_TRUE(rig.await_blocked());
  (void)flush_start()(rig);
  (void)rig.join();
  (void)flush_stop()(rig);
  const Counts counts = counts_of(rig.element());
  EXPECT_EQ(counts.in, counts.sum()) << counts;
  EXPECT_EQ(counts.in_flight, 0u) << counts;
}

struct Case {
  std::string graph;
  guint64 frames;
  Counts counts;
};

TEST(Ledger, OfAStreamThatEnds) {
  for (const auto &[name, count, counts] :
       {Case{"one_section", 10, {.in = 10, .out = 10}},
        Case{"two_sections", 10, {.in = 10, .out = 10}}, Case{"batch", 10, {.in = 10, .out = 10}},
        Case{"window_drop", 10, {.in = 10, .out = 8, .dropped = 2}},
        Case{"window_pad", 10, {.in = 10, .out = 10}},
        Case{"stride", 10, {.in = 10, .out = 6, .skipped = 4}},
        Case{"stride", 9, {.in = 9, .out = 6, .skipped = 3}},
        Case{"stride", 7, {.in = 7, .out = 3, .dropped = 2, .skipped = 2}},
        Case{"overlapping_drop", 10, {.in = 10, .out = 10}},
        Case{"overlapping_drop", 9, {.in = 9, .out = 8, .dropped = 1}},
        Case{"overlapping_pad", 9, {.in = 9, .out = 9}},
        Case{"mean_drop", 10, {.in = 10, .out = 2, .merged = 6, .dropped = 2}},
        Case{"mean_pad", 10, {.in = 10, .out = 3, .merged = 7}},
        Case{"mean_overlapping", 9, {.in = 9, .out = 3, .merged = 5, .dropped = 1}},
        Case{"sliding_average", 10, {.in = 10, .out = 8, .merged = 2}},
        Case{"sliding_average", 2, {.in = 2, .dropped = 2}},
        Case{"discard_first", 10, {.in = 10, .out = 6, .merged = 2, .skipped = 2}}}) {
    SCOPED_TRACE(name + ", " + std::to_string(count));
    EXPECT_EQ(counts_after(subject(name), joined({begin(), frames(0, count)}, ends)), counts);
  }
}

TEST(Ledger, OfAStreamWithSegmentDoneInside) {
  for (const auto &[name, count, counts] :
       {Case{"one_section", 10, {.in = 10, .out = 10}}, Case{"batch", 10, {.in = 10, .out = 10}},
        Case{"window_drop", 12, {.in = 12, .out = 8, .dropped = 4}},
        Case{"window_pad", 12, {.in = 12, .out = 12}},
        Case{"overlapping_drop", 10, {.in = 10, .out = 8, .dropped = 2}},
        Case{"mean_drop", 12, {.in = 12, .out = 2, .merged = 6, .dropped = 4}},
        Case{"mean_pad", 12, {.in = 12, .out = 4, .merged = 8}},
        Case{"sliding_average", 10, {.in = 10, .out = 8, .merged = 2}},
        Case{"sliding_average", 4, {.in = 4, .out = 2, .merged = 2}}}) {
    SCOPED_TRACE(name + ", " + std::to_string(count));
    EXPECT_EQ(
        counts_after(
            subject(name),
            joined({begin(), frames(0, count / 2), segment_done(), frames(1000, count / 2)}, ends)),
        counts);
  }
}

TEST(Ledger, OfCapsThatChange) {
  for (const auto &[name, count, counts] :
       {Case{"two_sections", 12, {.in = 12, .out = 12}},
        Case{"window_drop", 12, {.in = 12, .out = 8, .dropped = 4}},
        Case{"window_pad", 12, {.in = 12, .out = 12}},
        Case{"mean_pad", 12, {.in = 12, .out = 4, .merged = 8}},
        Case{"sliding_average", 12, {.in = 12, .out = 8, .merged = 4}}}) {
    SCOPED_TRACE(name + ", " + std::to_string(count));
    EXPECT_EQ(
        counts_after(
            subject(name),
            joined({begin(), frames(0, 6), caps(larger_caps), frames(1000, 6)}, ends)),
        counts);
  }
}

TEST(Ledger, OfAnotherRateIsThatOfOneStream) {
  EXPECT_EQ(
      counts_after(
          subject("window_drop"),
          joined({begin(), frames(0, 6), caps(faster_caps), frames(1000, 6)}, ends)),
      (Counts{.in = 12, .out = 12}));
}

TEST(Ledger, CountsWhatAFlushThrewAwayAsDropped) {
  EXPECT_EQ(
      counts_after(
          subject("window_drop"),
          joined(
              {begin(), frames(0, 6), await("buffer 30"), flush_start(), flush_stop(),
               segment(1000), frames(1000, 4)},
              ends)),
      (Counts{.in = 10, .out = 8, .dropped = 2}));
}

TEST(Ledger, CountsFramesThatWaitAsInFlight) {
  EXPECT_EQ(
      counts_after(
          subject("window_drop"), {begin(), frames(0, 6), await("buffer 30"), tag(), await("tag")}),
      (Counts{.in = 6, .out = 4, .in_flight = 2}));
}

TEST(Ledger, CountsBuffersThatDoNotFitAsDropped) {
  EXPECT_EQ(
      counts_after(
          subject("mean_pad"),
          joined({begin(), short_buffer(), frames(0, 2), short_buffer(), frames(20, 2)}, ends)),
      (Counts{.in = 6, .out = 1, .merged = 3, .dropped = 2}));
}

TEST(Ledger, CountsWhatARateLimiterLeftOut) {
  const Counts counts =
      counts_after(subject("rate_limiter"), joined({begin(), frames(0, 100)}, ends));
  EXPECT_EQ(counts.in, 100u);
  EXPECT_EQ(counts.in_flight, 0u);
  EXPECT_EQ(counts.out + counts.dropped, 100u) << counts;
}

TEST(Ledger, AddsUpWhereATaskFails) {
  const Watchdog watchdog("a failed run does not end");
  Rig rig({.name = "failing", .graph = of_one(R"({"type":"FailAt99"})")});
  const Asker asker(rig.element());
  (void)begin()(rig);
  guint64 pushed = 0;
  const auto push = [&](guint8 first) {
    ++pushed;
    return gst_harness_push(rig.harness(), buffer_of(std::vector<guint8>(rig.frame_bytes, first)));
  };
  for (guint8 i = 0; i < 5; ++i)
    EXPECT_EQ(push(i), GST_FLOW_OK);
  (void)push(99);
  EXPECT_TRUE(rig.await("eos"));
  const Counts counts = counts_of(rig.element());
  EXPECT_EQ(counts.in, pushed);
  EXPECT_EQ(counts.in, counts.sum()) << counts;
  EXPECT_EQ(counts.out, 5u) << counts;
  EXPECT_EQ(counts.in_flight, 0u) << counts;
}

// Pipelines, because a rig has one pad of each direction.
Counts counts_of_pipeline(const std::string &graph, const std::string &links) {
  const Watchdog watchdog("a pipeline does not end");
  Pipeline pipeline("holoflowbin name=h graph=\"" + escaped(graph) + "\" " + links);
  GstElement *element = pipeline.element("h");
  const Asker asker(element);
  EXPECT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
  return counts_of(element);
}

const std::string source =
    "videotestsrc num-buffers=50 ! video/x-raw,format=GRAY8,width=16,height=8 ! ";

TEST(Ledger, CountsAFrameOnceWhereTwoOutputsShowIt) {
  EXPECT_EQ(
      counts_of_pipeline(one_and_two(), source + "h. h.src_x ! fakesink h.src_y ! fakesink"),
      (Counts{.in = 50, .out = 50}));
}

TEST(Ledger, CountsFramesAsMergedThatLeaveUnderThoseOfAnotherInput) {
  EXPECT_EQ(
      counts_of_pipeline(two_and_one(), source + "h.sink_a " + source + "h.sink_b h. ! fakesink"),
      (Counts{.in = 100, .out = 50, .merged = 50}));
}

}  // namespace
}  // namespace holoflow::test
