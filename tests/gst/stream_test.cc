// SPDX-License-Identifier: LGPL-2.1-or-later
// What travels beside the pixels: order of events, timestamps, metas, caps changes, flushes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gst_support.hh"

namespace holoflow::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char small[] = "video/x-raw,format=GRAY8,width=8,height=4,framerate=30/1";

// Writes down what leaves a pad, in order: "caps", "segment", "buffer 0", …
class Recorder {
public:
  explicit Recorder(GstElement *element) : pad_(gst_element_get_static_pad(element, "src")) {
    gst_pad_add_probe(
        pad_,
        static_cast<GstPadProbeType>(
            GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
            GST_PAD_PROBE_TYPE_EVENT_FLUSH),
        probe, this, nullptr);
  }
  ~Recorder() { gst_object_unref(pad_); }

  [[nodiscard]] std::vector<std::string> items() const {
    std::lock_guard lock(mutex_);
    return items_;
  }
  [[nodiscard]] std::vector<guint32> seqnums_of(const std::string &name) const {
    std::lock_guard lock(mutex_);
    std::vector<guint32> found;
    for (size_t i = 0; i < items_.size(); ++i)
      if (items_[i] == name)
        found.push_back(seqnums_[i]);
    return found;
  }

private:
  static GstPadProbeReturn probe(GstPad *, GstPadProbeInfo *info, gpointer data) {
    auto *self = static_cast<Recorder *>(data);
    std::lock_guard lock(self->mutex_);
    if (GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
        (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) != 0) {
      self->items_.push_back("buffer " + std::to_string(GST_BUFFER_PTS(buffer) / GST_MSECOND));
      self->seqnums_.push_back(0);
      return GST_PAD_PROBE_OK;
    }
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    std::string name = GST_EVENT_TYPE_NAME(event);
    if (const GstStructure *structure = gst_event_get_structure(event);
        structure != nullptr && name == "custom-downstream")
      name = gst_structure_get_name(structure);
    self->items_.push_back(name);
    self->seqnums_.push_back(gst_event_get_seqnum(event));
    return GST_PAD_PROBE_OK;
  }

  GstPad *pad_;
  mutable std::mutex mutex_;
  std::vector<std::string> items_;
  std::vector<guint32> seqnums_;
};

GstBuffer *frame_at(guint64 milliseconds, size_t bytes = 32) {
  GstBuffer *buffer = buffer_of(noise(bytes, static_cast<guint32>(milliseconds)));
  GST_BUFFER_PTS(buffer) = milliseconds * GST_MSECOND;
  GST_BUFFER_DURATION(buffer) = 10 * GST_MSECOND;
  return buffer;
}

GstEvent *custom(const char *name) {
  return gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty(name));
}

GstEvent *tag() {
  return gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "a title", nullptr));
}

void begin(Harness &harness, const char *caps_text = small) {
  gst_harness_push_event(harness.get(), gst_event_new_stream_start("upstream's own id"));
  GstCaps *caps = gst_caps_from_string(caps_text);
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_caps(caps)));
  gst_caps_unref(caps);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_segment(&segment)));
}

void finish(Harness &harness) {
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_eos()));
  GstBuffer *buffer = nullptr;
  while (gst_harness_pull_until_eos(harness.get(), &buffer) && buffer != nullptr)
    gst_buffer_unref(buffer);
}

TEST(Stream, EventsLeaveInTheOrderInWhichTheyCame) {
  for (const auto &graph : {passthrough(), queued("GRAY", "\"target_capacity\":16")}) {
    Harness harness(graph);
    Recorder recorder(harness->element);
    begin(harness);
    gst_harness_push_event(harness.get(), tag());
    gst_harness_push(harness.get(), frame_at(0));
    gst_harness_push(harness.get(), frame_at(10));
    gst_harness_push_event(harness.get(), custom("between"));
    gst_harness_push(harness.get(), frame_at(20));
    gst_harness_push_event(harness.get(), gst_event_new_gap(30 * GST_MSECOND, 10 * GST_MSECOND));
    gst_harness_push_event(harness.get(), custom("last"));
    finish(harness);
    EXPECT_THAT(
        recorder.items(),
        ElementsAre(
            "stream-start", "caps", "segment", "tag", "buffer 0", "buffer 10", "between",
            "buffer 20", "gap", "last", "eos"));
  }
}

