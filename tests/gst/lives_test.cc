// SPDX-License-Identifier: LGPL-2.1-or-later
// Lives of the element, from READY to READY: what one begins the next one never sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include "../support/watchdog.hh"
#include "stream_script.hh"

namespace holoflow::test {
namespace {

using ::testing::AnyOf;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

size_t cycles(size_t few, size_t many) {
  return std::getenv("HOLOFLOW_LONG") != nullptr ? many : few;
}

// So far apart that no life pushes as many frames.
constexpr guint64 life_ms = 10000000;

class Lives : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(Subjects, Lives, ::testing::ValuesIn(identity_and_graphs()), name_of);

// At most so many, as the record of what left is searched again for each.
std::string some_frames(Rig &rig, guint64 first_ms) {
  std::string result;
  for (guint64 i = 0; i < 50; ++i)
    if (result = frames(first_ms + 10 * i, 1)(rig); result != "ok ")
      break;
  return result;
}

// A stream begins, frames flow, READY comes among them.
void live(Rig &rig, guint64 life, guint64 frames_before_ready) {
  EXPECT_EQ(gst_element_set_state(rig.element(), GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
  rig.start([&rig, life] {
    (void)begin(std::to_string(life))(rig);
    return std::vector<std::string>{some_frames(rig, life * life_ms)};
  });
  if (frames_before_ready > 0) {
    EXPECT_TRUE(rig.await("buffer " + std::to_string(life * life_ms + 10 * frames_before_ready)));
  }
  EXPECT_EQ(gst_element_set_state(rig.element(), GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
  EXPECT_THAT(rig.join().back(), AnyOf("ok ", "flushing "));
}

void expect_no_former_life(const std::vector<std::string> &left) {
  std::string now;
  bool has_segment = false;
  for (const auto &item : left) {
    if (item.starts_with("stream-start ")) {
      now = item.substr(13);
      has_segment = false;
    }
    has_segment = has_segment || item.starts_with("segment ");
    if (!item.starts_with("buffer "))
      continue;
    const auto life = std::to_string(std::stoull(item.substr(7)) / life_ms);
    ASSERT_EQ(life, now) << item << " left in another life";
    ASSERT_TRUE(has_segment) << item;
  }
}

TEST_P(Lives, NoFrameLeavesInAnotherLife) {
  std::mt19937 random(13);
  for (size_t rest = cycles(200, 4000), life = 1; rest > 0;) {
    const Watchdog watchdog(GetParam().name + ": a life does not end");
    Rig rig(GetParam());  // a record for each hundred
    gst_element_set_state(rig.element(), GST_STATE_READY);
    for (size_t i = 0; i < 100 && rest > 0; ++i, --rest, ++life)
      live(rig, life, random() % 5);
    gst_element_set_state(rig.element(), GST_STATE_PLAYING);
    expect_no_former_life(rig.left());
  }
}

TEST_P(Lives, TheLastOneAfterManyPlaysToTheEnd) {
  const Watchdog watchdog(GetParam().name + ": a life does not end");
  Rig rig(GetParam());
  for (guint64 life = 1; life <= 10; ++life)
    live(rig, life, life % 3);
  gst_element_set_state(rig.element(), GST_STATE_PLAYING);
  (void)begin("last")(rig);
  EXPECT_EQ(frames(0, 8)(rig), "ok ok ok ok ok ok ok ok ");
  (void)eos()(rig);
  ASSERT_TRUE(rig.await("eos"));
  auto left = rig.left();
  left.erase(left.begin(), std::find(left.begin(), left.end(), "stream-start last"));
  EXPECT_EQ(buffers_with_caps(left).size(), 8 - GetParam().warm_up);
}

// Blocks the first buffer that comes to a pad.
class Block {
public:
  explicit Block(GstElement *element) : pad_(gst_element_get_static_pad(element, "src")) {
    gst_pad_add_probe(
        pad_, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER),
        [](GstPad *, GstPadProbeInfo *, gpointer self) {
          auto *block = static_cast<Block *>(self);
          std::lock_guard lock(block->mutex_);
          block->blocked_ = true;
          block->changed_.notify_all();
          return GST_PAD_PROBE_OK;
        },
        this, nullptr);
  }
  ~Block() { gst_object_unref(pad_); }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  void await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return blocked_; });
  }

private:
  GstPad *pad_;
  std::mutex mutex_;  // guards blocked_
  std::condition_variable changed_;
  bool blocked_ = false;
};

TEST_P(Lives, NullReturnsWhileTheSourcePadIsBlocked) {
  const Watchdog watchdog(GetParam().name + ": NULL does not return");
  Rig rig(GetParam());
  Block block(rig.element());
  (void)begin()(rig);
  rig.start([&rig] { return std::vector<std::string>{frames_until_refused(0)(rig)}; });
  block.await();
  rig.await_asleep();
  EXPECT_EQ(gst_element_set_state(rig.element(), GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  EXPECT_EQ(rig.join().back(), "refused: flushing");
}

std::string escaped(const std::string &text) {
  std::string all;
  for (const char c : text)
    all += c == '"' ? "\\\"" : std::string(1, c);
  return all;
}

std::string element_of(const Subject &subject) {
  return subject.is_holoflow() ? "holoflowbin name=h graph=\"" + escaped(subject.graph) + "\""
                               : subject.name + " name=h";
}

// The sink has shown one frame and waits a thousand seconds for the time of the next.
TEST_P(Lives, NullReturnsWhileASinkWaits) {
  const Watchdog watchdog(GetParam().name + ": NULL does not return");
  for (int cycle = 0; cycle < 5; ++cycle) {
    Pipeline pipeline(
        "videotestsrc ! video/x-raw,format=GRAY8,width=8,height=4,framerate=1/1000 ! " +
        element_of(GetParam()) + " ! fakesink sync=true");
    (void)pipeline.set_state(GST_STATE_PLAYING);
    ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
    EXPECT_EQ(pipeline.set_state(GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
    EXPECT_THAT(pipeline.errors(), IsEmpty());
  }
}

// As Ctrl-C does it with gst-launch-1.0 -e.
TEST_P(Lives, AnEndFromOutsideLosesNoFrameThatEntered) {
  std::mt19937 random(17);
  for (size_t rest = cycles(20, 200); rest > 0; --rest) {
    const Watchdog watchdog(GetParam().name + ": the end does not come");
    Pipeline pipeline(
        "videotestsrc ! video/x-raw,format=GRAY8,width=8,height=4,framerate=1000/1 ! " +
        element_of(GetParam()) + " ! fakesink name=f");
    const BufferCounter entered(pipeline.element("h"), "sink");
    const BufferCounter left(pipeline.element("f"), "sink");
    (void)pipeline.set_state(GST_STATE_PLAYING);
    ASSERT_EQ(pipeline.wait_for_state(), GST_STATE_CHANGE_SUCCESS);
    const guint64 wanted = random() % 50;
    while (left.count() < wanted)
      std::this_thread::yield();
    gst_element_send_event(pipeline.get(), gst_event_new_eos());
    ASSERT_TRUE(pipeline.wait_for(GST_MESSAGE_EOS));
    const guint64 may_stay = GetParam().name == "window_of_4"
        ? entered.count() % 4
        : std::min<guint64>(GetParam().warm_up, entered.count());
    EXPECT_EQ(left.count() + may_stay, entered.count());
  }
}

const std::string two_and_two =
    R"({"nodes":{"a":{"type":"Input","params":{"as":"GRAY"}},)"
    R"("b":{"type":"Input","params":{"as":"GRAY"}},"x":{"type":"Output"},"y":{"type":"Output"}},)"
    R"("edges":["a->x","b->y"]})";
const std::string one_and_two =
    R"({"nodes":{"a":{"type":"Input","params":{"as":"GRAY"}},"x":{"type":"Output"},)"
    R"("y":{"type":"Output"}},"edges":["a->x","a->y"]})";

std::set<std::string> pads_of(GstElement *element) {
  std::set<std::string> names;
  gst_element_foreach_pad(
      element,
      [](GstElement *, GstPad *pad, gpointer data) -> gboolean {
        static_cast<std::set<std::string> *>(data)->insert(GST_PAD_NAME(pad));
        return TRUE;
      },
      &names);
  return names;
}

TEST(Graphs, ThatTwoThreadsSetLeavePadsOfOneGraph) {
  const Watchdog watchdog("threads that set graphs do not end");
  const std::vector<std::string> graphs{passthrough(), queued(),      two_and_two,
                                        one_and_two,   "{\"nodes\":", ""};
  GstElement *element = gst_element_factory_make("holoflowbin", nullptr);
  gst_object_ref_sink(element);
  std::atomic<int> running = 2;
  const auto set_many = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (size_t rest = cycles(100, 2000); rest > 0; --rest)
      g_object_set(element, "graph", graphs[random() % graphs.size()].c_str(), nullptr);
    --running;
  };
  std::thread one(set_many, 1), other(set_many, 2);
  while (running > 0) {
    (void)gst_element_set_state(element, GST_STATE_READY);  // fails with a faulty graph
    (void)gst_element_set_state(element, GST_STATE_NULL);
  }
  one.join();
  other.join();
  g_object_set(element, "graph", two_and_two.c_str(), nullptr);
  EXPECT_THAT(pads_of(element), UnorderedElementsAre("sink_a", "sink_b", "src_x", "src_y"));
  EXPECT_EQ(GST_BIN_NUMCHILDREN(element), 4);
  g_object_set(element, "graph", passthrough().c_str(), nullptr);
  EXPECT_THAT(pads_of(element), UnorderedElementsAre("sink", "src"));
  EXPECT_EQ(GST_BIN_NUMCHILDREN(element), 2);
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
  (void)gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

}  // namespace
}  // namespace holoflow::test
