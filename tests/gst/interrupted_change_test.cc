// SPDX-License-Identifier: LGPL-2.1-or-later
// A change that is interrupted or fails leaves what was before; what comes behind it works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "../support/watchdog.hh"
#include "stream_script.hh"

namespace holoflow::test {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;

// No graph takes them, and no capsfilter for GRAY8.
constexpr char refused_caps[] = "video/x-raw,format=GRAY16_BE,width=8,height=4,framerate=30/1";

class InterruptedChange : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(Subjects, InterruptedChange, ::testing::ValuesIn(all_subjects()), name_of);

// Other caps come while four frames cannot leave, then a flushing seek.
Script flush_during_change(const std::string &other_caps, const Script &behind) {
  Script script{
      begin(),
      close_gate(),
      beside({frames(0), caps(other_caps), frames_until_refused(500)}),
      await_blocked(),
      await_asleep(),
      flush_start(),
      [](Rig &rig) {
        (void)join()(rig);  // which of its steps is refused depends on the element
        return "";
      },
      flush_stop()};
  script.insert(script.end(), behind.begin(), behind.end());
  for (const auto &step : {frames(100000), eos(), await("eos")})
    script.push_back(step);
  return script;
}

std::vector<std::string> buffers_behind_flush(const Subject &subject, const Account &account) {
  auto buffers = buffers_with_caps(account.left);
  std::erase_if(buffers, [](const std::string &text) { return text.size() < 6 || text[5] == ' '; });
  std::erase_if(buffers, [&](const std::string &text) {
    return subject.warm_up > 0 && text.starts_with("100000 ");
  });
  return buffers;
}

void expect_caps_behind_flush(
    const Subject &subject, const Script &script, const std::string &caps) {
  const Account account = play(subject, script);
  std::vector<std::string> expected;
  for (size_t i = subject.warm_up; i < 4; ++i)
    expected.push_back("1000" + std::to_string(i) + "0 in " + caps);
  EXPECT_EQ(buffers_behind_flush(subject, account), expected)
      << ::testing::PrintToString(account.left);
  EXPECT_EQ(account.left.back(), "eos");
  EXPECT_THAT(account.returned, Contains("ok ok ok ok "));
}

TEST_P(InterruptedChange, CapsThatAFlushInterruptsWorkBehindIt) {
  for (const auto &[text, seen] :
       {std::pair(larger_caps, "16x8 30/1"), std::pair(faster_caps, "8x4 60/1")}) {
    SCOPED_TRACE(seen);
    expect_caps_behind_flush(GetParam(), flush_during_change(text, {segment(100000)}), seen);
  }
}

TEST_P(InterruptedChange, CapsThatAFlushInterruptsWorkWhenTheyComeAgain) {
  expect_caps_behind_flush(
      GetParam(), flush_during_change(larger_caps, {caps(larger_caps), segment(100000)}),
      "16x8 30/1");
}

TEST_P(InterruptedChange, TheCapsOfBeforeWorkBehindAFlush) {
  expect_caps_behind_flush(
      GetParam(), flush_during_change(larger_caps, {caps(small_caps), segment(100000)}),
      "8x4 30/1");
}

TEST_P(InterruptedChange, ADeactivatedSinkPadWorksAgain) {
  expect_like_identity(
      GetParam(),
      {begin("a"), frames(0), await("buffer 30"), set_active("sink", false),
       frames_until_refused(40), set_active("sink", true), begin("b"), frames(1000), eos(),
       await("eos")});
}

TEST_P(InterruptedChange, ADeactivatedSourcePadWorksAgain) {
  expect_like_identity(
      GetParam(),
      {begin("a"), frames(0), await("buffer 30"), set_active("src", false),
       frames_until_refused(40), set_active("src", true), begin("b"), frames(1000), eos(),
       await("eos")});
}

TEST_P(InterruptedChange, DeactivatedPadsWorkAgainInAnyOrder) {
  using Order = std::array<const char *, 4>;
  for (const Order &order :
       {Order{"sink", "src", "sink", "src"}, Order{"sink", "src", "src", "sink"},
        Order{"src", "sink", "sink", "src"}, Order{"src", "sink", "src", "sink"}}) {
    SCOPED_TRACE(::testing::PrintToString(order));
    expect_like_identity(
        GetParam(),
        {begin("a"), frames(0), await("buffer 30"), set_active(order[0], false),
         set_active(order[1], false), frames_until_refused(40), set_active(order[2], true),
         set_active(order[3], true), begin("b"), frames(1000), eos(), await("eos")});
  }
}

TEST_P(InterruptedChange, APadThatIsDeactivatedAndActivatedTwiceWorksAgain) {
  for (const char *pad : {"sink", "src"}) {
    SCOPED_TRACE(pad);
    expect_like_identity(
        GetParam(),
        {begin("a"), frames(0), await("buffer 30"), set_active(pad, false), set_active(pad, false),
         set_active(pad, true), set_active(pad, true), begin("b"), frames(1000), eos(),
         await("eos")});
  }
}

// queue is no yardstick: its sink pad alone does not start the task again that ended with EOS.
class ReactivatedBehindEos : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(
    Subjects, ReactivatedBehindEos, ::testing::ValuesIn(identity_and_graphs()), name_of);

TEST_P(ReactivatedBehindEos, APadWorksAgain) {
  for (const char *pad : {"sink", "src"}) {
    SCOPED_TRACE(pad);
    expect_like_identity(
        GetParam(),
        {begin("a"), frames(0), eos(), await("eos"), set_active(pad, false), set_active(pad, true),
         begin("b"), frames(1000), eos(), await("eos", 2)});
  }
}

// A capsfilter refuses caps, too.
const Subject grey_only{.name = "capsfilter", .caps = "video/x-raw,format=GRAY8"};

class RefusedChange : public ::testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(Subjects, RefusedChange, ::testing::ValuesIn(graphs()), name_of);

TEST_P(RefusedChange, GoodCapsWorkBehindRefusedOnes) {
  expect_like(
      grey_only, GetParam(),
      {begin("a", refused_caps), frames(0), caps(small_caps), segment(), frames(1000), eos(),
       await("eos")});
}

TEST_P(RefusedChange, TheCapsOfBeforeWorkBehindRefusedOnes) {
  expect_like(
      grey_only, GetParam(),
      {begin(), frames(0), await("buffer 30"), caps(refused_caps), frames(40), caps(small_caps),
       frames(1000), eos(), await("eos")});
}

TEST_P(RefusedChange, OtherCapsWorkBehindRefusedOnes) {
  expect_like(
      grey_only, GetParam(),
      {begin(), frames(0), await("buffer 30"), caps(refused_caps), frames(40), caps(refused_caps),
       frames(80), caps(larger_caps), frames(1000), eos(), await("eos")});
}

// Its Reshape fits frames of 32 elements, with `fits_larger` those of 128.
std::string reshaping() {
  return R"({"nodes":{"in":{"type":"Input","params":{"as":"GRAY"}},)"
         R"("r":{"type":"Reshape","params":{"shape":[1,8,4]}},"out":{"type":"Output"}},)"
         R"("edges":["in->r","r->out"]})";
}
constexpr char also_fits[] = R"({"r":{"shape":[1,2,16]}})";
constexpr char fits_larger[] = R"({"r":{"shape":[1,16,8]}})";

std::string settings_of(const Rig &rig) {
  gchar *text = nullptr;
  g_object_get(rig.element(), "settings", &text, nullptr);
  const std::string result = text != nullptr ? text : "none";
  g_free(text);
  return result;
}

void set_settings(const Rig &rig, const char *text) {
  g_object_set(rig.element(), "settings", text, nullptr);
}

TEST(RefusedCaps, OfASizeThatTheGraphDoesNotFitLeaveTheOldOnes) {
  const Watchdog watchdog("refused caps");
  Rig rig({.name = "reshaping", .graph = reshaping()});
  begin()(rig);
  EXPECT_EQ(frames(0)(rig), "ok ok ok ok ");
  caps(larger_caps)(rig);
  EXPECT_EQ(frames(40, 1)(rig), "not-negotiated ");
  caps(small_caps)(rig);
  EXPECT_EQ(frames(1000)(rig), "ok ok ok ok ");
  eos()(rig);
  ASSERT_TRUE(rig.await("eos"));
  EXPECT_EQ(buffers_with_caps(rig.left()).size(), 8u);
}

TEST(RefusedSettings, LeaveTheOldValueOfTheProperty) {
  for (const char *before : {static_cast<const char *>(nullptr), also_fits}) {
    const std::string expected = before != nullptr ? before : "none";
    SCOPED_TRACE(expected);
    const Watchdog watchdog("refused settings");
    Rig rig({.name = "reshaping", .graph = reshaping()});
    if (before != nullptr)
      set_settings(rig, before);
    begin()(rig);
    EXPECT_EQ(frames(0)(rig), "ok ok ok ok ");
    set_settings(rig, fits_larger);
    EXPECT_EQ(frames(40)(rig), "ok ok ok ok ");
    ASSERT_TRUE(rig.await("buffer 70"));
    EXPECT_EQ(settings_of(rig), expected);
    EXPECT_EQ(rig.messages(GST_MESSAGE_WARNING).size(), 1u);
    EXPECT_EQ(rig.messages(GST_MESSAGE_ERROR).size(), 0u);
  }
}

// Refused at a buffer that comes before the caps, or at the caps.
TEST(RefusedSettings, LeaveTheNextCapsWorking) {
  for (const bool with_buffer : {true, false}) {
    SCOPED_TRACE(with_buffer);
    const Watchdog watchdog("caps behind refused settings");
    Rig rig({.name = "reshaping", .graph = reshaping()});
    begin()(rig);
    EXPECT_EQ(frames(0)(rig), "ok ok ok ok ");
    set_settings(rig, fits_larger);
    if (with_buffer) {
      EXPECT_EQ(frames(40)(rig), "ok ok ok ok ");
    }
    caps(faster_caps)(rig);
    EXPECT_EQ(frames(1000)(rig), "ok ok ok ok ");
    eos()(rig);
    ASSERT_TRUE(rig.await("eos"));
    EXPECT_THAT(
        buffers_with_caps(rig.left()),
        IsSupersetOf(
            {"1000 in 4x8 60/1", "1010 in 4x8 60/1", "1020 in 4x8 60/1", "1030 in 4x8 60/1"}));
    EXPECT_EQ(settings_of(rig), "none");
  }
}

// Settings that no caps could meet are refused where they are set.
TEST(RefusedSettings, OfAnUnknownParamLeaveCapsAndPropertyAlone) {
  const Watchdog watchdog("faulty settings");
  Rig rig({.name = "reshaping", .graph = reshaping()});
  begin()(rig);
  EXPECT_EQ(frames(0)(rig), "ok ok ok ok ");
  set_settings(rig, R"({"r":{"shapes":[1,2,16]}})");
  EXPECT_EQ(settings_of(rig), "none");
  caps(faster_caps)(rig);
  EXPECT_EQ(frames(1000)(rig), "ok ok ok ok ");
  eos()(rig);
  ASSERT_TRUE(rig.await("eos"));
  EXPECT_EQ(buffers_with_caps(rig.left()).size(), 8u);
}

}  // namespace
}  // namespace holoflow::test
