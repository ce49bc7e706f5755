// SPDX-License-Identifier: LGPL-2.1-or-later
// Slots that tasks own, over the end of an iteration and from run to run.
#include <thread>

#include "../compiler/compile_fixture.hh"
#include "../support/watchdog.hh"
#include "holoflow/core/error.hh"

namespace holoflow::test {

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

enum class Ending { Eof, Cancelled, Error };

/// Owns its one output: a cell that is out while the iteration lasts.
class OwningSource final : public core::ISyncTask {
public:
  explicit OwningSource(Journal &journal) : journal_(journal) {}

  OpResult execute(core::SyncCtx &) override {
    if (is_out_)
      throw std::logic_error("the cell is still out");
    is_out_ = true;
    storage_access().owned_output_storage(0).ptr = reinterpret_cast<std::byte *>(&cell_);
    cell_ = next_++;
    journal_.add("lend");
    return OpResult::Ok;
  }
  void release_output(int index) override {
    if (!is_out_)
      journal_.add("released twice");
    is_out_ = false;
    storage_access().owned_output_storage(static_cast<size_t>(index)).ptr = nullptr;
    journal_.add("release");
  }
  void begin_run() override { next_ = 0; }

private:
  Journal &journal_;
  float cell_ = 0, next_ = 0;
  bool is_out_ = false;
};

}  // namespace

class LendingTest : public CompilerTest {
protected:
  LendingTest() {
    register_fake(
        registry, "OwningSource",
        SyncFake{
            .infer =
                [](auto, const auto &) {
                  auto result = contract(0, 1);
                  result.owned_outputs = {true};
                  return result;
                },
            .create =
                [this](auto, const auto &, const auto &) {
                  return std::make_unique<OwningSource>(fakes.journal);
                }});
  }

  /// "End": passes two values on, then ends as it says.
  void add_end(Ending ending) {
    register_fake(
        registry, "End",
        SyncFake{
            .infer = [](auto, const auto &) { return contract(1, 1); },
            .create =
                [ending](auto, const auto &, const auto &) {
                  return std::make_unique<FunctionTask>([ending](core::SyncCtx &ctx) {
                    const float value = value_of(ctx.inputs[0]);
                    value_of(ctx.outputs[0]) = value;
                    if (value < 2)
                      return OpResult::Ok;
                    if (ending == Ending::Error)
                      throw std::runtime_error("value 2 is one too many");
                    return ending == Ending::Eof ? OpResult::Eof : OpResult::Cancelled;
                  });
                }});
  }

  void run(runtime::Scheduler &scheduler, Ending ending) {
    scheduler.start();
    if (ending == Ending::Error) {
      EXPECT_THROW(scheduler.wait(), core::TaskError);
    } else {
      scheduler.wait();
    }
  }

  /// Runs the graph three times: each run gives the same, and everything lent came back once.
  void expect_three_runs(const core::GraphSpec &spec, Ending ending, size_t lent_per_run) {
    const Watchdog watchdog("a task waits for memory that never came back");
    const auto output = compile(spec);
    runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
    for (size_t number = 1; number <= 3; ++number) {
      run(scheduler, ending);
      EXPECT_EQ(fakes.journal.count("release"), number * lent_per_run);
      EXPECT_EQ(fakes.results().size(), number * 2);
    }
    EXPECT_EQ(fakes.journal.count("released twice"), 0u);
  }
};

class LendingUntil : public LendingTest, public testing::WithParamInterface<Ending> {};

TEST_P(LendingUntil, TheOutputOfASourceIsReleasedOnceThoughTheIterationDoesNotFinish) {
  add_end(GetParam());
  expect_three_runs(
      chain({{"in", "OwningSource"}, {"end", "End"}, {"out", "Sink"}}), GetParam(), 3);
}

TEST_P(LendingUntil, TheOutputOfAQueueIsReleasedOnceThoughTheIterationDoesNotFinish) {
  add_end(GetParam());
  const auto spec = chain(
      {{"in", "OwningSource"},
       {"copy", "Add"},
       {"queue", "OwnedQueue"},
       {"end", "End"},
       {"out", "Sink"}});
  const Watchdog watchdog("a queue waits for a slot that never came back");
  const auto output = compile(spec);
  runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
  for (size_t number = 1; number <= 3; ++number) {
    run(scheduler, GetParam());
    EXPECT_EQ(fakes.results().size(), number * 2);
    // The queue was popped three times, the source as often as the queue had room.
    EXPECT_EQ(fakes.journal.count("release"), fakes.journal.count("lend") + number * 3);
  }
  EXPECT_EQ(fakes.journal.count("released twice"), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    EachEnding, LendingUntil, testing::Values(Ending::Eof, Ending::Cancelled, Ending::Error),
    [](const auto &test) -> std::string {
      if (test.param == Ending::Eof)
        return "Eof";
      return test.param == Ending::Cancelled ? "Cancelled" : "Error";
    });

class BeginRunTest : public CompilerTest {
protected:
  /// "Begins": notes its name when a run begins, on which thread, and that it executed.
  class Begins final : public core::ISyncTask {
  public:
    Begins(BeginRunTest &test, std::string name) : test_(test), name_(std::move(name)) {}
    OpResult execute(core::SyncCtx &) override {
      test_.fakes.journal.add("execute");
      return OpResult::Eof;
    }
    void begin_run() override {
      test_.fakes.journal.add("begin " + name_);
      test_.on_callers_thread &= std::this_thread::get_id() == test_.caller;
      if (name_ == test_.failing)
        throw std::runtime_error("the shutter is closed");
    }

  private:
    BeginRunTest &test_;
    const std::string name_;
  };

  BeginRunTest() {
    register_fake(
        registry, "Begins",
        SyncFake{
            .infer = [](auto, const auto &) { return contract(0, 0); },
            .create =
                [this](auto, const auto &settings, const auto &) {
                  return std::make_unique<Begins>(*this, settings.at("name"));
                }});
    for (const std::string name : {"c", "a", "b"})
      spec.add_node(name, "Begins", {{"name", name}});
  }

  core::GraphSpec spec;
  const std::thread::id caller = std::this_thread::get_id();
  bool on_callers_thread = true;
  std::string failing;
};

TEST_F(BeginRunTest, EveryTaskHearsOfEachRunInPlanOrderBeforeAnythingRuns) {
  const auto output = compile(spec);
  runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
  for (int run = 0; run < 2; ++run) {
    scheduler.start();
    scheduler.wait();
  }
  EXPECT_THAT(
      fakes.journal.lines(),
      ElementsAre(
          "begin c", "begin a", "begin b", "execute", "execute", "execute", "begin c", "begin a",
          "begin b", "execute", "execute", "execute"));
  EXPECT_TRUE(on_callers_thread);
}

TEST_F(BeginRunTest, AThrowFailsTheStartWithTheNodeAndNothingRuns) {
  const auto output = compile(spec);
  runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
  failing = "a";
  try {
    scheduler.start();
    FAIL() << "started";
  } catch (const core::TaskError &error) {
    EXPECT_STREQ(error.what(), "running: node \"a\" (Begins), begin_run: the shutter is closed");
    EXPECT_EQ(error.node, "a");
  }
  EXPECT_FALSE(scheduler.is_running());
  scheduler.wait();
  EXPECT_THAT(fakes.journal.lines(), ElementsAre("begin c", "begin a"));

  failing = "";
  scheduler.start();
  scheduler.wait();
  EXPECT_EQ(fakes.journal.count("execute"), 3u);
}

}  // namespace holoflow::test
