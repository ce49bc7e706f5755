// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers in, buffers out: counts, preroll, end of stream, repeated starts, small and hungry pools.
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "../support/sanitizers.hh"
#include "gst_support.hh"

namespace holoflow::test {
namespace {

std::string in_quotes(const std::string &graph) {
  std::string text = "\"";
  for (const char c : graph) {
    if (c == '"')
      text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string source(int buffers) {
  return "videotestsrc num-buffers=" + std::to_string(buffers) +
      " ! video/x-raw,format=GRAY8,width=32,height=24,framerate=1000/1 ! ";
}

std::string bin(const std::string &graph) {
  return "holoflowbin name=h graph=" + in_quotes(graph);
}

class EveryBufferComesOut : public ::testing::TestWithParam<int> {};

TEST_P(EveryBufferComesOut, OfOneSectionAndOfTwo) {
  for (const auto &graph : {passthrough(), queued(), queued("GRAY", "\"target_capacity\":16")}) {
    Pipeline pipeline(source(GetParam()) + bin(graph) + " ! fakesink name=f sync=true");
    BufferCounter counter(pipeline.element("f"), "sink");
    ASSERT_TRUE(pipeline.run());
    EXPECT_TRUE(pipeline.saw_eos());
    EXPECT_EQ(pipeline.errors().size(), 0u);
    EXPECT_EQ(counter.count(), static_cast<guint64>(GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, EveryBufferComesOut, ::testing::Values(1, 2, 3, 1000));

TEST(Flow, AStreamWithoutBuffersEnds) {
  // videotestsrc sends no caps then: the event is all there is.
  Pipeline pipeline(source(0) + bin(queued()) + " ! fakesink name=f sync=true");
  BufferCounter counter(pipeline.element("f"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(counter.count(), 0u);
}

TEST(Flow, AGraphThatFitsOneSizeOnlyRunsAtThatSize) {
  const std::pair<const char *, const char *> cases[] = {
      {"width=320,height=240", "reshape shape=[1,240,320]"},
      {"width=31,height=7", "reshape shape=[-1,217,1]"},
      {"width=320,height=240", "slice slices=[{},200,{}] ! reshape shape=[1,1,320]"},
      {"width=7000,height=50", "slice slices=[{},{},6999]"},
  };
  for (const auto &[size, graph] : cases) {
    SCOPED_TRACE(graph);
    Pipeline pipeline(
        std::string("videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,") + size +
        " ! holoflowbin name=h graph=\"" + graph + "\" ! fakesink");
    const BufferCounter out(pipeline.element("h"), "src");
    ASSERT_TRUE(pipeline.run());
    EXPECT_TRUE(pipeline.errors().empty());
    EXPECT_EQ(out.count(), 3u);
  }
}

TEST(Flow, PrerollsInPausedThenPlaysToTheEnd) {
  Pipeline pipeline(source(20) + bin(queued()) + " ! fakesink name=f sync=true");
  BufferCounter counter(pipeline.element("f"), "sink");
  pipeline.set_state(GST_STATE_PAUSED);
  EXPECT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
  EXPECT_EQ(counter.count(), 1u);
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(counter.count(), 20u);
}

TEST(Flow, PartialBatchesFollowThePolicy) {
  Pipeline pipeline(
      source(10) + bin(queued("GRAY", "\"output_size\":4,\"target_capacity\":8")) +
      " ! fakesink name=f");
  BufferCounter counter(pipeline.element("f"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(counter.count(), 8u) << "two windows of four; \"flush\": drop is the default";
}

TEST(Flow, AStreamFromWhichNothingCameOutSaysSo) {
  Pipeline pipeline(
      source(3) + bin(queued("GRAY", "\"output_size\":4,\"target_capacity\":8")) +
      " ! fakesink name=f");
  ASSERT_TRUE(pipeline.run());
  // It may come before the end or behind it.
  if (pipeline.messages_of(GST_MESSAGE_WARNING).empty()) {
    ASSERT_TRUE(pipeline.wait_for(GST_MESSAGE_WARNING));
  }
  const auto warnings = pipeline.messages_of(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(
      warnings[0].text.find("3 frames entered and none left; node \"q\" dropped 3 (flush)"),
      std::string::npos)
      << warnings[0].text;
}

TEST(Flow, APaddedLastInputBatchEmitsRealFramesOnly) {
  const std::string graph = R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY","batch":4}},)"
                            R"("out":{"type":"Output"}},"edges":["in->out"]})";
  Pipeline pipeline(source(10) + bin(graph) + " ! fakesink name=f");
  BufferCounter counter(pipeline.element("f"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(counter.count(), 10u);
}

TEST(Flow, FramesOfOverlappingWindowsLeaveOnce) {
  Pipeline pipeline(
      source(10) + bin(queued("GRAY", "\"output_size\":4,\"output_stride\":1")) +
      " ! fakesink name=f");
  BufferCounter counter(pipeline.element("f"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_EQ(counter.count(), 10u);
}

TEST(Flow, DownstreamsEndOfStreamEndsUpstream) {
  Pipeline pipeline(
      "videotestsrc name=s ! video/x-raw,format=GRAY8,width=32,height=24 ! " + bin(queued()) +
      " ! identity eos-after=5 ! fakesink name=f");
  BufferCounter made(pipeline.element("s"), "src");
  ASSERT_TRUE(pipeline.run()) << "an endless source ends only if it is told";
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(pipeline.errors().size(), 0u);
  EXPECT_LT(made.count(), 100u);
}

TEST(Flow, ASinkThatTakesFiveBuffersEndsThePipeline) {
  Pipeline pipeline(
      "videotestsrc ! video/x-raw,format=GRAY8,width=32,height=24 ! " + bin(queued()) +
      " ! fakesink num-buffers=5");
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(pipeline.errors().size(), 0u);
}

TEST(Flow, AnUnlinkedSourcePadStopsUpstreamAsNotLinked) {
  Pipeline pipeline(
      "videotestsrc name=s ! video/x-raw,format=GRAY8,width=32,height=24 ! " + bin(queued()));
  ASSERT_TRUE(pipeline.run());
  const auto errors = pipeline.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].source, "s") << "upstream is told by the return value, like behind a queue";
}

TEST(Flow, AnErrorDownstreamIsPostedByItsOwner) {
  Pipeline pipeline(
      "videotestsrc name=s ! video/x-raw,format=GRAY8,width=32,height=24 ! " + bin(queued()) +
      " ! identity name=i error-after=3 ! fakesink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_EQ(pipeline.errors().at(0).source, "i");
}

// EOS while frames are on their way: what entered comes out.
TEST(Flow, EndOfStreamFromOutsideLosesNothingThatEntered) {
  for (const guint64 stop_after : {1u, 7u, 40u}) {
    Pipeline pipeline(
        "videotestsrc name=s ! video/x-raw,format=GRAY8,width=32,height=24,"
        "framerate=200/1 ! " +
        bin(queued("GRAY", "\"target_capacity\":16")) + " ! fakesink name=f sync=true");
    BufferCounter entered(pipeline.element("h"), "sink");
    BufferCounter left(pipeline.element("f"), "sink");
    pipeline.set_state(GST_STATE_PLAYING);
    ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
    while (left.count() < stop_after)
      std::this_thread::yield();
    gst_element_send_event(pipeline.get(), gst_event_new_eos());
    ASSERT_TRUE(pipeline.wait_for(GST_MESSAGE_EOS));
    EXPECT_EQ(left.count(), entered.count());
    EXPECT_GE(entered.count(), stop_after);
  }
}

size_t entries(const char *folder) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++count;
  }
  return count;
}

// Threads of graphs: the scheduler names them.
size_t section_threads() {
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    std::getline(file, name);
    if (name.starts_with("hf-"))
      ++count;
  }
  return count;
}

// A sanitizer keeps freed memory for a while.
constexpr bool memory_is_measurable = !address_sanitizer && !thread_sanitizer;

size_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4;
}

TEST(Flow, FiftyStartsKeepThreadsFilesAndMemory) {
  Pipeline pipeline(source(5) + bin(queued()) + " ! fakesink sync=true");
  const auto cycle = [&] {
    ASSERT_TRUE(pipeline.run());
    ASSERT_EQ(pipeline.set_state(GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  };
  for (int i = 0; i < 10; ++i)
    cycle();
  const size_t threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
  const size_t memory = resident_kib();
  for (int i = 0; i < 50; ++i)
    cycle();
  EXPECT_EQ(pipeline.errors().size(), 0u);
  EXPECT_EQ(section_threads(), 0u);
  // GLib's pool, which runs the tasks of pads, keeps up to two idle threads for the next ones.
  EXPECT_LE(entries("/proc/self/task"), threads + 2);
  EXPECT_LE(entries("/proc/self/fd"), files);
  if (memory_is_measurable) {
    EXPECT_LE(resident_kib(), memory + 2048) << "KiB";
  }
}

TEST(Flow, AStopWhileDownstreamIsBlockedReturnsAtOnce) {
  for (const auto &graph : {passthrough(), queued()}) {
    Pipeline pipeline(
        "videotestsrc ! video/x-raw,format=GRAY8,width=32,height=24 ! " + bin(graph) +
        " ! fakesink sync=true");
    // In PAUSED the sink keeps the first buffer; everything behind it fills up.
    pipeline.set_state(GST_STATE_PAUSED);
    ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
    const gint64 begin = g_get_monotonic_time();
    pipeline.set_state(GST_STATE_NULL);
    EXPECT_LT(g_get_monotonic_time() - begin, 5 * G_USEC_PER_SEC);
  }
}

// A pool that never has more than two buffers, and never waits for long.
TEST(Flow, AnUpstreamPoolOfTwoBuffersDoesNotStarve) {
  for (const auto &graph : {passthrough(), queued("GRAY", "\"target_capacity\":16")}) {
    Harness harness(graph);
    gst_harness_set_src_caps_str(
        harness.get(), "video/x-raw,format=GRAY8,width=32,height=24,framerate=30/1");
    GstBufferPool *pool = gst_buffer_pool_new();
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, nullptr, 32 * 24, 2, 2);
    ASSERT_TRUE(gst_buffer_pool_set_config(pool, config));
    ASSERT_TRUE(gst_buffer_pool_set_active(pool, TRUE));
    for (int i = 0; i < 100; ++i) {
      GstBuffer *buffer = nullptr;
      ASSERT_EQ(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
      gst_buffer_memset(buffer, 0, static_cast<guint8>(i), 32 * 24);
      GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(i) * GST_MSECOND;
      ASSERT_EQ(gst_harness_push(harness.get(), buffer), GST_FLOW_OK);
    }
    for (int i = 0; i < 100; ++i) {
      GstBuffer *buffer = gst_harness_pull(harness.get());
      ASSERT_NE(buffer, nullptr);
      EXPECT_EQ(bytes_of(buffer), std::vector<guint8>(32 * 24, static_cast<guint8>(i)));
      gst_buffer_unref(buffer);
    }
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
  }
}

TEST(Flow, ADownstreamThatKeepsTwentyBuffersDoesNotStopTheGraph) {
  for (const auto &graph : {passthrough(), queued()}) {
    Harness harness(graph);
    gst_harness_set_src_caps_str(
        harness.get(), "video/x-raw,format=GRAY8,width=32,height=24,framerate=30/1");
    std::vector<GstBuffer *> kept;
    for (int i = 0; i < 20; ++i) {
      const auto pixels = noise(32 * 24, static_cast<guint32>(i));
      ASSERT_EQ(gst_harness_push(harness.get(), buffer_of(pixels)), GST_FLOW_OK);
      kept.push_back(gst_harness_pull(harness.get()));
      ASSERT_NE(kept.back(), nullptr);
    }
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(bytes_of(kept[static_cast<size_t>(i)]), noise(32 * 24, static_cast<guint32>(i)));
    for (GstBuffer *buffer : kept)
      gst_buffer_unref(buffer);
  }
}

TEST(Flow, ABufferThatDescribesAnotherPictureIsDroppedWithAWarning) {
  Harness harness(passthrough());
  gst_harness_set_src_caps_str(
      harness.get(), "video/x-raw,format=GRAY8,width=32,height=24,framerate=30/1");
  GstBuffer *buffer = buffer_of(noise(32 * 24));
  gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 16, 48);
  EXPECT_EQ(gst_harness_push(harness.get(), buffer), GST_FLOW_OK);
  const auto warnings = harness.messages(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(
      warnings[0].text.find("expected a buffer of GRAY8 32x24 as the caps say, got GRAY8 16x48"),
      std::string::npos)
      << warnings[0].text;
  EXPECT_EQ(harness.stat("in"), 1u);
  EXPECT_EQ(harness.stat("dropped"), 1u);
}

TEST(Flow, BuffersOutliveTheElement) {
  GstBuffer *kept = nullptr;
  const auto pixels = noise(32 * 24);
  {
    Harness harness(queued());
    gst_harness_set_src_caps_str(
        harness.get(), "video/x-raw,format=GRAY8,width=32,height=24,framerate=30/1");
    ASSERT_EQ(gst_harness_push(harness.get(), buffer_of(pixels)), GST_FLOW_OK);
    kept = gst_harness_pull(harness.get());
  }
  EXPECT_EQ(bytes_of(kept), pixels);
  gst_buffer_unref(kept);
}

TEST(Flow, StatsCountFramesAndNameTheDevice) {
  Harness harness(queued());
  gst_harness_set_src_caps_str(
      harness.get(), "video/x-raw,format=GRAY8,width=32,height=24,framerate=30/1");
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(gst_harness_push(harness.get(), buffer_of(noise(32 * 24))), GST_FLOW_OK);
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_eos()));
  GstBuffer *buffer = nullptr;
  while (gst_harness_pull_until_eos(harness.get(), &buffer) && buffer != nullptr)
    gst_buffer_unref(buffer);
  EXPECT_EQ(harness.stat("in"), 5u);
  EXPECT_EQ(harness.stat("out"), 5u);
  EXPECT_EQ(harness.stat("dropped"), 0u);
  EXPECT_EQ(harness.stat("failed"), 0u);
  EXPECT_EQ(harness.stat("in-flight"), 0u);
  GstStructure *stats = nullptr;
  g_object_get(harness->element, "stats", &stats, nullptr);
  EXPECT_STREQ(gst_structure_get_string(stats, "device"), "CPU");
  const GValue *nodes = gst_structure_get_value(stats, "nodes");
  const auto *queue = gst_structure_get_value(gst_value_get_structure(nodes), "q");
  ASSERT_NE(queue, nullptr);
  guint64 left = 0;
  EXPECT_TRUE(gst_structure_get_uint64(gst_value_get_structure(queue), "left", &left));
  EXPECT_EQ(left, 5u);
  gst_structure_free(stats);
}

}  // namespace
}  // namespace holoflow::test
