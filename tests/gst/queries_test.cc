// SPDX-License-Identifier: LGPL-2.1-or-later
// Negotiation by inference, latency, and queries that go past the graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gst_support.hh"

namespace holoflow::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string to_text(GstCaps *caps) {
  gchar *text = gst_caps_to_string(caps);
  const std::string result = text;
  g_free(text);
  gst_caps_unref(caps);
  return result;
}

// What the sink pad answers while the element runs.
std::string accepted(
    const std::string &graph, const char *filter = nullptr, const char *downstream = nullptr) {
  Harness harness(graph);
  if (downstream != nullptr)
    gst_harness_set_sink_caps_str(harness.get(), downstream);
  GstCaps *asked = filter != nullptr ? gst_caps_from_string(filter) : nullptr;
  GstCaps *caps = gst_pad_peer_query_caps(harness->srcpad, asked);
  if (asked != nullptr)
    gst_caps_unref(asked);
  return to_text(caps);
}

std::string in_quotes(const std::string &graph) {
  std::string text = "\"";
  for (const char c : graph) {
    if (c == '"')
      text += '\\';
    text += c;
  }
  return text + "\"";
}

TEST(Queries, CapsAreThoseThatInferenceTakes) {
  const auto grey = accepted(passthrough("GRAY"), "video/x-raw");
  for (const char *format : {"GRAY8", "GRAY16_LE", "NV12", "I420", "RGB", "BGRx"})
    EXPECT_THAT(grey, HasSubstr(format));
  const auto plain = accepted(passthrough(""));
  EXPECT_THAT(plain, Not(HasSubstr("NV12")));
  EXPECT_THAT(plain, HasSubstr("application/x-holoflow-tensor, dtype=(string)CF32"));
  const auto root = accepted("sqrt");
  EXPECT_THAT(root, Not(HasSubstr("video/x-raw")));
  EXPECT_THAT(root, HasSubstr("dtype=(string)F32"));
}

TEST(Queries, TheFilterGivesTheOrder) {
  EXPECT_THAT(
      accepted(passthrough("GRAY"), "video/x-raw,format=I420;video/x-raw,format=GRAY8"),
      ::testing::StartsWith("video/x-raw, format=(string)I420"));
}

TEST(Queries, ARestrictionOfTheInputHolds) {
  const auto caps = accepted(R"({"nodes":{"in":{"type":"Input","params":{"caps":)"
                             R"("video/x-raw,format=RGB,width=640"}},"out":{"type":"Output"}},)"
                             R"("edges":["in->out"]})");
  EXPECT_THAT(caps, HasSubstr("format=(string)RGB"));
  EXPECT_THAT(caps, HasSubstr("width=(int)640"));
  EXPECT_THAT(caps, Not(HasSubstr("GRAY8")));
}

TEST(Queries, DownstreamsSizeReachesUpstreamWhereTheGraphKeepsIt) {
  const auto caps =
      accepted(passthrough("GRAY"), nullptr, "video/x-raw,format=GRAY8,width=320,height=[1,240]");
  EXPECT_THAT(caps, HasSubstr("width=(int)320, height=(int)[ 1, 240 ]"));
  EXPECT_THAT(caps, Not(HasSubstr("GRAY16_LE"))) << "it would leave with 16 bits";
}

TEST(Queries, ACropThatNeedsALargePictureIsNotRuledOutByThePlaceholder) {
  const std::string graph =
      R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY"}},"cut":{"type":"Slice",)"
      R"("params":{"slices":[{},500,{}]}},"out":{"type":"Output"}},"edges":["in->cut","cut->out"]})";
  EXPECT_THAT(accepted(graph), HasSubstr("GRAY8"));
  EXPECT_EQ(accepted(graph, "video/x-raw,format=GRAY8,width=64,height=48"), "EMPTY");
}

TEST(Queries, VideoconvertFindsAFormat) {
  const std::string graph = in_quotes(passthrough("GRAY"));
  for (const char *format : {"YUY2", "GRAY16_BE", "I420", "Y444_10LE", "RGB16"}) {
    SCOPED_TRACE(format);
    Pipeline pipeline(
        std::string("videotestsrc num-buffers=2 ! video/x-raw,format=") + format +
        ",width=64,height=48 ! videoconvert ! holoflowbin graph=" + graph +
        " ! videoconvert ! video/x-raw,format=BGRA ! fakesink name=f");
    BufferCounter counter(pipeline.element("f"), "sink");
    ASSERT_TRUE(pipeline.run());
    EXPECT_EQ(pipeline.errors().size(), 0u);
    EXPECT_EQ(counter.count(), 2u);
  }
}

