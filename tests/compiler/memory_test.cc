// SPDX-License-Identifier: LGPL-2.1-or-later
// Blocks that storages share, the bill, the budget.
#include "compile_fixture.hh"
#include "holoflow/builtin_tasks.hh"

namespace holoflow::test {

using testing::HasSubstr;

class MemoryTest : public CompilerTest {
protected:
  using Config = runtime::CompilerConfig;

  MemoryTest() { register_builtin_tasks(builtins); }

  static core::GraphSpec maps(size_t count) {
    std::vector<std::pair<std::string, std::string>> nodes{{"in", "Source"}};
    for (size_t i = 0; i < count; ++i)
      nodes.emplace_back("m" + std::to_string(i), "Add");
    nodes.emplace_back("out", "Sink");
    auto spec = chain(nodes);
    spec.nodes[0].settings = {{"count", 3}};
    for (size_t i = 1; i <= count; ++i)
      spec.nodes[i].settings = {{"value", 1}};
    return spec;
  }

  void run(runtime::CompilerOutput &output) {
    runtime::Scheduler scheduler(output.graph, output.sections, output.resources);
    scheduler.start();
    scheduler.wait();
  }

  core::Registry builtins;
};

TEST_F(MemoryTest, TensorsOfASectionTakeTurns) {
  const auto output = compile(maps(6));
  EXPECT_EQ(output->resources.storages.size(), 7u);
  // Two inside, and the one that leaves the graph for itself.
  EXPECT_EQ(output->resources.memory_blocks.size(), 3u);
  EXPECT_EQ(output->bill.saved_by_sharing, 4 * sizeof(float));
  run(*output);
  EXPECT_EQ(fakes.results(), (std::vector<float>{6, 7, 8}));
}

TEST_F(MemoryTest, SharingCanBeTurnedOff) {
  Config config{.device = Config::Device::Cpu};
  config.share_memory = false;
  const auto output = runtime::Compiler(registry, config).compile(maps(6));
  EXPECT_EQ(output->resources.memory_blocks.size(), 7u);
  EXPECT_EQ(output->bill.saved_by_sharing, 0u);
}

TEST_F(MemoryTest, NothingIsSharedAcrossAQueueOrWithWhatLeavesTheGraph) {
  const auto output = compile(chain(
      {{"A", "Source"},
       {"B", "Add"},
       {"C", "Add"},
       {"Q", "Queue"},
       {"D", "Add"},
       {"E", "Add"},
       {"F", "Sink"}}));
  // A.0 is free when C runs, but C.0 is pushed; Q.0 is popped; E.0 leaves the graph.
  EXPECT_EQ(output->resources.memory_blocks.size(), output->resources.storages.size());
}

TEST_F(MemoryTest, ATensorLivesUntilItsLastReader) {
  // Each map's output is also summed at the end, so nothing may share.
  auto spec = maps(4);
  spec.nodes.pop_back();
  spec.edges.pop_back();
  spec.add_node("sum", "Sum").add_node("out", "Sink");
  for (int i = 0; i < 4; ++i)
    spec.connect("m" + std::to_string(i), 0, "sum", i);
  spec.connect("sum", 0, "out", 0);
  const auto output = compile(spec);
  // Only the source's tensor has died, when m1 runs.
  EXPECT_EQ(output->resources.memory_blocks.size(), 5u);
  run(*output);
  EXPECT_EQ(fakes.results(), (std::vector<float>{10, 14, 18}));
}

TEST_F(MemoryTest, ABlockGrowsForALargerTensor) {
  Config config{.device = Config::Device::Cpu};
  config.inputs = {{"in", core::TDesc({1, 8, 8}, core::DType::U8, core::MemLoc::Host)}};
  const auto graph = core::GraphSpec::from_json(R"({"nodes": {
    "in": {"type": "Input"}, "a": {"type": "Affine"}, "b": {"type": "Conversion",
    "params": {"target": "U8"}}, "c": {"type": "FFT2"}, "a2": {"type": "Affine"},
    "d": {"type": "AbsSquared"}, "out": {"type": "Output"}},
    "edges": ["in -> a", "a -> b", "b -> a2", "a2 -> c", "c -> d", "d -> out"]})");
  const auto shared = runtime::Compiler(builtins, config).plan(graph);
  config.share_memory = false;
  const auto apart = runtime::Compiler(builtins, config).plan(graph);
  EXPECT_LT(shared->bill.blocks.host, apart->bill.blocks.host);
  EXPECT_EQ(shared->bill.blocks.host + shared->bill.saved_by_sharing, apart->bill.blocks.host);
}

