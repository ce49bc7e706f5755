// SPDX-License-Identifier: LGPL-2.1-or-later
// Conformance cases C1–C17: sections, tensors, storages.
#include "compile_fixture.hh"

namespace holoflow::test {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(CompilerTest, C1_EmptyGraphCompilesAndRuns) {
  const auto output = compile({});
  EXPECT_TRUE(output->sections.empty());
  EXPECT_TRUE(output->resources.streams.empty());
  EXPECT_TRUE(output->resources.tasks.empty());
  runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
  scheduler.start();
  scheduler.wait();
  EXPECT_FALSE(scheduler.is_running());
}

TEST_F(CompilerTest, C2_ChainIsOneSection) {
  const auto output = compile(chain({{"A", "Source"}, {"B", "Add"}, {"C", "Sink"}}));
  ASSERT_EQ(output->sections.size(), 1u);
  EXPECT_THAT(names(*output, output->sections[0].sync_topo), ElementsAre("A", "B", "C"));
  EXPECT_EQ(output->resources.tensor_descs.size(), 2u);
  EXPECT_EQ(output->resources.storages.size(), 2u);
  EXPECT_EQ(output->resources.memory_blocks.size(), 2u);
  EXPECT_EQ(output->resources.streams.size(), 1u);
  EXPECT_EQ(output->resources.streams.at(0).get(), nullptr);
  EXPECT_EQ(output->resources.tasks.size(), 3u);
  EXPECT_EQ(output->report.created_tasks, 3u);
}

TEST_F(CompilerTest, C3_QueueCutsIntoTwoSections) {
  const auto output = compile(chain(
      {{"Source", "Source"},
       {"Upload", "Add"},
       {"Q", "Queue"},
       {"Compute", "Add"},
       {"Download", "Add"},
       {"Sink", "Sink"}}));
  ASSERT_EQ(output->sections.size(), 2u);
  EXPECT_THAT(names(*output, output->sections[0].sync_topo), ElementsAre("Source", "Upload"));
  EXPECT_THAT(names(*output, output->sections[0].async_prod), ElementsAre("Q"));
  EXPECT_THAT(output->sections[0].async_cons, IsEmpty());
  EXPECT_THAT(
      names(*output, output->sections[1].sync_topo), ElementsAre("Compute", "Download", "Sink"));
  EXPECT_THAT(names(*output, output->sections[1].async_cons), ElementsAre("Q"));
  EXPECT_THAT(output->sections[1].async_prod, IsEmpty());
  EXPECT_EQ(output->resources.tensor_descs.size(), 5u);
}

TEST_F(CompilerTest, C7_ProducersOfOneConsumerStayApart) {
  core::GraphSpec spec;
  spec.add_node("A", "Source")
      .add_node("B", "Source")
      .add_node("Q1", "Queue")
      .add_node("Q2", "Queue");
  spec.add_node("D", "Sum").add_node("S", "Sink");
  spec.connect("A", 0, "Q1", 0).connect("B", 0, "Q2", 0).connect("Q1", 0, "D", 0);
  spec.connect("Q2", 0, "D", 1).connect("D", 0, "S", 0);
  const auto output = compile(spec);
  ASSERT_EQ(output->sections.size(), 3u);
  EXPECT_THAT(names(*output, output->sections[0].sync_topo), ElementsAre("A"));
  EXPECT_THAT(names(*output, output->sections[1].sync_topo), ElementsAre("B"));
  EXPECT_THAT(names(*output, output->sections[2].sync_topo), ElementsAre("D", "S"));
  EXPECT_THAT(names(*output, output->sections[2].async_cons), ElementsAre("Q1", "Q2"));
}

TEST_F(CompilerTest, C8_UnconnectedPartsAreSections) {
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("B", "Sink").add_node("X", "Source").add_node("Y", "Sink");
  spec.connect("A", 0, "B", 0).connect("X", 0, "Y", 0);
  const auto output = compile(spec);
  ASSERT_EQ(output->sections.size(), 2u);
  EXPECT_EQ(output->resources.streams.size(), 2u);
  for (const auto &section : output->sections) {
    EXPECT_THAT(section.async_cons, IsEmpty());
    EXPECT_THAT(section.async_prod, IsEmpty());
  }
}

TEST_F(CompilerTest, C10_OrderComesFromTopologyNotFromNames) {
  core::GraphSpec spec;
  spec.add_node("x", "Sink").add_node("y", "Add").add_node("z", "Source");
  spec.connect("y", 0, "x", 0).connect("z", 0, "y", 0);
  const auto output = compile(spec);
  EXPECT_THAT(names(*output, output->sections[0].sync_topo), ElementsAre("z", "y", "x"));
}

TEST_F(CompilerTest, C11_AsynchronousSourceIsOnlyConsumed) {
  const auto output = compile(chain({{"Q", "Queue"}, {"B", "Sink"}}));
  ASSERT_EQ(output->sections.size(), 1u);
  EXPECT_THAT(names(*output, output->sections[0].async_cons), ElementsAre("Q"));
  EXPECT_THAT(output->sections[0].async_prod, IsEmpty());
}

TEST_F(CompilerTest, C12_QueueThatNobodyPopsIsRefused) {
  EXPECT_THAT(
      faults_of(chain({{"A", "Source"}, {"Q", "Queue"}})),
      testing::HasSubstr("node \"Q\" (Queue): nobody reads its outputs"));

  core::GraphSpec half;
  half.add_node("A", "Source2").add_node("Q", "Queue").add_node("S", "Sink");
  half.connect("A", 0, "Q", 0).connect("A", 1, "Q", 1).connect("Q", 0, "S", 0);
  EXPECT_THAT(
      faults_of(half),
      testing::HasSubstr("node \"Q\" (Queue), output 1 is read by nobody; connect it"));
}

TEST_F(CompilerTest, C12_AsynchronousSinkIsOnlyProduced) {
  class Drain final : public core::IAsyncTask {
    OpResult try_push(core::AsyncPushCtx &) override { return OpResult::Ok; }
    OpResult try_pop(core::AsyncPopCtx &) override { return OpResult::Eof; }
    bool knows_end_of_input() const noexcept override { return true; }
  };
  register_fake(
      registry, "Drain",
      AsyncFake{
          .infer = [](auto, const auto &) { return contract(1, 0, core::TaskKind::Async); },
          .create =
              [](auto, const auto &, const auto &ctx) {
                EXPECT_EQ(ctx.consumer_stream, nullptr);
                return std::make_unique<Drain>();
              }});
  auto spec = chain({{"A", "Source"}, {"Q", "Drain"}});
  spec.nodes[0].settings = {{"count", 3}};
  const auto output = compile(spec);
  ASSERT_EQ(output->sections.size(), 1u);
  EXPECT_THAT(names(*output, output->sections[0].async_prod), ElementsAre("Q"));
  EXPECT_THAT(output->sections[0].async_cons, IsEmpty());
  runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
  scheduler.start();
  scheduler.wait();
  EXPECT_EQ(scheduler.ledger().at("Q").entered, 3u);
}

TEST_F(CompilerTest, AFactoryThatMakesNothingIsNamed) {
  register_fake(
      registry, "Nothing",
      AsyncFake{
          .infer = [](auto, const auto &) { return contract(1, 0, core::TaskKind::Async); },
          .create = [](auto, const auto &, const auto &) { return nullptr; }});
  EXPECT_THAT(
      faults_of(chain({{"A", "Source"}, {"Q", "Nothing"}})),
      testing::HasSubstr("node \"Q\" (Nothing): create failed: the factory of this type broke its "
                         "contract: create returned null"));
}

TEST_F(CompilerTest, C13_FanOutSharesOneTensor) {
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("B", "Sink").add_node("C", "Sink");
  spec.connect("A", 0, "B", 0).connect("A", 0, "C", 0);
  const auto output = compile(spec);
  EXPECT_EQ(node(*output, "B").in_tids, node(*output, "C").in_tids);
  EXPECT_EQ(output->resources.memory_blocks.size(), 1u);
  EXPECT_EQ(output->graph.edges[0].desc, output->graph.edges[1].desc);
  EXPECT_EQ(output->graph.edges[0].tid, output->graph.edges[1].tid);
}

TEST_F(CompilerTest, C14_UnusedOutputHasMemory) {
  const auto output = compile(chain({{"A", "Source2"}, {"B", "Sink"}}));
  EXPECT_EQ(output->resources.tensor_descs.size(), 2u);
  EXPECT_EQ(output->resources.storages.size(), 2u);
  EXPECT_EQ(output->resources.memory_blocks.size(), 2u);
}

TEST_F(CompilerTest, C15_InPlaceChainSharesOneBlock) {
  const auto output =
      compile(chain({{"A", "Source"}, {"B", "InPlace"}, {"C", "InPlace"}, {"D", "Sink"}}));
  EXPECT_EQ(output->resources.tensor_descs.size(), 3u);
  EXPECT_EQ(output->resources.storages.size(), 1u);
  EXPECT_EQ(output->resources.memory_blocks.size(), 1u);
  auto &adapters = output->resources.node_storage_adapters;
  const auto *shared = adapters.at("A")->outputs[0];
  EXPECT_EQ(adapters.at("B")->inputs[0], shared);
  EXPECT_EQ(adapters.at("B")->outputs[0], shared);
  EXPECT_EQ(adapters.at("C")->outputs[0], shared);
  EXPECT_EQ(adapters.at("D")->inputs[0], shared);
}

TEST_F(CompilerTest, SubGraphsAreExpandedAndNodesRememberTheirGroup) {
  core::GraphSpec spec = chain({{"A", "Source"}, {"G", "Graph"}, {"B", "Sink"}});
  spec.nodes[1].settings = {{"graph", "twice"}};
  spec.graphs["twice"] = nlohmann::json::parse(
      R"({"nodes": {"x": {"type": "Add"}, "y": {"type": "Add"}}, "edges": ["x -> y"],
          "inputs": ["x:0"], "outputs": ["y:0"]})");
  const auto output = compile(spec);
  EXPECT_THAT(names(*output, output->sections[0].sync_topo), ElementsAre("A", "G/x", "G/y", "B"));
  EXPECT_EQ(node(*output, "G/x").group, "G");
  EXPECT_EQ(node(*output, "A").group, "");
}

TEST_F(CompilerTest, AChainOfTenThousandNodesCompilesAndRuns) {
  std::vector<std::pair<std::string, std::string>> nodes{{"in", "Source"}};
  for (int i = 0; i < 10000; ++i)
    nodes.emplace_back("n" + std::to_string(i), i % 2 == 0 ? "Add" : "InPlace");
  nodes.emplace_back("out", "Sink");
  auto spec = chain(nodes);
  spec.nodes[0].settings = {{"count", 2}};
  const auto output = compile(spec);
  EXPECT_EQ(output->sections.size(), 1u);
  EXPECT_EQ(output->resources.storages.size(), 5001u);
  EXPECT_EQ(output->resources.memory_blocks.size(), 3u);
  runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
  scheduler.start();
  scheduler.wait();
  EXPECT_EQ(fakes.results(), (std::vector<float>{0, 1}));
}

}  // namespace holoflow::test
