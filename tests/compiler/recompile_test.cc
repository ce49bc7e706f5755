// SPDX-License-Identifier: LGPL-2.1-or-later
// Conformance cases C30, C31, C34: what a recompile keeps, and what it leaves behind when it fails.
#include <filesystem>
#include <unistd.h>

#include "compile_fixture.hh"

namespace holoflow::test {

using testing::HasSubstr;

TEST_F(CompilerTest, C30_RecompilingReusesEverything) {
  const auto spec = chain({{"A", "Source"}, {"B", "Add"}, {"C", "Sink"}});
  auto first = compile(spec);
  const auto *task = first->resources.tasks.at("B").get();
  std::vector<std::byte *> blocks;
  for (const auto &[sid, block] : first->resources.memory_blocks)
    blocks.push_back(block.get());
  runtime::Compiler compiler(registry, {.device = runtime::CompilerConfig::Device::Cpu});
  const auto second = compiler.compile(spec, std::move(first));
  EXPECT_EQ(first, nullptr);
  EXPECT_EQ(second->resources.tasks.at("B").get(), task);
  EXPECT_EQ(fakes.journal.count("create Add"), 1u);
  EXPECT_EQ(fakes.journal.count("update Add"), 1u);
  EXPECT_EQ(second->report.updated_tasks, 3u);
  EXPECT_EQ(second->report.created_tasks, 0u);
  EXPECT_EQ(second->report.reused_blocks, 2u);
  EXPECT_EQ(second->report.created_blocks, 0u);
  std::vector<std::byte *> reused;
  for (const auto &[sid, block] : second->resources.memory_blocks)
    reused.push_back(block.get());
  EXPECT_THAT(reused, testing::UnorderedElementsAreArray(blocks));
}

TEST_F(CompilerTest, C31_OtherNameKindOrInterfaceCreatesAnew) {
  runtime::Compiler compiler(registry, {.device = runtime::CompilerConfig::Device::Cpu});
  auto output = compiler.compile(chain({{"A", "Source"}, {"B", "Add"}, {"C", "Sink"}}));
  output = compiler.compile(
      chain({{"A", "Source"}, {"B", "InPlace"}, {"C", "Sink"}}), std::move(output));
  EXPECT_EQ(fakes.journal.count("create InPlace"), 1u);
  output = compiler.compile(
      chain({{"A", "Source"}, {"B2", "InPlace"}, {"C", "Sink"}}), std::move(output));
  EXPECT_EQ(fakes.journal.count("create InPlace"), 2u);
  output =
      compiler.compile(chain({{"A", "Source"}, {"B2", "Queue"}, {"C", "Sink"}}), std::move(output));
  EXPECT_EQ(fakes.journal.count("create Queue"), 1u);
  EXPECT_EQ(fakes.journal.count("update InPlace"), 0u);
}

TEST_F(CompilerTest, C34_FailedRecompileLeavesThePreviousOutputUsable) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("holoflow-c34-" + std::to_string(::getpid()));
  runtime::Compiler compiler(
      registry, {.log_dir = folder, .device = runtime::CompilerConfig::Device::Cpu});
  auto good = chain({{"A", "Source"}, {"B", "Add"}, {"C", "Sink"}});
  good.nodes[0].settings = {{"count", 3}};
  auto output = compiler.compile(good);
  auto bad = good;
  bad.connect("A", 0, "B", 1);
  EXPECT_THROW((void)compiler.compile(bad, std::move(output)), core::CompileError);
  ASSERT_NE(output, nullptr);
  EXPECT_TRUE(std::filesystem::exists(folder / "compilation_failure.dot"));
  EXPECT_TRUE(std::filesystem::exists(folder / "compilation_success.dot"));
  runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
  scheduler.start();
  scheduler.wait();
  EXPECT_EQ(fakes.results().size(), 3u);
  std::filesystem::remove_all(folder);
}

class UpdateTest : public CompilerTest {
protected:
  UpdateTest() {
    register_fake(
        registry, "Picky",
        SyncFakeWithContext{
            .infer = [](auto, const auto &) { return contract(1, 1); },
            .create =
                [this](const nlohmann::json &settings, const core::SyncCreateCtx &) {
                  journal.add("create " + settings.value("name", "?"));
                  if (settings.value("no_create", false))
                    throw std::runtime_error("cannot be made");
                  return make_task();
                },
            .update =
                [this](
                    std::unique_ptr<core::ISyncTask> old, const nlohmann::json &settings,
                    const core::SyncCreateCtx &) {
                  journal.add("update " + settings.value("name", "?"));
                  if (settings.value("no_update", false))
                    throw std::runtime_error("cannot be changed");
                  if (settings.value("throws_a_number", false))
                    throw 42;
                  return old;
                }});
  }

  static std::unique_ptr<core::ISyncTask> make_task() {
    return std::make_unique<FunctionTask>([](core::SyncCtx &ctx) {
      value_of(ctx.outputs[0]) = value_of(ctx.inputs[0]) + 1;
      return OpResult::Ok;
    });
  }

