// SPDX-License-Identifier: LGPL-2.1-or-later
// What a run says about itself: rates, shares, traces.
#include <algorithm>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "../compiler/compile_fixture.hh"
#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/metrics.hh"
#include "holoflow/runtime/trace.hh"

namespace holoflow::test {

using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

class MetricsTest : public CompilerTest {
protected:
  /// Source → map → queue → sink that calls `at_frame`.
  void make(int count, std::function<void(int)> at_frame) {
    register_fake(
        registry, "Watch",
        SyncFake{
            .infer = [](auto, const auto &) { return contract(1, 0); },
            .create =
                [at_frame](auto, const auto &, const auto &) {
                  return std::make_unique<FunctionTask>([at_frame, frame = 0](auto &) mutable {
                    at_frame(frame++);
                    return OpResult::Ok;
                  });
                }});
    auto spec = chain({{"in", "Source"}, {"map", "Add"}, {"queue", "Queue"}, {"out", "Watch"}});
    spec.nodes[0].settings = {{"count", count}};
    output = compile(spec);
    scheduler = std::make_unique<runtime::Scheduler>(
        output->graph, output->sections, output->resources, std::chrono::milliseconds(0));
  }

  std::unique_ptr<runtime::CompilerOutput> output;
  std::unique_ptr<runtime::Scheduler> scheduler;
};

TEST_F(MetricsTest, RatesCountFromTheFirstQuestionOn) {
  std::latch half(1), asked(1);
  make(200, [&](int frame) {
    if (frame == 100) {
      half.count_down();
      asked.wait();
    }
  });
  scheduler->start();
  half.wait();
  EXPECT_EQ(scheduler->metrics().at("map").runs_per_second, 0.0) << "nothing was measured before";
  EXPECT_EQ(scheduler->section_metrics().begin()->second.limiter, "");
  asked.count_down();
  scheduler->wait();
  const auto nodes = scheduler->metrics();
  EXPECT_EQ(nodes.at("map").sample_count, 200u);
  EXPECT_EQ(nodes.at("out").sample_count, 200u);
  EXPECT_GT(nodes.at("out").runs_per_second, 0.0);
  EXPECT_GT(nodes.at("map").host_throughput_bytes_per_second, 0.0);
  EXPECT_GT(nodes.at("queue").average_fill, 0.0) << "it was full while the sink waited";
  const auto sections = scheduler->section_metrics();
  ASSERT_EQ(sections.size(), 2u);
  for (const auto &[name, section] : sections) {
    EXPECT_GT(section.iterations_per_second, 0.0) << name;
    EXPECT_GT(section.host_share, 0.0) << name;
    EXPECT_EQ(section.compute_share, 0.0) << name << " has no stream";
    EXPECT_THAT(section.limiter, AnyOf("host", "upstream", "downstream")) << name;
  }
}

TEST_F(MetricsTest, WhatWasStoppedBeginsAnew) {
  std::latch half(1), asked(1);
  make(200, [&](int frame) {
    if (frame == 100) {
      half.count_down();
      asked.wait();
    }
  });
  (void)scheduler->metrics();
  (void)scheduler->section_metrics();
  scheduler->start();
  half.wait();
  EXPECT_GT(scheduler->metrics().at("map").runs_per_second, 0.0);
  const auto measured = scheduler->metrics().at("map").sample_count;
  scheduler->stop_metrics();
  asked.count_down();
  scheduler->wait();
  const auto nodes = scheduler->metrics();
  EXPECT_EQ(nodes.at("map").runs_per_second, 0.0) << "a first question again";
  EXPECT_EQ(nodes.at("map").average_duration_ms, 0.0);
  EXPECT_GE(nodes.at("map").sample_count, measured);
  EXPECT_EQ(scheduler->section_metrics().begin()->second.limiter, "");
}

TEST_F(MetricsTest, ATraceShowsEveryCallAndEverySection) {
  make(20, [](int) {});
  scheduler->set_trace(1000);
  scheduler->start();
  scheduler->wait();
  std::map<std::string, int> calls;
  std::set<std::string> rows;
  const auto trace = scheduler->trace();
  for (const auto &event : trace.at("traceEvents")) {
    if (event.at("name") == "thread_name")
      rows.insert(event.at("args").at("name").get<std::string>());
    if (event.at("ph") != "X")
      continue;
    EXPECT_GE(event.at("ts").get<double>(), 0.0);
    EXPECT_GE(event.at("dur").get<double>(), 0.0);
    if (event.at("cat") != "wait")
      ++calls[event.at("name").get<std::string>() + " " + event.at("cat").get<std::string>()];
  }
  EXPECT_EQ(calls["map execute"], 20);
  EXPECT_EQ(calls["queue push"], 20);
  EXPECT_EQ(calls["queue pop"], 20);
  EXPECT_EQ(calls["out execute"], 20);
  EXPECT_THAT(rows, SizeIs(2));
}

TEST_F(MetricsTest, ATraceCountsFromWhereItIsTold) {
  make(20, [](int) {});
  scheduler->set_trace(1000);
  const auto begin = std::chrono::steady_clock::now();
  scheduler->start();
  scheduler->wait();
  const std::chrono::duration<double, std::micro> length(std::chrono::steady_clock::now() - begin);
  const auto trace = scheduler->trace(begin);
  double first = length.count();
  for (const auto &event : trace.at("traceEvents")) {
    if (event.at("ph") != "X")
      continue;
    const double time = event.at("ts").get<double>();
    EXPECT_GE(time, 0.0);
    EXPECT_LE(time + event.at("dur").get<double>(), length.count());
    first = std::min(first, time);
  }
  EXPECT_GT(first, 0.0) << "by default it would be 0";
}

TEST_F(MetricsTest, ATraceKeepsTheNewestSpansAndWithoutOneThereIsNone) {
  make(50, [](int) {});
  scheduler->set_trace(3);
  scheduler->start();
  scheduler->wait();
  std::map<int, int> spans;
  const auto newest = scheduler->trace();
  for (const auto &event : newest.at("traceEvents"))
    if (event.at("ph") == "X")
      ++spans[event.at("tid").get<int>()];
  EXPECT_THAT(spans, SizeIs(2));
  for (const auto &[row, count] : spans)
    EXPECT_EQ(count, 3) << row;
  scheduler->set_trace(0);
  scheduler->start();
  scheduler->wait();
  const auto none = scheduler->trace();
  for (const auto &event : none.at("traceEvents"))
    EXPECT_NE(event.at("ph"), "X");
}

TEST(Probe, MeasuresOnlyWhileItShall) {
  runtime::Probe probe(nullptr, nullptr);
  probe.begin_run(nullptr);
  const auto iterate = [&](bool measuring) {
    probe.begin_iteration(measuring);
    const auto counted_from = probe.now();
    probe.waited(runtime::Probe::Wait::Device, nullptr, counted_from);
    probe.end_iteration();
    return counted_from;
  };
  iterate(true);
  EXPECT_EQ(probe.counters.iterations, 1u);
  const uint64_t waited = probe.counters.device_wait_ns;
  iterate(false);
  EXPECT_EQ(probe.counters.iterations, 1u);
  EXPECT_EQ(probe.counters.device_wait_ns, waited);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_GE(iterate(true), before) << "the time between belongs to nothing";
  EXPECT_EQ(probe.counters.iterations, 2u);
}

TEST(SectionTrace, IsARing) {
  static const char *const names[] = {"a", "b", "c", "d"};
  runtime::SectionTrace trace;
  trace.reset(3);
  for (const auto *name : names)
    trace.add({.name = name});
  std::string order;
  for (const auto &span : trace.spans())
    order += span.name;
  EXPECT_EQ(order, "bcd");
}

TEST(SectionMetrics, ABusyStreamIsTheLimiterHoweverLongThreadsWait) {
  runtime::SectionCounters counters;
  core::Registry registry;
  FakeTasks fakes(registry);
  core::GraphSpec spec;
  spec.add_node("in", "Source").add_node("out", "Sink").connect("in", 0, "out", 0);
  const auto output =
      runtime::Compiler(registry, {.device = runtime::CompilerConfig::Device::Cpu}).compile(spec);
  holoflow_event::Router router;
  std::deque<runtime::Waker> wakers(1);
  runtime::NodeRuntimes nodes(output->graph, output->sections, output->resources, router, wakers);
  runtime::Metrics metrics(std::chrono::milliseconds(0));
  const std::vector<runtime::Metrics::Source> sources{{&output->sections[0], &counters}};
  const auto read = [&] { return metrics.read_sections(sources, nodes).begin()->second; };
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(read().limiter, "");
  // Ten iterations in whatever time passes between the readings, all of it spent on downloads.
  counters.iterations = 10;
  counters.sampled_iterations = 10;
  while (std::chrono::steady_clock::now() - begin < std::chrono::microseconds(100)) {
  }
  const auto spent = std::chrono::steady_clock::now() - begin;
  counters.download_ns = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(1000 * spent).count());
  counters.upstream_ns = 2 * counters.download_ns;
  EXPECT_EQ(read().limiter, "download");
}

