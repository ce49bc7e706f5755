// SPDX-License-Identifier: LGPL-2.1-or-later
// Several inputs and outputs: pairing, ends, flushes and seeks, pads that are not linked, latency,
// caps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gst_support.hh"
#include "tests/support/watchdog.hh"

namespace holoflow::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string in_quotes(const std::string &text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"')
      quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

/// The larger of two pictures, pixel by pixel, and the first of them.
const std::string two_and_two =
    R"({"nodes":{"a":{"type":"Input","params":{"as":"GRAY"}},)"
    R"("b":{"type":"Input","params":{"as":"GRAY"}},)"
    R"("fa":{"type":"Conversion","params":{"target":"F32"}},)"
    R"("fb":{"type":"Conversion","params":{"target":"F32"}},)"
    R"("sum":{"type":"Add"},"u":{"type":"Conversion","params":{"target":"U8"}},)"
    R"("x":{"type":"Output"},"y":{"type":"Output"}},)"
    R"("edges":["a->fa","b->fb","fa->sum:0","fb->sum:1","sum->u","u->x","a->y"]})";
const std::string one_and_two =
    R"({"nodes":{"a":{"type":"Input","params":{"as":"GRAY"}},"q":{"type":"BatchQueue"},)"
    R"("x":{"type":"Output"},"y":{"type":"Output"}},"edges":["a->q","q->x","a->y"]})";
const std::string two_and_one =
    R"({"nodes":{"a":{"type":"Input","params":{"as":"GRAY"}},)"
    R"("b":{"type":"Input","params":{"as":"GRAY"}},)"
    R"("fa":{"type":"Conversion","params":{"target":"F32"}},)"
    R"("fb":{"type":"Conversion","params":{"target":"F32"}},)"
    R"("sum":{"type":"Add"},"u":{"type":"Conversion","params":{"target":"U8"}},)"
    R"("x":{"type":"Output"}},)"
    R"("edges":["a->fa","b->fb","fa->sum:0","fb->sum:1","sum->u","u->x"]})";
/// The frames, and windows of four of them.
const std::string frames_and_windows =
    R"({"nodes":{"a":{"type":"Input","params":{"as":"GRAY"}},)"
    R"("q":{"type":"BatchQueue","params":)"
    R"({"target_capacity":8,"output_size":4,"output_stride":4}},)"
    R"("x":{"type":"Output"},"y":{"type":"Output"}},"edges":["a->q","q->y","a->x"]})";
/// Two ways that have nothing to do with each other.
const std::string two_ways =
    R"({"nodes":{"a":{"type":"Input","params":{"as":"GRAY"}},)"
    R"("b":{"type":"Input","params":{"as":"GRAY"}},"x":{"type":"Output"},"y":{"type":"Output"}},)"
    R"("edges":["a->x","b->y"]})";

std::string bin(const std::string &graph) {
  return "holoflowbin name=h graph=" + in_quotes(graph) + " ";
}

std::string source(int buffers, const std::string &more = "") {
  return "videotestsrc pattern=white num-buffers=" + std::to_string(buffers) + " " + more +
      " ! video/x-raw,format=GRAY8,width=16,height=8,framerate=100/1 ";
}

class SeveralPads : public ::testing::Test {
protected:
  const Watchdog watchdog_{"a pipeline hangs"};
};

TEST_F(SeveralPads, EveryFrameComesOutOfEveryOutput) {
  for (const int frames : {1, 2, 50}) {
    Pipeline pipeline(
        bin(two_and_two) + source(frames) + "! h.sink_a " + source(frames) +
        "! h.sink_b h.src_x ! fakesink name=fx h.src_y ! fakesink name=fy");
    const BufferCounter x(pipeline.element("fx"), "sink"), y(pipeline.element("fy"), "sink");
    ASSERT_TRUE(pipeline.run());
    EXPECT_THAT(pipeline.errors(), IsEmpty());
    EXPECT_TRUE(pipeline.saw_eos());
    EXPECT_EQ(x.count(), static_cast<guint64>(frames));
    EXPECT_EQ(y.count(), static_cast<guint64>(frames));
  }
}

TEST_F(SeveralPads, LinkByNameBeforeAndBehindTheElement) {
  for (const auto &description :
       {source(5) + "! h.sink_a " + source(5) + "! h.sink_b " + bin(two_and_one) +
            "h.src ! fakesink name=f",
        bin(two_and_one) + source(5) + "! h. " + source(5) + "! h. h. ! fakesink name=f",
        bin(two_and_one) + "! fakesink name=f " + source(5) + "! h.sink_b " + source(5) +
            "! h.sink_a"}) {
    SCOPED_TRACE(description);
    Pipeline pipeline(description);
    const BufferCounter out(pipeline.element("f"), "sink");
    ASSERT_TRUE(pipeline.run());
    EXPECT_THAT(pipeline.errors(), IsEmpty());
    EXPECT_EQ(out.count(), 5u);
  }
}

TEST_F(SeveralPads, AMisspeltNameFailsAtOnce) {
  for (const char *what : {"h.src_zz ! fakesink", "videotestsrc ! h.sink_zz"}) {
    SCOPED_TRACE(what);
    GError *error = nullptr;
    GstElement *pipeline = gst_parse_launch_full(
        (bin(two_and_two) + what).c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
    EXPECT_EQ(pipeline, nullptr);
    ASSERT_NE(error, nullptr);
    EXPECT_THAT(error->message, HasSubstr("could not link"));
    g_clear_error(&error);
    gst_clear_object(&pipeline);
  }
}

TEST_F(SeveralPads, ATeeNeedsNoQueues) {
  Pipeline pipeline(
      bin(two_and_two) + source(30) +
      "! tee name=t t. ! h.sink_a t. ! h.sink_b "
      "h.src_x ! fakesink name=fx h.src_y ! fakesink name=fy");
  const BufferCounter x(pipeline.element("fx"), "sink"), y(pipeline.element("fy"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_EQ(x.count(), 30u);
  EXPECT_EQ(y.count(), 30u);
}

TEST_F(SeveralPads, TheEndOfOneInputEndsWhatNeedsIt) {
  for (const auto &[a, b] : {std::pair(5, 1000), {1000, 5}, {0, 7}, {7, 0}}) {
    SCOPED_TRACE(std::to_string(a) + " and " + std::to_string(b));
    Pipeline pipeline(
        bin(two_and_one) + source(a) + "! h.sink_a " + source(b) +
        "! h.sink_b h.src ! fakesink name=f");
    const BufferCounter out(pipeline.element("f"), "sink");
    ASSERT_TRUE(pipeline.run());
    EXPECT_TRUE(pipeline.saw_eos());
    EXPECT_THAT(pipeline.errors(), IsEmpty());
    EXPECT_EQ(out.count(), static_cast<guint64>(std::min(a, b)));
  }
}

TEST_F(SeveralPads, AWayThatNeedsNoOtherInputGoesOn) {
  Pipeline pipeline(
      bin(two_ways) + source(5) + "! h.sink_a " + source(60) +
      "! h.sink_b h.src_x ! fakesink name=fx h.src_y ! fakesink name=fy");
  const BufferCounter x(pipeline.element("fx"), "sink"), y(pipeline.element("fy"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(x.count(), 5u);
  EXPECT_EQ(y.count(), 60u);
}

TEST_F(SeveralPads, AnOutputThatIsNotLinkedStopsNobody) {
  Pipeline pipeline(bin(one_and_two) + source(100) + "! h.sink h.src_y ! fakesink name=fy");
  const BufferCounter y(pipeline.element("fy"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_THAT(pipeline.errors(), IsEmpty());
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(y.count(), 100u);
}

TEST_F(SeveralPads, WithoutAnyOutputLinkedUpstreamIsTold) {
  Pipeline pipeline(bin(one_and_two) + source(100) + "! h.sink");
  ASSERT_TRUE(pipeline.run());
  ASSERT_EQ(pipeline.errors().size(), 1u);
  EXPECT_THAT(pipeline.errors()[0].detail, HasSubstr("not-linked"));
}

TEST_F(SeveralPads, OneSinkThatHasEnoughLeavesTheOther) {
  Pipeline pipeline(
      bin(one_and_two) + source(40) +
      "! h.sink h.src_x ! fakesink num-buffers=3 h.src_y ! fakesink name=fy");
  const BufferCounter y(pipeline.element("fy"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(y.count(), 40u);
}

TEST_F(SeveralPads, AnInputThatIsNotLinkedIsNamed) {
  Pipeline pipeline(bin(two_and_one) + source(10) + "! h.sink_a h.src ! fakesink");
  pipeline.set_state(GST_STATE_PLAYING);
  ASSERT_TRUE(pipeline.wait_for(GST_MESSAGE_WARNING));
  const auto warnings = pipeline.messages_of(GST_MESSAGE_WARNING);
  EXPECT_THAT(warnings.at(0).text, HasSubstr("nothing has come at input \"b\""));
  EXPECT_THAT(warnings[0].text, HasSubstr("link its pad"));
}

/// Counts FLUSH_START and FLUSH_STOP on a pad.
class FlushCounter {
public:
  FlushCounter(GstElement *element, const char *pad)
      : pad_(gst_element_get_static_pad(element, pad)) {
    gst_pad_add_probe(
        pad_,
        static_cast<GstPadProbeType>(
            GST_PAD_PROBE_TYPE_EVENT_FLUSH | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM),
        [](GstPad *, GstPadProbeInfo *info, gpointer data) {
          auto *self = static_cast<FlushCounter *>(data);
          const std::lock_guard lock(self->mutex_);
          switch (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info))) {
          case GST_EVENT_FLUSH_START:
            ++self->starts_;
            break;
          case GST_EVENT_FLUSH_STOP:
            ++self->stops_;
            break;
          default:
            break;
          }
          return GST_PAD_PROBE_OK;
        },
        this, nullptr);
  }
  ~FlushCounter() { gst_object_unref(pad_); }
  [[nodiscard]] std::pair<int, int> counts() const {
    const std::lock_guard lock(mutex_);
    return {starts_, stops_};
  }

private:
  GstPad *pad_;
  mutable std::mutex mutex_;
  int starts_ = 0, stops_ = 0;
};

TEST_F(SeveralPads, ASeekOfThePipelineRunsOnceAtEachSource) {
  Pipeline pipeline(
      bin(two_and_two) + source(80, "name=s") + "! h.sink_a " + source(80) +
      "! h.sink_b h.src_x ! fakesink name=fx sync=true h.src_y ! fakesink sync=true");
  pipeline.set_state(GST_STATE_PAUSED);
  ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
  const FlushCounter at_source(pipeline.element("s"), "src"),
      at_sink(pipeline.element("fx"), "sink");
  for (int seek = 1; seek <= 5; ++seek) {
    ASSERT_TRUE(gst_element_seek_simple(
        pipeline.get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, seek * 100 * GST_MSECOND));
    ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
    EXPECT_EQ(at_source.counts(), std::pair(seek, seek));
    EXPECT_EQ(at_sink.counts(), std::pair(seek, seek));
  }
  gint64 position = 0;
  ASSERT_TRUE(gst_element_query_position(pipeline.get(), GST_FORMAT_TIME, &position));
  EXPECT_EQ(position, static_cast<gint64>(500 * GST_MSECOND));
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
}

TEST_F(SeveralPads, FlushesOfOneInputLetTheOthersGoOn) {
  Pipeline pipeline(
      bin(two_and_two) +
      "videotestsrc name=s ! video/x-raw,format=GRAY8,width=16,height=8,framerate=100/1 ! "
      "h.sink_a videotestsrc ! video/x-raw,format=GRAY8,width=16,height=8,framerate=100/1 ! "
      "h.sink_b h.src_x ! fakesink name=fx async=false h.src_y ! fakesink async=false");
  const BufferCounter x(pipeline.element("fx"), "sink");
  pipeline.set_state(GST_STATE_PLAYING);
  ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
  for (int seek = 0; seek < 100; ++seek) {
    const auto before = x.count();
    ASSERT_TRUE(gst_element_seek_simple(
        pipeline.element("s"), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, seek * GST_SECOND));
    // Now and then the next flush comes before anything has left.
    while (seek % 4 == 0 && x.count() <= before)
      std::this_thread::yield();
  }
  gst_element_send_event(pipeline.get(), gst_event_new_eos());
  EXPECT_TRUE(pipeline.wait_for(GST_MESSAGE_EOS));
  EXPECT_THAT(pipeline.errors(), IsEmpty());
}

/// QOS events that reach the element, by their lateness in milliseconds.
class ReceivedQos {
public:
  explicit ReceivedQos(GstElement *element) : pad_(gst_element_get_static_pad(element, "src")) {
    gst_pad_add_probe(pad_, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, probe, this, nullptr);
  }
  ~ReceivedQos() { gst_object_unref(pad_); }
  [[nodiscard]] std::vector<int64_t> take() { return std::exchange(late_, {}); }

private:
  static GstPadProbeReturn probe(GstPad *, GstPadProbeInfo *info, gpointer self) {
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    GstClockTimeDiff late = 0;
    if (GST_EVENT_TYPE(event) != GST_EVENT_QOS)
      return GST_PAD_PROBE_OK;
    gst_event_parse_qos(event, nullptr, nullptr, &late, nullptr);
    static_cast<ReceivedQos *>(self)->late_.push_back(late / static_cast<int64_t>(GST_MSECOND));
    return GST_PAD_PROBE_OK;
  }

  GstPad *pad_;
  std::vector<int64_t> late_;
};

void send_qos(Pipeline &pipeline, const char *sink, int64_t late_ms, uint64_t at_ms) {
  GstPad *pad = gst_element_get_static_pad(pipeline.element(sink), "sink");
  gst_pad_push_event(
      pad,
      gst_event_new_qos(
          GST_QOS_TYPE_UNDERFLOW, 1.0, late_ms * static_cast<int64_t>(GST_MSECOND),
          at_ms * GST_MSECOND));
  gst_object_unref(pad);
}

TEST_F(SeveralPads, LatenessOfTheOutputsIsThatOfTheLatest) {
  Pipeline pipeline(
      bin(one_and_two) + source(5) +
      "! identity name=i ! h.sink h.src_x ! fakesink name=fx h.src_y ! fakesink name=fy");
  ReceivedQos qos(pipeline.element("i"));
  ASSERT_TRUE(pipeline.run());
  send_qos(pipeline, "fx", 5, 0);
  EXPECT_THAT(qos.take(), ElementsAre(5)) << "nobody else has told anything";
  for (uint64_t round = 1; round <= 20; ++round) {
    send_qos(pipeline, "fy", 30, 40 * round);
    send_qos(pipeline, "fx", 10, 40 * round + 1);
    EXPECT_THAT(qos.take(), ElementsAre(30)) << "one for both";
  }
  send_qos(pipeline, "fx", 1, 900);
  send_qos(pipeline, "fx", 2, 940);
  send_qos(pipeline, "fx", 3, 980);
  EXPECT_THAT(qos.take(), ElementsAre(1, 2)) << "a silent output stops nothing";
}

TEST_F(SeveralPads, LatenessReachesTheInputsOfTheOutputOnly) {
  Pipeline pipeline(
      bin(two_ways) + source(5) + "! identity name=ia ! h.sink_a " + source(5) +
      "! identity name=ib ! h.sink_b h.src_x ! fakesink name=fx h.src_y ! fakesink name=fy");
  ReceivedQos a(pipeline.element("ia")), b(pipeline.element("ib"));
  ASSERT_TRUE(pipeline.run());
  send_qos(pipeline, "fx", 7, 0);
  send_qos(pipeline, "fy", 8, 0);
  EXPECT_THAT(a.take(), ElementsAre(7));
  EXPECT_THAT(b.take(), ElementsAre(8));
}

// Upstream would leave out frames of one input, and all that follow would meet wrong partners.
TEST_F(SeveralPads, LatenessStaysAwayFromInputsThatArePaired) {
  Pipeline pipeline(
      bin(two_and_two) + source(5) + "! identity name=ia ! h.sink_a " + source(5) +
      "! identity name=ib ! h.sink_b h.src_x ! fakesink name=fx h.src_y ! fakesink name=fy");
  ReceivedQos a(pipeline.element("ia")), b(pipeline.element("ib"));
  ASSERT_TRUE(pipeline.run());
  send_qos(pipeline, "fx", 7, 0);
  send_qos(pipeline, "fy", 8, 0);
  EXPECT_THAT(a.take(), IsEmpty());
  EXPECT_THAT(b.take(), IsEmpty());
}

TEST_F(SeveralPads, AnEventHasItsOwnPlaceAtEachOutput) {
  Pipeline pipeline(
      bin(frames_and_windows) + source(100) +
      "! identity name=i ! h.sink h.src_x ! fakesink name=fx async=false h.src_y ! "
      "fakesink name=fy async=false");
  GstPad *from = gst_element_get_static_pad(pipeline.element("i"), "src");
  gst_pad_add_probe(
      from, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad *pad, GstPadProbeInfo *, gpointer) {
        GstTagList *tags = gst_tag_list_new(GST_TAG_TITLE, "next", nullptr);
        gst_pad_push_event(pad, gst_event_new_tag(tags));
        return GST_PAD_PROBE_OK;
      },
      nullptr, nullptr);
  gst_object_unref(from);
  std::string seen[2];
  for (int i = 0; i < 2; ++i) {
    GstPad *to = gst_element_get_static_pad(pipeline.element(i == 0 ? "fx" : "fy"), "sink");
    gst_pad_add_probe(
        to,
        static_cast<GstPadProbeType>(
            GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM),
        [](GstPad *, GstPadProbeInfo *info, gpointer text) {
          if ((info->type & GST_PAD_PROBE_TYPE_BUFFER) != 0)
            *static_cast<std::string *>(text) += 'b';
          else if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_TAG)
            *static_cast<std::string *>(text) += 't';
          return GST_PAD_PROBE_OK;
        },
        &seen[i], nullptr);
    gst_object_unref(to);
  }
  ASSERT_TRUE(pipeline.run());
  EXPECT_THAT(pipeline.errors(), IsEmpty());
  std::string frames, windows;
  for (int frame = 0; frame < 100; ++frame)
    frames += "tb";
  for (int window = 0; window < 25; ++window)
    windows += "ttttbbbb";
  EXPECT_EQ(seen[0], frames);
  EXPECT_EQ(seen[1], windows) << "behind all that leaves without another frame";
}

TEST_F(SeveralPads, TheLatencyOfTheElementIsThatOfItsPads) {
  Pipeline pipeline(
      bin(two_and_one) + source(50, "is-live=true") + "! h.sink_a " + source(50) +
      "! h.sink_b h.src ! fakesink name=f");
  pipeline.set_state(GST_STATE_PLAYING);
  (void)pipeline.wait_for_state();
  ASSERT_TRUE(pipeline.wait_for(GST_MESSAGE_LATENCY));
  GstQuery *of_pad = gst_query_new_latency(), *of_element = gst_query_new_latency();
  GstPad *sink = gst_element_get_static_pad(pipeline.element("f"), "sink");
  ASSERT_TRUE(gst_pad_peer_query(sink, of_pad));
  ASSERT_TRUE(gst_element_query(pipeline.element("h"), of_element));
  gboolean live[2] = {};
  GstClockTime least[2] = {}, most[2] = {};
  gst_query_parse_latency(of_pad, &live[0], &least[0], &most[0]);
  gst_query_parse_latency(of_element, &live[1], &least[1], &most[1]);
  EXPECT_TRUE(live[0]);
  EXPECT_GE(least[0], 10 * GST_MSECOND) << "a frame of the live source";
  EXPECT_EQ(live[0], live[1]);
  EXPECT_EQ(least[0], least[1]);
  EXPECT_EQ(most[0], most[1]);
  gst_query_unref(of_pad);
  gst_query_unref(of_element);
  gst_object_unref(sink);
}

TEST_F(SeveralPads, SizesOfBothInputsMustFit) {
  Pipeline pipeline(
      bin(two_and_one) + source(5) +
      "! h.sink_a videotestsrc num-buffers=5 ! video/x-raw,format=GRAY8,width=32,height=8 ! "
      "h.sink_b h.src ! fakesink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_FALSE(pipeline.errors().empty());
  // A warning where upstream asks first, an error where it does not.
  const auto own = std::find_if(
      pipeline.messages().begin(), pipeline.messages().end(), [](const Message &message) {
        return message.source == "h" &&
            (message.type & (GST_MESSAGE_WARNING | GST_MESSAGE_ERROR)) != 0;
      });
  ASSERT_NE(own, pipeline.messages().end());
  EXPECT_THAT(own->text, HasSubstr("\"sum\""));
}

TEST_F(SeveralPads, CapsOfOneInputMayChangeWhileTheOtherWaits) {
  const std::string other = " ! video/x-raw,format=GRAY8,width=24,height=4,framerate=100/1 ";
  Pipeline pipeline(
      bin(two_ways) + "concat name=c ! h.sink_a " + source(20) +
      "! c. videotestsrc num-buffers=20" + other + "! c. " + source(40) +
      "! h.sink_b h.src_x ! fakesink name=fx h.src_y ! fakesink name=fy");
  const BufferCounter x(pipeline.element("fx"), "sink"), y(pipeline.element("fy"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_THAT(pipeline.errors(), IsEmpty());
  EXPECT_EQ(x.count(), 40u);
  EXPECT_EQ(y.count(), 40u) << "no frame of the other input is lost";
}

TEST_F(SeveralPads, ManyStartsAndStopsLeaveNothingBehind) {
  Pipeline pipeline(
      bin(two_and_two) +
      "videotestsrc ! video/x-raw,format=GRAY8,width=16,height=8 ! h.sink_a "
      "videotestsrc ! video/x-raw,format=GRAY8,width=16,height=8 ! h.sink_b "
      "h.src_x ! fakesink sync=true h.src_y ! fakesink");
  for (int cycle = 0; cycle < 50; ++cycle) {
    pipeline.set_state(cycle % 2 == 0 ? GST_STATE_PAUSED : GST_STATE_PLAYING);
    ASSERT_NE(pipeline.wait_for_state(), GST_STATE_CHANGE_FAILURE);
    ASSERT_EQ(
        pipeline.set_state(cycle % 3 == 0 ? GST_STATE_NULL : GST_STATE_READY),
        GST_STATE_CHANGE_SUCCESS);
  }
  EXPECT_THAT(pipeline.errors(), IsEmpty());
}

}  // namespace
}  // namespace holoflow::test
