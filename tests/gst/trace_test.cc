// SPDX-License-Identifier: LGPL-2.1-or-later
// What the element tells of its runs: trace-location, and rates in stats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gst_support.hh"

namespace holoflow::test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char source[] =
    "videotestsrc num-buffers=20 ! video/x-raw,format=GRAY8,width=8,height=4,framerate=30/1 ! ";
constexpr char small[] = "video/x-raw,format=GRAY8,width=8,height=4,framerate=30/1";
constexpr int passes = 12;  // of a compile

class Trace : public testing::Test {
protected:
  Trace() { std::filesystem::create_directories(folder); }
  ~Trace() override { std::filesystem::remove_all(folder); }

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("holoflow-trace-" + std::to_string(::getpid()));
  const std::string file = folder / "trace.json";
};

/// A trace as Perfetto reads it.
struct TraceFile {
  explicit TraceFile(const std::string &path) {
    std::ifstream file(path);
    const auto trace = nlohmann::json::parse(file);
    for (const auto &event : trace.at("traceEvents")) {
      if (event.at("name") == "thread_name")
        rows.insert(event.at("args").at("name").get<std::string>());
      if (event.at("ph") != "X")
        continue;
      EXPECT_GE(event.at("ts").get<double>(), 0.0);
      EXPECT_GE(event.at("dur").get<double>(), 0.0);
      const auto phase = event.at("cat").get<std::string>();
      ++spans[phase == "compile" ? phase : event.at("name").get<std::string>() + " " + phase];
      auto &time = phase == "compile" ? last_compile : first_run;
      time = phase == "compile" ? std::max(time, event.at("ts").get<double>())
                                : std::min(time, event.at("ts").get<double>());
    }
  }

  std::map<std::string, int> spans;  ///< by node and phase; those of compiles together
  std::set<std::string> rows;
  double last_compile = 0.0, first_run = 1e18;
};

// It has left the element when this returns.
void pass_a_frame(Harness &harness) {
  ASSERT_EQ(gst_harness_push(harness.get(), buffer_of(noise(32))), GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(harness.get()));
}

TEST_F(Trace, HoldsTheCompileAndEveryCallOfEverySection) {
  Pipeline pipeline(
      source + ("holoflowbin trace-location=" + file) +
      " graph=\"copy ! batchqueue ! copy\" ! fakesink");
  ASSERT_TRUE(pipeline.run());
  ASSERT_THAT(pipeline.errors(), IsEmpty());
  pipeline.set_state(GST_STATE_NULL);
  TraceFile trace(file);
  EXPECT_EQ(trace.spans["compile"], passes);
  for (const char *call :
       {"copy execute", "batchqueue push", "batchqueue pop", "copy1 execute", "output execute"})
    EXPECT_EQ(trace.spans[call], 20) << call;
  EXPECT_GE(trace.spans["input execute"] + trace.spans["input wait"], 20);
  EXPECT_THAT(trace.rows, ElementsAre("section 0, thread", "section 1, thread"));
  EXPECT_LT(trace.last_compile, trace.first_run) << "one clock";
}

TEST_F(Trace, HoldsEveryGraphThatReplacedAnother) {
  Harness harness(queued(), file);
  for (const char *caps : {small, "video/x-raw,format=GRAY8,width=4,height=8,framerate=30/1"}) {
    gst_harness_set_src_caps_str(harness.get(), caps);
    for (int i = 0; i < 3; ++i)
      pass_a_frame(harness);
  }
  TraceFile replaced(file);
  EXPECT_EQ(replaced.spans["out execute"], 3) << "written when the second graph came";
  EXPECT_EQ(replaced.spans["compile"], 2 * passes);
  gst_element_set_state(harness->element, GST_STATE_NULL);
  TraceFile both(file);
  EXPECT_EQ(both.spans["out execute"], 6);
  EXPECT_EQ(both.spans["compile"], 2 * passes);
}

TEST_F(Trace, HoldsRunsBehindAFlushAndBeginsAnewWithTheNextStart) {
  Harness harness(passthrough(), file);
  gst_harness_set_src_caps_str(harness.get(), small);
  for (int round = 0; round < 3; ++round) {
    pass_a_frame(harness);
    gst_harness_push_event(harness.get(), gst_event_new_flush_start());
    gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
  }
  gst_element_set_state(harness->element, GST_STATE_READY);
  EXPECT_EQ(TraceFile(file).spans["out execute"], 3);
  std::filesystem::remove(file);
  gst_element_set_state(harness->element, GST_STATE_PLAYING);
  gst_element_set_state(harness->element, GST_STATE_NULL);
  EXPECT_FALSE(std::filesystem::exists(file)) << "nothing was compiled and nothing ran";
}