TEST(Queries, YuvPassesVideoconvertUntouched) {
  Pipeline pipeline(
      "videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=64,height=48 ! "
      "videoconvert ! holoflowbin name=h graph=" +
      in_quotes(passthrough("GRAY")) + " ! fakesink");
  GstPad *pad = gst_element_get_static_pad(pipeline.element("h"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_THAT(to_text(gst_pad_get_current_caps(pad)), HasSubstr("format=(string)I420"));
  gst_object_unref(pad);
}

TEST(Queries, FramesPerSecondFollowTheQueues) {
  const std::pair<const char *, const char *> cases[] = {
      {"\"output_size\":4", "framerate=(fraction)30/1"},
      {"\"output_size\":1,\"output_stride\":3", "framerate=(fraction)10/1"},
      {"\"output_size\":2,\"output_stride\":6", "framerate=(fraction)10/1"},
      {"\"output_size\":4,\"output_stride\":1", "framerate=(fraction)30/1"},
  };
  for (const auto &[params, rate] : cases) {
    SCOPED_TRACE(params);
    Harness harness(queued("GRAY", params));
    gst_harness_set_src_caps_str(
        harness.get(), "video/x-raw,format=GRAY8,width=8,height=4,framerate=30/1");
    for (int i = 0; i < 8; ++i)
      gst_harness_push(harness.get(), buffer_of(noise(32)));
    gst_buffer_unref(gst_harness_pull(harness.get()));
    EXPECT_THAT(to_text(gst_pad_get_current_caps(harness->sinkpad)), HasSubstr(rate));
  }
}

TEST(Queries, LatencyIsThatOfUpstreamAndOfTheQueues) {
  Harness harness(queued("GRAY", "\"output_size\":4,\"target_capacity\":16"));
  gst_harness_set_live(harness.get(), TRUE);
  gst_harness_set_upstream_latency(harness.get(), 20 * GST_MSECOND);
  gst_harness_set_src_caps_str(
      harness.get(), "video/x-raw,format=GRAY8,width=8,height=4,framerate=100/1");
  for (int i = 0; i < 4; ++i)
    gst_harness_push(harness.get(), buffer_of(noise(32)));
  EXPECT_EQ(gst_harness_query_latency(harness.get()), 60 * GST_MSECOND);
  EXPECT_EQ(harness.messages(GST_MESSAGE_LATENCY).size(), 1u);
}

TEST(Queries, WithoutAFrameRateNoLatencyIsAdded) {
  Harness harness(queued("GRAY", "\"output_size\":4"));
  gst_harness_set_live(harness.get(), TRUE);
  gst_harness_set_upstream_latency(harness.get(), 20 * GST_MSECOND);
  gst_harness_set_src_caps_str(harness.get(), "video/x-raw,format=GRAY8,width=8,height=4");
  EXPECT_EQ(gst_harness_query_latency(harness.get()), 20 * GST_MSECOND);
}

TEST(Queries, PositionDurationAndSeekingComeFromUpstream) {
  Pipeline pipeline("videotestsrc num-buffers=10 ! video/x-raw,format=GRAY8,width=8,height=4,"
                    "framerate=10/1 ! holoflowbin name=h graph=copy ! fakesink");
  pipeline.set_state(GST_STATE_PAUSED);
  ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
  GstPad *pad = gst_element_get_static_pad(pipeline.element("h"), "src");
  GstQuery *seeking = gst_query_new_seeking(GST_FORMAT_TIME);
  ASSERT_TRUE(gst_pad_query(pad, seeking));
  gboolean seekable = FALSE;
  gst_query_parse_seeking(seeking, nullptr, &seekable, nullptr, nullptr);
  EXPECT_TRUE(seekable);
  gst_query_unref(seeking);
  gint64 duration = 0;
  EXPECT_TRUE(gst_pad_query_duration(pad, GST_FORMAT_TIME, &duration));
  EXPECT_EQ(duration, static_cast<gint64>(GST_SECOND));
  gst_object_unref(pad);
}

TEST(Queries, TheSinkPadOffersToReadVideoMeta) {
  Harness harness(passthrough());
  gst_harness_set_src_caps_str(harness.get(), "video/x-raw,format=GRAY8,width=8,height=4");
  GstCaps *caps = gst_pad_get_current_caps(harness->srcpad);
  GstQuery *query = gst_query_new_allocation(caps, TRUE);
  ASSERT_TRUE(gst_pad_peer_query(harness->srcpad, query));
  EXPECT_TRUE(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr));
  gst_query_unref(query);
  gst_caps_unref(caps);
}

TEST(Queries, EventsFromDownstreamReachUpstream) {
  Harness harness(queued());
  gst_harness_set_src_caps_str(harness.get(), "video/x-raw,format=GRAY8,width=8,height=4");
  while (GstEvent *event = gst_harness_try_pull_upstream_event(harness.get()))
    gst_event_unref(event);
  gst_harness_push_upstream_event(
      harness.get(), gst_event_new_qos(GST_QOS_TYPE_OVERFLOW, 0.5, 10, 20));
  GstEvent *event = gst_harness_pull_upstream_event(harness.get());
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(GST_EVENT_TYPE(event), GST_EVENT_QOS);
  gst_event_unref(event);
}

}  // namespace
}  // namespace holoflow::test