TEST(SectionMetrics, WaitingForTheApplicationIsDownstream) {
  // Says that each frame waited for an hour.
  class SlowSink final : public runtime::IFrameSink {
  public:
    OpResult on_frames(runtime::OutputFrames &&frames) override {
      frames.release();
      return OpResult::Ok;
    }
    void on_end(bool) override {}
    void interrupt() noexcept override {}
    std::chrono::nanoseconds take_waiting_time() override { return std::chrono::hours(1); }
  } sink;
  core::Registry registry;
  register_builtin_tasks(registry);
  const core::TDesc tensor({1, 2, 2}, core::DType::U8, core::MemLoc::Host);
  const auto output =
      runtime::Compiler(
          registry, {.device = runtime::CompilerConfig::Device::Cpu, .inputs = {{"input", tensor}}})
          .compile(core::GraphSpec::from_chain("copy", registry.keys()));
  auto &tasks = output->resources.tasks;
  dynamic_cast<runtime::IFrameOutput &>(*tasks.at("output")).set_sink(&sink);
  auto &input = dynamic_cast<runtime::IFrameInput &>(*tasks.at("input"));
  runtime::Scheduler scheduler(
      output->graph, output->sections, output->resources, std::chrono::milliseconds(0));
  (void)scheduler.metrics();
  (void)scheduler.section_metrics();
  scheduler.start();
  const std::vector<std::byte> pixels(tensor.num_bytes());
  for (int i = 0; i < 3; ++i) {
    runtime::InputFrames frames;
    frames.data = pixels.data();
    frames.desc = tensor;
    ASSERT_EQ(input.push(std::move(frames)), runtime::IFrameInput::PushResult::Ok);
  }
  input.end();
  scheduler.wait();
  const auto nodes = scheduler.metrics();
  EXPECT_GT(nodes.at("output").waiting_share, 1.0);
  const auto section = scheduler.section_metrics().begin()->second;
  EXPECT_EQ(section.limiter, "downstream");
  EXPECT_GT(section.downstream_share, section.host_share);
}

TEST(TimedWait, LooksAtNoClockWhereNothingHasToBeWaitedFor) {
  std::mutex mutex;
  std::condition_variable variable;
  runtime::TimedWait timed;
  std::unique_lock lock(mutex);
  timed.wait(variable, lock, [] { return true; });
  EXPECT_EQ(timed.take().count(), 0);
  std::atomic<bool> done = false;
  const std::jthread notifier([&] {
    while (!done)
      variable.notify_all();
  });
  int looks = 0;
  timed.wait(variable, lock, [&] { return ++looks > 3; });
  done = true;
  EXPECT_GT(timed.take().count(), 0);
  EXPECT_EQ(timed.take().count(), 0) << "asked twice";
}

}  // namespace holoflow::test