TEST_F(Trace, OfARunThatFailedIsWrittenToo) {
  Harness harness("failat99", file);
  gst_harness_set_src_caps_str(harness.get(), small);
  gst_harness_push(harness.get(), buffer_of(std::vector<guint8>(32, 1)));
  gst_buffer_unref(gst_harness_pull(harness.get()));
  gst_harness_push(harness.get(), buffer_of(std::vector<guint8>(32, 99)));
  gst_element_set_state(harness->element, GST_STATE_NULL);
  EXPECT_EQ(TraceFile(file).spans["failat99 execute"], 1) << "the one that returned";
}

TEST_F(Trace, AFileThatCannotBeWrittenIsAWarningAndTheFramesFlow) {
  Pipeline pipeline(
      source +
      std::string("holoflowbin trace-location=/dev/null/below/trace.json graph=copy ! "
                  "fakesink"));
  ASSERT_TRUE(pipeline.run());
  EXPECT_THAT(pipeline.errors(), IsEmpty());
  EXPECT_TRUE(pipeline.saw_eos());
  const auto warnings = pipeline.messages_of(GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u) << "before the run: who looks when it is over?";
  EXPECT_THAT(
      warnings[0].text,
      HasSubstr("expected a file that can be written, got \"/dev/null/below/trace.json\""));
}

TEST_F(Trace, WithoutALocationNothingIsWritten) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  Pipeline pipeline(source + std::string("holoflowbin graph=copy ! fakesink"));
  EXPECT_TRUE(pipeline.run());
  pipeline.set_state(GST_STATE_NULL);
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

const GstStructure *part_of(const GstStructure *structure, const char *field) {
  const GValue *value = gst_structure_get_value(structure, field);
  EXPECT_NE(value, nullptr) << field;
  return value != nullptr ? gst_value_get_structure(value) : nullptr;
}

TEST(Stats, CountRunsOfEveryNodeBesideItsFrames) {
  Harness harness("copy ! batchqueue ! copy");
  gst_harness_set_src_caps_str(harness.get(), small);
  for (int i = 0; i < 5; ++i)
    pass_a_frame(harness);
  GstStructure *stats = harness.stats();
  const GstStructure *nodes = part_of(stats, "nodes");
  for (const char *name : {"copy", "batchqueue", "copy1"}) {  // the Output may still be in its call
    guint64 runs = 0;
    ASSERT_TRUE(gst_structure_get_uint64(part_of(nodes, name), "runs", &runs)) << name;
    EXPECT_EQ(runs, 5u) << name;
  }
  EXPECT_TRUE(gst_structure_has_field(part_of(nodes, "output"), "runs"));
  guint64 entered = 0;
  EXPECT_TRUE(gst_structure_get_uint64(part_of(nodes, "batchqueue"), "entered", &entered));
  EXPECT_EQ(entered, 5u);
  EXPECT_FALSE(gst_structure_has_field(part_of(nodes, "copy"), "entered")) << "it holds no frames";
  gst_structure_free(stats);
}

TEST(Stats, SaysWhatLimitsEachSectionFromTheSecondQuestionOn) {
  Harness harness("copy ! batchqueue ! copy");
  gst_harness_set_src_caps_str(harness.get(), small);
  const auto limiter_of = [](const GstStructure *stats, const char *section, double &rate) {
    const GstStructure *part = part_of(part_of(stats, "sections"), section);
    EXPECT_TRUE(gst_structure_get_double(part, "iterations-per-second", &rate));
    return std::string(gst_structure_get_string(part, "limiter"));
  };
  double rate = 0;
  GstStructure *first = harness.stats();
  EXPECT_EQ(limiter_of(first, "section_0", rate), "") << "measuring begins with the question";
  EXPECT_EQ(rate, 0.0);
  gst_structure_free(first);
  // Until the interval of the rates is over.
  std::string limiter;
  while (limiter.empty()) {
    pass_a_frame(harness);
    GstStructure *stats = harness.stats();
    limiter = limiter_of(stats, "section_0", rate);
    gst_structure_free(stats);
  }
  EXPECT_THAT(limiter, AnyOf("host", "upstream", "downstream"));
  EXPECT_GT(rate, 0.0);
}

}  // namespace
}  // namespace holoflow::test
