// SPDX-License-Identifier: LGPL-2.1-or-later
// What a run on a GPU says about itself: device spans, device shares, ranges for a profiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/emulated/control.hh"
#include "tests/emulated/expect_same.hh"

namespace holoflow::emulated {
namespace {

using runtime::CompilerConfig;
using runtime::GraphRunner;
using testing::Contains;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using Clock = std::chrono::steady_clock;

const core::TDesc frame({1, 16, 32}, core::DType::F32, core::MemLoc::Host);
constexpr int frames = 50;
constexpr char chain[] =
    "upload ! batchqueue ! affine scale=2 offset=1 ! sqrt ! batchqueue ! download";

class TraceOfAGpu : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_NE(control(), nullptr);
    control()->reset();
  }
  void TearDown() override {
    ::unsetenv("NVTX_INJECTION64_PATH");
    if (control() != nullptr)
      control()->reset();
  }

  void start(size_t trace_spans) {
    const emulated::Run what = chain_run(chain, frame, frames);
    CompilerConfig config;
    config.device = CompilerConfig::Device::Cuda;
    config.inputs = what.inputs;
    config.trace_spans = trace_spans;
    begin_ = Clock::now();
    runner_.emplace(GraphRunner::from_spec(what.graph, config));
  }

  void push_and_pop_everything() {
    const std::vector<float> pixels(frame.num_elements(), 4.0f);
    {
      const std::jthread feeder([&] {
        for (int number = 0; number < frames; ++number)
          ASSERT_TRUE(runner_->push("input", pixels.data(), frame));
        runner_->end();
      });
      int popped = 0;
      while (runner_->pop("output"))
        ++popped;
      EXPECT_EQ(popped, frames);
    }
    runner_->scheduler().wait();
  }

  std::optional<GraphRunner> runner_;
  Clock::time_point begin_;
};

/// What a trace holds, by row.
struct Rows {
  explicit Rows(const nlohmann::json &trace) {
    for (const auto &event : trace.at("traceEvents"))
      if (event.at("name") == "thread_name")
        names[event.at("tid").get<int>()] = event.at("args").at("name").get<std::string>();
    for (const auto &event : trace.at("traceEvents"))
      if (event.at("ph") == "X")
        spans[names.at(event.at("tid").get<int>())].push_back(event);
  }

  std::map<int, std::string> names;
  std::map<std::string, std::vector<nlohmann::json>> spans;
};

}  // namespace