  /// Source → a → b → Sink, both maps Picky with the given params.
  static core::GraphSpec two_maps(const nlohmann::json &a, const nlohmann::json &b) {
    auto spec = chain({{"in", "Source"}, {"a", "Picky"}, {"b", "Picky"}, {"out", "Sink"}});
    spec.nodes[0].settings = {{"count", 2}};
    spec.nodes[1].settings = a;
    spec.nodes[2].settings = b;
    return spec;
  }

  std::string failure_of(
      const core::GraphSpec &spec, std::unique_ptr<runtime::CompilerOutput> &previous) {
    try {
      (void)compiler.compile(spec, std::move(previous));
      return {};
    } catch (const core::CompileError &error) {
      return error.what();
    }
  }

  void run(runtime::CompilerOutput &output) {
    runtime::Scheduler scheduler(output.graph, output.sections, output.resources);
    scheduler.start();
    scheduler.wait();
  }

  Journal journal;
  runtime::Compiler compiler{registry, {.device = runtime::CompilerConfig::Device::Cpu}};
};

TEST_F(UpdateTest, FailedUpdateIsUndoneInAllTasks) {
  auto output = compiler.compile(two_maps({{"name", "a1"}}, {{"name", "b1"}}));
  const auto spec = two_maps({{"name", "a2"}}, {{"name", "b2"}, {"no_update", true}});
  const auto failure = failure_of(spec, output);
  EXPECT_THAT(failure, HasSubstr("node \"b\" (Picky): update failed: cannot be changed"));
  EXPECT_THAT(failure, HasSubstr("the previous graph stays as it was"));
  ASSERT_NE(output, nullptr);
  // b is made anew from its old params, then a is updated back to its own.
  EXPECT_THAT(
      journal.lines(),
      testing::ElementsAre(
          "create a1", "create b1", "update a2", "update b2", "create b1", "update a1"));
  run(*output);
  EXPECT_EQ(fakes.results(), (std::vector<float>{2, 3}));
}

TEST_F(UpdateTest, WhateverAnUpdateThrowsIsUndone) {
  auto output = compiler.compile(two_maps({{"name", "a1"}}, {{"name", "b1"}}));
  const auto spec = two_maps({{"name", "a2"}}, {{"name", "b2"}, {"throws_a_number", true}});
  EXPECT_THAT(failure_of(spec, output), HasSubstr("something that is no std::exception"));
  ASSERT_NE(output, nullptr);
  run(*output);
  EXPECT_EQ(fakes.results().size(), 2u);
}

TEST_F(UpdateTest, PreviousIsGoneOnlyWhereItCannotBeRestored) {
  auto output = compiler.compile(two_maps({{"name", "a1"}}, {{"name", "b1"}}));
  // The first description of b cannot be made a second time.
  for (auto &node : output->graph.nodes)
    if (node.spec.name == "b")
      node.spec.settings["no_create"] = true;
  const auto spec = two_maps({{"name", "a2"}}, {{"name", "b2"}, {"no_update", true}});
  const auto failure = failure_of(spec, output);
  EXPECT_THAT(failure, HasSubstr("update failed: cannot be changed"));
  EXPECT_THAT(failure, HasSubstr("could not be restored (cannot be made) and is gone"));
  EXPECT_EQ(output, nullptr);
}

TEST_F(UpdateTest, PrepareTouchesNothingOfARunningGraph) {
  auto spec = two_maps({{"name", "a1"}}, {{"name", "b1"}});
  spec.nodes[0].settings = {{"count", 1000}};
  auto output = compiler.compile(spec);
  runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
  scheduler.start();
  auto next = spec;
  next.nodes[0].settings = {{"count", 3}};
  auto prepared = compiler.prepare(next, output.get());
  EXPECT_EQ(journal.count("update a1"), 0u);
  scheduler.wait();
  EXPECT_EQ(fakes.results().size(), 1000u);
  const auto *a = output->resources.tasks.at("a").get();
  const auto second = compiler.commit(std::move(prepared), std::move(output));
  EXPECT_EQ(second->resources.tasks.at("a").get(), a);
  run(*second);
  EXPECT_EQ(fakes.results().size(), 1003u);
}

TEST_F(UpdateTest, CommitRefusesAnotherOutput) {
  auto output = compiler.compile(two_maps({{"name", "a"}}, {{"name", "b"}}));
  auto other = compiler.compile(two_maps({{"name", "a"}}, {{"name", "b"}}));
  auto prepared = compiler.prepare(two_maps({{"name", "a"}}, {{"name", "b"}}), output.get());
  EXPECT_THROW((void)compiler.commit(std::move(prepared), std::move(other)), std::invalid_argument);
  EXPECT_NE(other, nullptr);
}

TEST_F(UpdateTest, FailedPrepareLeavesNothingBehind) {
  auto output = compiler.compile(two_maps({{"name", "a1"}}, {{"name", "b1"}}));
  auto spec = two_maps({{"name", "a2"}}, {{"name", "b2"}});
  spec.add_node("c", "Picky", {{"name", "c"}, {"no_create", true}}).connect("b", 0, "c", 0);
  EXPECT_THAT(failure_of(spec, output), HasSubstr("node \"c\" (Picky): create failed"));
  EXPECT_EQ(journal.count("update a2"), 0u);
  ASSERT_NE(output, nullptr);
  run(*output);
  EXPECT_EQ(fakes.results().size(), 2u);
}

}  // namespace holoflow::test
