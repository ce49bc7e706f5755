// SPDX-License-Identifier: LGPL-2.1-or-later
// Running graphs of fake tasks: order, ends, errors, ownership, restarts (cases C4, C7, C35–C40).
#include <algorithm>
#include <latch>
#include <numeric>
#include <random>

#include "../compiler/compile_fixture.hh"
#include "../support/watchdog.hh"
#include "holoflow/core/error.hh"

namespace holoflow::test {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// A foreign queue whose push returns only once the node behind it has seen the frame.
class EarlyQueue final : public core::IAsyncTask {
public:
  explicit EarlyQueue(std::atomic<int> &seen) : seen_(seen) {}

  OpResult try_push(core::AsyncPushCtx &) override {
    const int number = ++pushed_;
    for (int seen = seen_; seen < number; seen = seen_)
      seen_.wait(seen);
    return OpResult::Ok;
  }
  OpResult try_pop(core::AsyncPopCtx &) override {
    if (popped_ == pushed_)
      return OpResult::NotReady;
    ++popped_;
    return OpResult::Ok;
  }

private:
  std::atomic<int> &seen_;
  std::atomic<int> pushed_ = 0;
  int popped_ = 0;  // the consumer's
};

class SchedulerTest : public CompilerTest {
protected:
  /// Compiles and runs until the graph ends by itself; rethrows what failed.
  void run(const core::GraphSpec &spec) {
    output = compile(spec);
    scheduler =
        std::make_unique<runtime::Scheduler>(output->graph, output->sections, output->resources);
    scheduler->start();
    scheduler->wait();
  }

  /// "Number": writes a record for each of its frames. `token`, where given, makes what the record
  /// holds on to.
  void add_numbering(uint64_t count, std::function<std::shared_ptr<void>()> token = {}) {
    register_fake(
        registry, "Number",
        SyncFake{
            .infer =
                [](auto, const auto &) {
                  auto result = contract(0, 1);
                  result.writes_records = {true};
                  return result;
                },
            .create =
                [count, token](auto, const auto &, const auto &) {
                  return std::make_unique<FunctionTask>(
                      [count, token, next = uint64_t{0}](core::SyncCtx &ctx) mutable {
                        auto &record = ctx.output_records[0][0];
                        record.sequence = next;
                        if (token)
                          record.owner = token();
                        return next++ < count ? OpResult::Ok : OpResult::Eof;
                      });
                }});
  }

  static core::NodeSpec source(
      const std::string &name, int count, float first = 0, float step = 1) {
    return {name, "Source", {{"count", count}, {"first", first}, {"step", step}}};
  }

  static std::vector<float> counting(size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 0.0f);
    return values;
  }

  std::string failure_of(const core::GraphSpec &spec) {
    try {
      run(spec);
    } catch (const core::TaskError &error) {
      failed_node = error.node;
      return error.what();
    }
    return {};
  }

  /// Registers a synchronous type with one input and one output that calls `function`.
  void add_map(const std::string &kind, FunctionTask::Function function) {
    register_fake(
        registry, kind,
        SyncFake{
            .infer = [](auto, const auto &) { return contract(1, 1); },
            .create =
                [function](auto, const auto &, const auto &) {
                  return std::make_unique<FunctionTask>(function);
                }});
  }

  std::unique_ptr<runtime::CompilerOutput> output;
  std::unique_ptr<runtime::Scheduler> scheduler;
  std::string failed_node;
};

TEST_F(SchedulerTest, C4_ThreeSectionsKeepOrder) {
  core::GraphSpec spec;
  spec.add_node(source("A", 4, 1)).add_node("Q1", "Queue", {{"capacity", 2}});
  spec.add_node("B", "Sum").add_node("Q2", "Queue", {{"capacity", 1}}).add_node("C", "Sink");
  spec.connect("A", 0, "Q1", 0).connect("Q1", 0, "B", 0).connect("Q1", 0, "B", 1);
  spec.connect("Q1", 0, "B", 2).connect("B", 0, "Q2", 0).connect("Q2", 0, "C", 0);
  run(spec);
  EXPECT_THAT(fakes.results(), ElementsAre(3, 6, 9, 12));
}

TEST_F(SchedulerTest, C7_FanInOfTwoQueues) {
  core::GraphSpec spec;
  spec.add_node(source("A", 2, 3, 3)).add_node(source("B", 2, 4, 4));
  spec.add_node("Q1", "Queue")
      .add_node("Q2", "OwnedQueue")
      .add_node("D", "Sum")
      .add_node("S", "Sink");
  spec.connect("A", 0, "Q1", 0).connect("B", 0, "Q2", 0).connect("Q1", 0, "D", 0);
  spec.connect("Q2", 0, "D", 1).connect("D", 0, "S", 0);
  run(spec);
  EXPECT_THAT(fakes.results(), ElementsAre(7, 14));
}