TEST(Stream, EventsBeforeTheCapsWaitForThem) {
  Harness harness(passthrough());
  Recorder recorder(harness->element);
  gst_harness_push_event(harness.get(), gst_event_new_stream_start("id"));
  gst_harness_push_event(harness.get(), custom("early"));
  GstCaps *caps = gst_caps_from_string(small);
  gst_harness_push_event(harness.get(), gst_event_new_caps(caps));
  gst_caps_unref(caps);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
  gst_harness_push(harness.get(), frame_at(0));
  finish(harness);
  EXPECT_THAT(
      recorder.items(), ElementsAre("stream-start", "caps", "early", "segment", "buffer 0", "eos"));
}

TEST(Stream, EndOfStreamComesOutWithoutBuffersAndWithoutCaps) {
  for (const bool with_caps : {true, false}) {
    Harness harness(queued());
    Recorder recorder(harness->element);
    if (with_caps)
      begin(harness);
    else
      gst_harness_push_event(harness.get(), gst_event_new_stream_start("id"));
    finish(harness);
    EXPECT_EQ(recorder.items().front(), "stream-start");
    EXPECT_EQ(recorder.items().back(), "eos");
    EXPECT_EQ(recorder.items().size(), with_caps ? 4u : 2u);
  }
}

TEST(Stream, SequenceNumbersAndTheStreamIdStay) {
  Harness harness(queued());
  Recorder recorder(harness->element);
  begin(harness);
  GstEvent *segment = gst_pad_get_sticky_event(harness->srcpad, GST_EVENT_SEGMENT, 0);
  gst_harness_push(harness.get(), frame_at(0));
  GstEvent *eos = gst_event_new_eos();
  const guint32 eos_number = gst_event_get_seqnum(eos);
  gst_harness_push_event(harness.get(), eos);
  GstBuffer *buffer = nullptr;
  while (gst_harness_pull_until_eos(harness.get(), &buffer) && buffer != nullptr)
    gst_buffer_unref(buffer);
  EXPECT_THAT(recorder.seqnums_of("eos"), ElementsAre(eos_number));
  EXPECT_THAT(recorder.seqnums_of("segment"), ElementsAre(gst_event_get_seqnum(segment)));
  gst_event_unref(segment);
  gchar *id = gst_pad_get_stream_id(harness->sinkpad);
  EXPECT_STREQ(id, "upstream's own id");
  g_free(id);
}

TEST(Stream, TimestampsFlagsAndOffsetsPassUnchanged) {
  for (const auto &graph : {passthrough(), queued()}) {
    Harness harness(graph);
    begin(harness);
    for (guint64 i = 0; i < 20; ++i) {
      GstBuffer *buffer = frame_at(i * 40);
      // Gaps in time, missing times and marks: nothing is made up.
      if (i % 3 == 1)
        GST_BUFFER_PTS(buffer) += 7;
      if (i % 5 == 2)
        GST_BUFFER_PTS(buffer) = GST_BUFFER_DURATION(buffer) = GST_CLOCK_TIME_NONE;
      GST_BUFFER_DTS(buffer) = i % 2 == 0 ? i * 1000 : GST_CLOCK_TIME_NONE;
      GST_BUFFER_OFFSET(buffer) = 100 + i;
      if (i == 4)
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
      if (i == 5)
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
      if (i == 6)
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_CORRUPTED);
      if (i == 7)
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DROPPABLE);
      GstBuffer *sent = gst_buffer_ref(buffer);
      ASSERT_EQ(gst_harness_push(harness.get(), buffer), GST_FLOW_OK);
      GstBuffer *came = gst_harness_pull(harness.get());
      ASSERT_NE(came, nullptr);
      EXPECT_EQ(GST_BUFFER_PTS(came), GST_BUFFER_PTS(sent));
      EXPECT_EQ(GST_BUFFER_DTS(came), GST_BUFFER_DTS(sent));
      EXPECT_EQ(GST_BUFFER_DURATION(came), GST_BUFFER_DURATION(sent));
      EXPECT_EQ(GST_BUFFER_OFFSET(came), GST_BUFFER_OFFSET(sent));
      const auto marks = GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_CORRUPTED |
          GST_BUFFER_FLAG_DROPPABLE;
      EXPECT_EQ(GST_BUFFER_FLAGS(came) & marks, GST_BUFFER_FLAGS(sent) & marks) << i;
      EXPECT_EQ(bytes_of(came), bytes_of(sent));
      gst_buffer_unref(sent);
      gst_buffer_unref(came);
    }
  }
}