TEST_F(TraceOfAGpu, DeviceSpansLieOnTheRowOfTheStreamAndInsideTheRun) {
  start(10'000);
  push_and_pop_everything();
  const double length = std::chrono::duration<double, std::micro>(Clock::now() - begin_).count();
  const Rows rows(runner_->scheduler().trace(begin_));
  std::map<std::string, int> runs;  // on the device
  for (const auto &[row, spans] : rows.spans)
    for (const auto &span : spans) {
      const bool on_stream = row.ends_with(", stream");
      if (span.at("cat") == "replay")
        EXPECT_EQ(span.at("args").at("nodes"), "affine, sqrt");
      else
        EXPECT_EQ(span.at("cat") == "device", on_stream) << row << ": " << span.dump();
      EXPECT_GE(span.at("ts").get<double>(), 0.0) << span.dump();
      EXPECT_LE(span.at("ts").get<double>() + span.at("dur").get<double>(), length) << span.dump();
      EXPECT_GE(span.at("dur").get<double>(), 0.0) << span.dump();
      if (on_stream)
        ++runs[span.at("name").get<std::string>()];
    }
  for (const char *node : {"upload", "affine … sqrt", "download"}) {
    EXPECT_GT(runs[node], 0) << node;
    EXPECT_LE(runs[node], frames) << node;
  }
  EXPECT_THAT(runs, Not(Contains(Key("input")))) << "it touches Host memory only";
  EXPECT_THAT(runs, Not(Contains(Key("output"))));
}

TEST_F(TraceOfAGpu, WorkOfAStreamIsShownInOrderAndOnePieceAtATime) {
  start(10'000);
  push_and_pop_everything();
  for (const auto &[row, spans] : Rows(runner_->scheduler().trace()).spans) {
    if (!row.ends_with(", stream"))
      continue;
    double last_end = 0;
    for (const auto &span : spans) {
      const double begin = span.at("ts").get<double>();
      EXPECT_GE(begin, last_end - 0.01) << row;  // a hundredth of a µs for rounding
      last_end = begin + span.at("dur").get<double>();
    }
  }
}

TEST_F(TraceOfAGpu, MetricsHaveDeviceTimeAfterTwoQuestionsAlsoOfNodesThatAreRecorded) {
  start(0);
  auto &scheduler = runner_->scheduler();
  scheduler.set_metrics_interval(std::chrono::milliseconds(0));
  EXPECT_EQ(scheduler.metrics().at("affine").average_device_duration_ms, 0.0);
  EXPECT_EQ(scheduler.section_metrics().begin()->second.limiter, "");
  scheduler.set_device_rates({.to_device = 1e9, .to_host = 2e9, .memory = 4e9});
  push_and_pop_everything();
  const auto nodes = scheduler.metrics();
  for (const char *node : {"upload", "affine", "sqrt", "download"})
    EXPECT_GT(nodes.at(node).average_device_duration_ms, 0.0) << node;
  EXPECT_EQ(nodes.at("input").average_device_duration_ms, 0.0);
  const auto sections = scheduler.section_metrics();
  ASSERT_EQ(sections.size(), 3u);
  double upload = 0, compute = 0, download = 0, link_share = 0, memory_share = 0;
  for (const auto &[name, section] : sections) {
    EXPECT_NE(section.limiter, "") << name;
    EXPECT_GT(section.upload_share + section.compute_share + section.download_share, 0.0) << name;
    upload += section.upload_share;
    compute += section.compute_share;
    download += section.download_share;
    EXPECT_DOUBLE_EQ(section.to_device_rate_share, section.upload_bytes_per_second / 1e9);
    EXPECT_DOUBLE_EQ(section.to_host_rate_share, section.download_bytes_per_second / 2e9);
    EXPECT_DOUBLE_EQ(section.memory_rate_share, section.device_bytes_per_second / 4e9);
    link_share += section.to_device_rate_share + section.to_host_rate_share;
    memory_share += section.memory_rate_share;
  }
  EXPECT_GT(link_share, 0.0);
  EXPECT_GT(memory_share, 0.0);
  EXPECT_GT(upload, 0.0);
  EXPECT_GT(compute, 0.0);
  EXPECT_GT(download, 0.0);
}

TEST_F(TraceOfAGpu, WithoutATraceOrAQuestionNothingIsTimed) {
  start(0);
  push_and_pop_everything();
  EXPECT_THAT(Rows(runner_->scheduler().trace()).spans, IsEmpty());
  EXPECT_EQ(control()->timed_events(), 0u);
}

TEST_F(TraceOfAGpu, AProfilerSeesEveryCallByTheNameOfItsNode) {
  ::setenv("NVTX_INJECTION64_PATH", "/nowhere", 1);
  start(0);
  push_and_pop_everything();
  EXPECT_EQ(control()->open_ranges(), 0);
  const auto ranges = control()->ranges();
  std::set<std::string> names;
  for (const auto &[name, count] : ranges) {
    names.insert(name);
    // Nodes of a run are called while it is recorded, once more to see its padding, and again when
    // its memory has moved.
    const bool is_recorded = name == "affine" || name == "sqrt";
    EXPECT_GE(count, static_cast<uint64_t>(is_recorded ? 1 : frames)) << name;
    EXPECT_LE(count, static_cast<uint64_t>(is_recorded ? 3 : 10 * frames)) << name;
  }
  std::set<std::string> nodes = {"affine … sqrt"};
  for (const auto &node : runner_->compiled().graph.nodes)
    nodes.insert(node.spec.name);
  EXPECT_EQ(names, nodes);
}

TEST_F(TraceOfAGpu, ARangeEndsWithACallThatFails) {
  ::setenv("NVTX_INJECTION64_PATH", "/nowhere", 1);
  const emulated::Run what = chain_run(chain, frame, 3);
  (void)emulated::run(what, CompilerConfig::Device::Cuda);
  const auto calls = control()->calls();
  constexpr uint64_t places = 40;
  for (uint64_t place = 1; place <= places; ++place) {
    control()->reset();
    control()->fail_call(calls * place / places);
    (void)emulated::run(what, CompilerConfig::Device::Cuda);
    EXPECT_EQ(control()->open_ranges(), 0) << place;
  }
}

TEST_F(TraceOfAGpu, WithoutAProfilerNoRangeBegins) {
  start(10'000);
  push_and_pop_everything();
  EXPECT_THAT(control()->ranges(), IsEmpty());
}

}  // namespace holoflow::emulated
