// SPDX-License-Identifier: LGPL-2.1-or-later
// Graphs that make their frames themselves, and graphs that keep them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "../support/watchdog.hh"
#include "gst_support.hh"
#include "test_tasks.hh"

namespace holoflow::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string makes(int frames) {
  return R"("{\"nodes\":{\"c\":{\"type\":\"Counter\",\"params\":{\"frames\":)" +
      std::to_string(frames) + R"(}},\"out\":{\"type\":\"Output\"}},\"edges\":[\"c->out\"]}" )";
}
const std::string keeps =
    R"("{\"nodes\":{\"in\":{\"type\":\"Input\",\"params\":{\"as\":\"GRAY\"}},)"
    R"(\"k\":{\"type\":\"Keep\"}},\"edges\":[\"in->k\"]}" )";
const std::string frames = "video/x-raw,format=GRAY8,width=8,height=4,framerate=100/1 ! ";

class OneSided : public ::testing::Test {
protected:
  const Watchdog watchdog_{"a pipeline hangs"};
};

TEST_F(OneSided, AGraphThatMakesItsFramesIsASource) {
  Pipeline pipeline("holoflowbin name=h graph=" + makes(20) + "! fakesink name=f sync=true");
  EXPECT_TRUE(GST_OBJECT_FLAG_IS_SET(pipeline.element("h"), GST_ELEMENT_FLAG_SOURCE));
  EXPECT_EQ(pipeline.element("h")->numsinkpads, 0);
  const BufferCounter out(pipeline.element("f"), "sink");
  for (int run = 1; run <= 3; ++run) {
    ASSERT_TRUE(pipeline.run());
    EXPECT_THAT(pipeline.errors(), IsEmpty());
    EXPECT_TRUE(pipeline.saw_eos());
    EXPECT_EQ(out.count(), static_cast<guint64>(20 * run));
    ASSERT_EQ(pipeline.set_state(GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  }
}

TEST_F(OneSided, ASourceWithoutFramesEnds) {
  Pipeline pipeline("holoflowbin graph=" + makes(0) + "! fakesink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
}

TEST_F(OneSided, AnEndFromOutsideEndsASource) {
  Pipeline pipeline("holoflowbin graph=" + makes(1'000'000'000) + "! fakesink name=f");
  const BufferCounter out(pipeline.element("f"), "sink");
  pipeline.set_state(GST_STATE_PLAYING);
  ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
  EXPECT_TRUE(gst_element_send_event(pipeline.get(), gst_event_new_eos()));
  EXPECT_TRUE(pipeline.wait_for(GST_MESSAGE_EOS));
  EXPECT_GT(out.count(), 0u);
}

TEST_F(OneSided, AGraphThatKeepsItsFramesIsASink) {
  Pipeline pipeline(
      "videotestsrc num-buffers=30 ! " + frames + "holoflowbin name=h graph=" + keeps);
  EXPECT_TRUE(GST_OBJECT_FLAG_IS_SET(pipeline.element("h"), GST_ELEMENT_FLAG_SINK));
  EXPECT_EQ(pipeline.element("h")->numsrcpads, 0);
  for (int run = 1; run <= 3; ++run) {
    const auto before = kept_frames().load();
    ASSERT_TRUE(pipeline.run());
    EXPECT_THAT(pipeline.errors(), IsEmpty());
    EXPECT_TRUE(pipeline.saw_eos());
    EXPECT_EQ(kept_frames() - before, 30u);
    ASSERT_EQ(pipeline.set_state(GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  }
}

TEST_F(OneSided, ThePipelineEndsWithTheLastOfItsSinks) {
  Pipeline pipeline(
      "videotestsrc num-buffers=5 ! " + frames + "holoflowbin graph=" + keeps +
      "videotestsrc num-buffers=30 ! " + frames + "fakesink name=f sync=true");
  const BufferCounter out(pipeline.element("f"), "sink");
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
  EXPECT_EQ(out.count(), 30u);
}

TEST_F(OneSided, AStreamWithoutFramesEndsASinkToo) {
  Pipeline pipeline("videotestsrc num-buffers=0 ! " + frames + "holoflowbin graph=" + keeps);
  ASSERT_TRUE(pipeline.run());
  EXPECT_TRUE(pipeline.saw_eos());
}

}  // namespace
}  // namespace holoflow::test