TEST(Stream, MetasThatAreNotBoundToMemoryTravelAlong) {
  Harness harness(queued());
  begin(harness);
  GstBuffer *buffer = frame_at(0);
  GstCaps *reference = gst_caps_new_empty_simple("timestamp/x-test");
  gst_buffer_add_reference_timestamp_meta(buffer, reference, 42, GST_CLOCK_TIME_NONE);
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 1, 1, 2, 2);
  gsize offset[4] = {0};
  gint stride[4] = {8};
  gst_buffer_add_video_meta_full(
      buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 8, 4, 1, offset, stride);
  ASSERT_EQ(gst_harness_push(harness.get(), buffer), GST_FLOW_OK);
  GstBuffer *came = gst_harness_pull(harness.get());
  const auto *time = gst_buffer_get_reference_timestamp_meta(came, reference);
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->timestamp, 42u);
  EXPECT_NE(gst_buffer_get_meta(came, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), nullptr);
  EXPECT_EQ(gst_buffer_get_video_meta(came), nullptr) << "it described the other memory";
  gst_buffer_unref(came);
  gst_caps_unref(reference);
}

TEST(Stream, TheInputBufferIsGivenBackThoughItsMetasLive) {
  Harness harness(passthrough());
  begin(harness);
  GstBuffer *buffer = frame_at(0);
  ASSERT_EQ(gst_harness_push(harness.get(), gst_buffer_ref(buffer)), GST_FLOW_OK);
  GstBuffer *came = gst_harness_pull(harness.get());
  finish(harness);  // the graph has nothing left to read
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(buffer), 1);
  gst_buffer_unref(came);
  gst_buffer_unref(buffer);
}

TEST(Stream, ShortBuffersAreDroppedCountedAndSaidOnce) {
  Harness harness(passthrough());
  begin(harness);
  EXPECT_EQ(gst_harness_push(harness.get(), frame_at(0, 31)), GST_FLOW_OK);
  EXPECT_EQ(gst_harness_push(harness.get(), frame_at(10, 1)), GST_FLOW_OK);
  EXPECT_EQ(gst_harness_push(harness.get(), frame_at(20, 40)), GST_FLOW_OK) << "longer is fine";
  GstBuffer *came = gst_harness_pull(harness.get());
  EXPECT_EQ(GST_BUFFER_PTS(came), 20 * GST_MSECOND);
  gst_buffer_unref(came);
  EXPECT_EQ(harness.stat("dropped"), 2u);
  const auto warnings = harness.messages(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].text, HasSubstr("expected a buffer of at least 32 bytes"));
  EXPECT_THAT(warnings[0].text, HasSubstr("got 31 bytes"));
}

TEST(Stream, AnEmptyBufferLeavesAsAGap) {
  Harness harness(queued());
  Recorder recorder(harness->element);
  begin(harness);
  gst_harness_push(harness.get(), frame_at(0));
  GstBuffer *empty = gst_buffer_new();
  GST_BUFFER_PTS(empty) = 10 * GST_MSECOND;
  EXPECT_EQ(gst_harness_push(harness.get(), empty), GST_FLOW_OK);
  gst_harness_push(harness.get(), frame_at(20));
  finish(harness);
  EXPECT_THAT(
      recorder.items(),
      ElementsAre("stream-start", "caps", "segment", "buffer 0", "gap", "buffer 20", "eos"));
}

std::string caps_of(GstPad *pad) {
  GstCaps *caps = gst_pad_get_current_caps(pad);
  gchar *text = gst_caps_to_string(caps);
  const std::string result = text;
  g_free(text);
  gst_caps_unref(caps);
  return result;
}