TEST_F(MemoryTest, TheBillNamesEveryPart) {
  Config config{.device = Config::Device::Cpu};
  config.inputs = {{"in", core::TDesc({1, 16, 16}, core::DType::U8, core::MemLoc::Host)}};
  const auto graph = core::GraphSpec::from_chain(
      "batchqueue output_size=2 output_stride=1 ! affine ! slice slices=[0,{},{}]",
      builtins.keys());
  config.inputs = {{"input", config.inputs.at("in")}};
  const auto output = runtime::Compiler(builtins, config).plan(graph);
  const auto &bill = output->bill;
  EXPECT_EQ(bill.sections.size(), 2u);
  EXPECT_EQ(bill.tensors.size(), 4u);
  EXPECT_EQ(bill.total().device, 0u);
  EXPECT_EQ(bill.total().pinned, 0u);
  size_t sections = 0;
  for (const auto &section : bill.sections)
    sections += section.blocks.total();
  EXPECT_EQ(sections, bill.blocks.total());
  size_t tasks = 0;
  for (const auto &item : bill.task_items)
    tasks += item.need.bytes;
  EXPECT_EQ(tasks, bill.tasks.total());
  const auto text = runtime::to_text(bill);
  EXPECT_THAT(text, HasSubstr("tensor 2 \"affine:0\": 2.0 KiB in storage"));
  EXPECT_THAT(text, HasSubstr("task \"batchqueue\""));
  EXPECT_THAT(text, HasSubstr("ring of frames"));
}

TEST_F(MemoryTest, OnAGpuHostMemoryIsPinnedAndDeviceMemoryCounted) {
  Config config{.device = Config::Device::Cuda};
  config.inputs = {{"in", core::TDesc({1, 16, 16}, core::DType::U8, core::MemLoc::Host)}};
  const auto output = runtime::Compiler(builtins, config)
                          .plan(chain(
                              {{"in", "Input"},
                               {"up", "Upload"},
                               {"f", "Affine"},
                               {"down", "Download"},
                               {"out", "Output"}}));
  EXPECT_EQ(output->bill.blocks.device, 256u + 1024u);
  EXPECT_EQ(output->bill.total().host, 0u);
  EXPECT_GT(output->bill.total().pinned, 0u);
  EXPECT_EQ(output->report.device, "GPU");
}

TEST_F(MemoryTest, ABudgetRefusesWithTheBillBeforeAnythingIsAllocated) {
  Config config{.device = Config::Device::Cpu};
  config.memory_budget = 5 * sizeof(float);
  config.share_memory = false;
  runtime::Compiler compiler(registry, config);
  try {
    (void)compiler.compile(maps(6));
    FAIL() << "the budget was not kept";
  } catch (const core::CompileError &error) {
    EXPECT_THAT(
        error.what(), HasSubstr("the graph takes 28 bytes of Host memory, the budget is 20"));
    EXPECT_THAT(error.what(), HasSubstr("memory: 28 B host"));
    EXPECT_THAT(error.what(), HasSubstr("tensor 0 \"in:0\""));
  }
  EXPECT_EQ(fakes.journal.count("create Add"), 0u);
  // Shared, it fits.
  config.share_memory = true;
  EXPECT_NE(runtime::Compiler(registry, config).compile(maps(6)), nullptr);
}

TEST_F(MemoryTest, AFailedAllocationIsAnErrorAndLeavesThePreviousGraphUsable) {
  register_fake(
      registry, "Huge",
      SyncFake{
          .infer =
              [](auto, const auto &) {
                auto result = contract(0, 1);
                result.output_descs = {
                    core::TDesc({size_t{1} << 47}, core::DType::U8, core::MemLoc::Host)};
                return result;
              },
          .create =
              [](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>(
                    [](core::SyncCtx &) { return OpResult::Eof; });
              }});
  runtime::Compiler compiler(registry, {.device = Config::Device::Cpu});
  auto output = compiler.compile(maps(2));
  EXPECT_THROW((void)compiler.compile(chain({{"A", "Huge"}}), std::move(output)), std::exception);
  ASSERT_NE(output, nullptr);
  run(*output);
  EXPECT_EQ(fakes.results(), (std::vector<float>{2, 3, 4}));
}

}  // namespace holoflow::test