TEST_F(SchedulerTest, C35_EverythingDrainsAtTheEnd) {
  for (const auto *queue : {"Queue", "OwnedQueue", "Foreign"}) {
    core::GraphSpec spec;
    spec.add_node(source("A", 4)).add_node("Q", queue, {{"capacity", 2}});
    spec.add_node("B", "Sink", {{"name", queue}});
    spec.connect("A", 0, "Q", 0).connect("Q", 0, "B", 0);
    run(spec);
    EXPECT_THAT(fakes.results(queue), ElementsAre(0, 1, 2, 3)) << queue;
    EXPECT_FALSE(scheduler->is_running());
  }
}

TEST_F(SchedulerTest, C39_AcquireIsRetriedAndReleaseCountsOkIterations) {
  core::GraphSpec spec;
  spec.add_node(source("A", 5))
      .add_node("Q", "OwnedQueue", {{"capacity", 2}})
      .add_node("B", "Sink");
  spec.connect("A", 0, "Q", 0).connect("Q", 0, "B", 0);
  run(spec);
  EXPECT_THAT(fakes.results(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(fakes.journal.count("release"), 5u);
  EXPECT_GE(fakes.journal.count("acquire"), 7u);  // the first is refused, the sixth ends in Eof
  EXPECT_EQ(fakes.journal.count("abandon"), 1u);  // what was acquired for the iteration that ended
  auto &adapter = *output->resources.node_storage_adapters.at("Q");
  EXPECT_THROW((void)adapter.owned_input_storage(1), std::out_of_range);
  EXPECT_THROW(
      (void)output->resources.node_storage_adapters.at("B")->owned_input_storage(0),
      std::out_of_range);
}

TEST_F(SchedulerTest, C36_NotReadyFromASynchronousTaskIsAnError) {
  add_map("Lazy", [](core::SyncCtx &) { return OpResult::NotReady; });
  auto spec = chain({{"A", "Source"}, {"x", "Lazy"}, {"B", "Sink"}});
  EXPECT_THAT(
      failure_of(spec),
      HasSubstr("running: node \"x\" (Lazy), execute, in section 0: a "
                "synchronous task returned NotReady"));
  EXPECT_EQ(failed_node, "x");
}

TEST_F(SchedulerTest, C36_CancelledFromATaskEndsItsSection) {
  add_map("Cancel", [](core::SyncCtx &) { return OpResult::Cancelled; });
  run(chain({{"A", "Source"}, {"x", "Cancel"}, {"B", "Sink"}}));
  EXPECT_TRUE(fakes.results().empty());
}

TEST_F(SchedulerTest, FirstErrorEndsTheRunAndIsRethrownOnce) {
  int left = 3;
  add_map("Fails", [&left](core::SyncCtx &) -> OpResult {
    if (--left == 0)
      throw std::runtime_error("lens cap is on");
    return OpResult::Ok;
  });
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("Q", "Queue").add_node("x", "Fails").add_node("B", "Sink");
  spec.connect("A", 0, "Q", 0).connect("Q", 0, "x", 0).connect("x", 0, "B", 0);
  EXPECT_EQ(failure_of(spec), "running: node \"x\" (Fails), execute, in section 1: lens cap is on");
  EXPECT_FALSE(scheduler->is_running());
  EXPECT_NO_THROW(scheduler->wait());
  EXPECT_EQ(fakes.results().size(), 2u);
}

TEST_F(SchedulerTest, C38_CallsAreIdempotentAndStopEndsEndlessGraphs) {
  output = compile(
      chain({{"A", "Source"}, {"Q1", "Queue"}, {"B", "Add"}, {"Q2", "Queue"}, {"C", "Sink"}}));
  runtime::Scheduler runs(output->graph, output->sections, output->resources);
  runs.request_stop();
  EXPECT_FALSE(runs.is_running());
  runs.start();
  runs.start();
  EXPECT_TRUE(runs.is_running());
  while (fakes.results().size() < 100)
    std::this_thread::yield();
  runs.request_stop();
  runs.request_stop();
  EXPECT_TRUE(runs.stop_requested());
  runs.wait();
  runs.wait();
  EXPECT_FALSE(runs.is_running());
  const auto results = fakes.results();
  EXPECT_EQ(results, counting(results.size()));
}

TEST_F(SchedulerTest, DestructionStopsARunningGraph) {
  output = compile(chain({{"A", "Source"}, {"Q", "OwnedQueue"}, {"C", "Sink"}}));
  for (int i = 0; i < 20; ++i) {
    runtime::Scheduler runs(output->graph, output->sections, output->resources);
    runs.start();
  }
}

TEST_F(SchedulerTest, C40_SlowConsumerLosesNothing) {
  std::mt19937 random(7);
  add_map("Jitter", [&random](core::SyncCtx &ctx) {
    for (auto spins = random() % 64; spins > 0; --spins)
      std::this_thread::yield();
    value_of(ctx.outputs[0]) = value_of(ctx.inputs[0]);
    return OpResult::Ok;
  });
  for (int seed = 0; seed < 16; ++seed) {
    const auto name = "seed " + std::to_string(seed);
    core::GraphSpec spec;
    spec.add_node(source("A", 64)).add_node("Q", "OwnedQueue", {{"capacity", 1 + seed % 4}});
    spec.add_node("x", "Jitter").add_node("B", "Sink", {{"name", name}});
    spec.connect("A", 0, "Q", 0).connect("Q", 0, "x", 0).connect("x", 0, "B", 0);
    run(spec);
    EXPECT_EQ(fakes.results(name), counting(64)) << name;
  }
}

TEST_F(SchedulerTest, ConsumerThatEndsEarlyReleasesItsProducers) {
  for (const auto *queue : {"Queue", "OwnedQueue"}) {
    const std::string short_name = std::string(queue) + " short", long_name = queue;
    core::GraphSpec spec;
    spec.add_node(source("A", 200)).add_node("Q1", queue).add_node("Q2", queue);
    spec.add_node("copy", "Add");
    spec.add_node("B", "Sink", {{"name", short_name}, {"take", 3}});
    spec.add_node("C", "Sink", {{"name", long_name}});
    spec.connect("A", 0, "Q1", 0).connect("A", 0, "copy", 0).connect("copy", 0, "Q2", 0);
    spec.connect("Q1", 0, "B", 0).connect("Q2", 0, "C", 0);
    run(spec);
    EXPECT_EQ(fakes.results(short_name), counting(3)) << queue;
    EXPECT_EQ(fakes.results(long_name), counting(200)) << queue;
    const auto ledger = scheduler->ledger();
    if (std::string(queue) == "Queue") {
      EXPECT_EQ(ledger.at("Q1").entered, 200u);
      EXPECT_GE(ledger.at("Q1").dropped.at("consumer-ended"), 190u);
    }
  }
}

TEST_F(SchedulerTest, ProducerOfAnEndedConsumerEndsToo) {
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("Q", "Queue").add_node("B", "Sink", {{"take", 3}});
  spec.connect("A", 0, "Q", 0).connect("Q", 0, "B", 0);
  run(spec);  // the source is endless: only the missing consumer can end it
  EXPECT_EQ(fakes.results(), counting(3));
}

TEST_F(SchedulerTest, RestartsAfterItsEnd) {
  core::GraphSpec spec;
  int runs = 0;
  register_fake(
      registry, "Again",
      SyncFake{
          .infer = [](auto, const auto &) { return contract(0, 1); },
          .create =
              [&runs](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>(
                    [&runs, left = 2](core::SyncCtx &ctx) mutable {
                      if (left-- == 0) {
                        left = 2;
                        ++runs;
                        return OpResult::Eof;
                      }
                      value_of(ctx.outputs[0]) = static_cast<float>(runs);
                      return OpResult::Ok;
                    });
              }});
  run(chain({{"A", "Again"}, {"B", "Sink"}}));
  scheduler->start();
  scheduler->wait();
  EXPECT_THAT(fakes.results(), ElementsAre(0, 0, 1, 1));
}

TEST_F(SchedulerTest, FinishedIsToldOnce) {
  output = compile(chain({{"A", "Source"}, {"Q", "Queue"}, {"B", "Sink"}}));
  runtime::Scheduler runs(output->graph, output->sections, output->resources);
  std::atomic<int> calls{0};
  std::latch done(1);
  runs.set_on_finished([&](std::exception_ptr error) {
    EXPECT_EQ(error, nullptr);
    EXPECT_FALSE(runs.is_running());
    ++calls;
    done.count_down();
  });
  runs.start();
  runs.request_stop();
  done.wait();
  runs.wait();
  EXPECT_EQ(calls, 1);
}

TEST_F(SchedulerTest, MetricsCountRuns) {
  output = compile(chain({{"A", "Source"}, {"B", "Sink"}}));
  runtime::Scheduler runs(
      output->graph, output->sections, output->resources, std::chrono::milliseconds(0));
  (void)runs.metrics();
  runs.start();
  while (fakes.results().size() < 1000)
    std::this_thread::yield();
  const auto metrics = runs.metrics();
  runs.request_stop();
  runs.wait();
  EXPECT_GT(metrics.at("B").sample_count, 0u);
  EXPECT_GT(metrics.at("B").runs_per_second, 0.0);
  EXPECT_GT(metrics.at("B").average_duration_ms, 0.0);
}

TEST_F(SchedulerTest, ATaskThatGivesUpByItselfStopsTheRun) {
  register_fake(
      registry, "GiveUp",
      SyncFake{
          .infer = [](auto, const auto &) { return contract(1, 0); },
          .create =
              [](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>(
                    [](core::SyncCtx &) { return OpResult::Cancelled; });
              }});
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("out", "GiveUp").add_node("Q", "Queue");
  spec.add_node("C", "Sink").connect("A", 0, "out", 0).connect("A", 0, "Q", 0);
  spec.connect("Q", 0, "C", 0);
  const Watchdog watchdog("a task gave up and the run goes on");
  run(spec);
  EXPECT_TRUE(scheduler->stop_requested());
}

TEST_F(SchedulerTest, RecordsAreThereBeforeTheirFrames) {
  std::atomic<int> seen = 0, unknown = 0;
  register_fake(
      registry, "Early",
      AsyncFake{
          .infer = [](auto, const auto &) { return contract(1, 1, core::TaskKind::Async); },
          .create =
              [&seen](auto, const auto &, const auto &) {
                return std::make_unique<EarlyQueue>(seen);
              }});
  register_fake(
      registry, "Look",
      SyncFake{
          .infer = [](auto, const auto &) { return contract(1, 0); },
          .create =
              [&](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>([&](core::SyncCtx &ctx) {
                  unknown +=
                      ctx.input_records[0][0].sequence == core::FrameRecord::unknown_sequence;
                  ++seen;
                  seen.notify_one();
                  return OpResult::Ok;
                });
              }});
  add_numbering(5);
  run(chain({{"A", "Number"}, {"Q", "Early"}, {"C", "Look"}}));
  EXPECT_EQ(seen, 5);
  EXPECT_EQ(unknown, 0);
}

TEST_F(SchedulerTest, EventsReachOnlyTheNamedNode) {
  register_fake(
      registry, "Listen",
      SyncFake{
          .infer = [](auto, const auto &) { return contract(1, 0); },
          .create =
              [](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>([](core::SyncCtx &ctx) {
                  if (const auto event = ctx.event_reader->try_receive()) {
                    ctx.event_writer->try_emit({{"heard", event->data}});
                    return OpResult::Eof;
                  }
                  return OpResult::Ok;
                });
              }});
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("B", "Listen").add_node("X", "Source", {{"count", 1}});
  spec.add_node("Y", "Listen").connect("A", 0, "B", 0).connect("X", 0, "Y", 0);
  output = compile(spec);
  runtime::Scheduler runs(output->graph, output->sections, output->resources);
  EXPECT_FALSE(runs.ui_try_send("nobody", "?"));
  EXPECT_TRUE(runs.ui_try_send("B", "stop"));
  runs.start();
  runs.wait();
  const auto answer = runs.ui_try_receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->node_id, "B");
  EXPECT_EQ(answer->data.at("heard"), "stop");
  EXPECT_FALSE(runs.ui_try_receive().has_value());
  EXPECT_EQ(runs.stats().at("events_dropped"), 1);
}

TEST_F(SchedulerTest, WhatRecordsHoldIsLetGoBehindAQueueWhoseConsumerHasEnded) {
  const auto alive = std::make_shared<std::atomic<int>>(0);  // shared: the last records die late
  int most = 0;
  add_numbering(500, [&most, alive] {
    most = std::max(most, ++*alive);
    return std::shared_ptr<void>(alive.get(), [alive](void *) { --*alive; });
  });
  core::GraphSpec spec;
  spec.add_node("A", "Number").add_node("Q", "Foreign").add_node("few", "Sink", {{"take", 2}});
  spec.add_node("all", "Sink", {{"name", "all"}}).connect("A", 0, "Q", 0).connect("A", 0, "all", 0);
  spec.connect("Q", 0, "few", 0);
  run(spec);
  EXPECT_EQ(fakes.results("all").size(), 500u);
  EXPECT_LT(most, 50);
}

}  // namespace holoflow::test