TEST(Stream, AnotherFrameRateLeavesInPlaceWithoutACompile) {
  Harness harness(queued());
  Recorder recorder(harness->element);
  begin(harness);
  gst_harness_push(harness.get(), frame_at(0));
  gst_harness_push(harness.get(), frame_at(10));
  gst_harness_set_src_caps_str(
      harness.get(), "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1");
  gst_harness_push(harness.get(), frame_at(20));
  finish(harness);
  const auto items = recorder.items();
  EXPECT_EQ(std::count(items.begin(), items.end(), "caps"), 2);
  EXPECT_LT(
      std::find(items.begin(), items.end(), "buffer 10"),
      std::find(items.begin() + 3, items.end(), "caps"));
  EXPECT_LT(
      std::find(items.begin() + 3, items.end(), "caps"),
      std::find(items.begin(), items.end(), "buffer 20"));
  EXPECT_THAT(caps_of(harness->sinkpad), HasSubstr("framerate=(fraction)25/1"));
  EXPECT_EQ(harness.stat("in"), 3u) << "one run: the ledger was not begun anew";
}

TEST(Stream, AnotherSizeDrainsBeforeTheNewCaps) {
  Harness harness(queued("GRAY", "\"target_capacity\":16"));
  Recorder recorder(harness->element);
  begin(harness);
  for (guint64 i = 0; i < 5; ++i)
    gst_harness_push(harness.get(), frame_at(i * 10));
  gst_harness_set_src_caps_str(
      harness.get(), "video/x-raw,format=GRAY8,width=16,height=8,framerate=30/1");
  for (guint64 i = 5; i < 8; ++i)
    gst_harness_push(harness.get(), frame_at(i * 10, 128));
  finish(harness);
  const auto items = recorder.items();
  const auto second_caps = std::find(items.begin() + 2, items.end(), "caps");
  ASSERT_NE(second_caps, items.end());
  EXPECT_EQ(*(second_caps - 1), "buffer 40");
  EXPECT_EQ(items.back(), "eos");
  EXPECT_EQ(std::count(items.begin(), items.end(), "caps"), 2);
  EXPECT_EQ(harness.stat("out"), 8u);
  EXPECT_EQ(harness.stat("in"), 8u);
}

TEST(Stream, TheSameCapsAgainChangeNothing) {
  Harness harness(queued());
  Recorder recorder(harness->element);
  begin(harness);
  gst_harness_push(harness.get(), frame_at(0));
  gst_harness_set_src_caps_str(harness.get(), small);
  gst_harness_push(harness.get(), frame_at(10));
  finish(harness);
  const auto items = recorder.items();
  EXPECT_EQ(std::count(items.begin(), items.end(), "caps"), 1);
}

TEST(Stream, OtherSettingsTakeEffectBeforeTheNextBuffer) {
  const std::string graph =
      R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY"}},)"
      R"("scale":{"type":"Affine","params":{"scale":1}},)"
      R"("u8":{"type":"Conversion","params":{"target":"U8"}},"out":{"type":"Output"}},)"
      R"("edges":["in->scale","scale->u8","u8->out"]})";
  Harness harness(graph);
  begin(harness);
  const std::vector<guint8> three(32, 3), six(32, 6);
  const auto through = [&] {
    gst_harness_push(harness.get(), buffer_of(three));
    GstBuffer *came = gst_harness_pull(harness.get());
    const auto bytes = bytes_of(came);
    gst_buffer_unref(came);
    return bytes;
  };
  EXPECT_EQ(through(), three);
  g_object_set(harness->element, "settings", R"({"scale":{"scale":2}})", nullptr);
  EXPECT_EQ(through(), six);
  g_object_set(harness->element, "settings", R"({"scale":{"scael":2}})", nullptr);
  EXPECT_EQ(through(), six) << "faulty settings change nothing";
  const auto warnings = harness.messages(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].text, HasSubstr("did you mean \"scale\"?"));
  EXPECT_EQ(harness.stat("in"), 3u);
}

TEST(Stream, AFlushForgetsFramesAndTheStreamGoesOn) {
  for (const auto &graph : {passthrough(), queued("GRAY", "\"target_capacity\":16")}) {
    Harness harness(graph);
    Recorder recorder(harness->element);
    begin(harness);
    gst_harness_push_event(harness.get(), tag());
    for (guint64 i = 0; i < 3; ++i)
      gst_harness_push(harness.get(), frame_at(i * 10));
    ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_flush_start()));
    EXPECT_EQ(gst_harness_push(harness.get(), frame_at(30)), GST_FLOW_FLUSHING);
    ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE)));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.start = 500 * GST_MSECOND;
    ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_segment(&segment)));
    for (guint64 i = 50; i < 53; ++i)
      ASSERT_EQ(gst_harness_push(harness.get(), frame_at(i * 10)), GST_FLOW_OK);
    finish(harness);
    const auto items = recorder.items();
    const auto stop = std::find(items.begin(), items.end(), "flush-stop");
    ASSERT_NE(stop, items.end());
    const std::vector<std::string> rest(stop + 1, items.end());
    EXPECT_EQ(
        std::vector<std::string>(rest.end() - 5, rest.end()),
        (std::vector<std::string>{"segment", "buffer 500", "buffer 510", "buffer 520", "eos"}));
    EXPECT_EQ(std::count(items.begin(), items.end(), "tag"), 1);
    EXPECT_EQ(std::count(items.begin(), items.end(), "caps"), 1);
    // What the flush took is counted, wherever it was.
    EXPECT_EQ(harness.stat("in-flight"), 0u);
    EXPECT_EQ(
        harness.stat("in"), harness.stat("out") + harness.stat("dropped") + harness.stat("failed"));
    EXPECT_EQ(harness.stat("in"), 6u);
  }
}

TEST(Stream, ASeekAfterTheEndPlaysAgain) {
  Pipeline pipeline("videotestsrc ! video/x-raw,format=GRAY8,width=8,height=4,framerate=100/1 ! "
                    "holoflowbin name=h graph=\"batchqueue\" ! fakesink name=f");
  BufferCounter counter(pipeline.element("f"), "sink");
  pipeline.set_state(GST_STATE_PAUSED);
  ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
  pipeline.set_state(GST_STATE_PLAYING);
  guint64 before = 0;
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(gst_element_seek(
        pipeline.get(), 1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, 0,
        GST_SEEK_TYPE_SET, 100 * GST_MSECOND));
    ASSERT_TRUE(
        pipeline.wait_for(static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
    EXPECT_EQ(pipeline.errors().size(), 0u);
    // The first seek may come behind frames of the endless stream.
    if (round > 0) {
      EXPECT_EQ(counter.count() - before, 10u);
    }
    before = counter.count();
  }
}

TEST(Stream, ASeekWhilePausedPrerollsAgain) {
  Pipeline pipeline("videotestsrc num-buffers=15 ! video/x-raw,format=GRAY8,width=8,height=4,"
                    "framerate=100/1 ! holoflowbin name=h graph=\"copy\" ! fakesink name=f");
  pipeline.set_state(GST_STATE_PAUSED);
  ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(gst_element_seek_simple(
        pipeline.get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
        static_cast<gint64>(i) * 10 * GST_MSECOND));
    ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
  }
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
}

TEST(Stream, AFlushReturnsAtOnceWhileDownstreamIsBlocked) {
  Pipeline pipeline("videotestsrc ! video/x-raw,format=GRAY8,width=8,height=4,framerate=100/1 ! "
                    "holoflowbin name=h graph=\"batchqueue\" ! fakesink name=f sync=true");
  pipeline.set_state(GST_STATE_PAUSED);
  ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
  GstPad *pad = gst_element_get_static_pad(pipeline.element("h"), "sink");
  const gint64 begin = g_get_monotonic_time();
  ASSERT_TRUE(gst_pad_send_event(pad, gst_event_new_flush_start()));
  EXPECT_LT(g_get_monotonic_time() - begin, 2 * G_USEC_PER_SEC);
  gst_pad_send_event(pad, gst_event_new_flush_stop(TRUE));
  gst_object_unref(pad);
}

}  // namespace
}  // namespace holoflow::test
