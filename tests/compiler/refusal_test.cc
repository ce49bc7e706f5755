// SPDX-License-Identifier: LGPL-2.1-or-later
// Conformance cases C18–C34: ownership, refusals, recompilation.
#include <filesystem>
#include <fstream>

#include "compile_fixture.hh"
#include "holoflow/builtin_tasks.hh"

namespace holoflow::test {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(CompilerTest, C18_TwoFirmOwnersAreRefused) {
  EXPECT_THAT(
      faults_of(chain({{"A", "FirmSource"}, {"B", "FirmSink"}})),
      HasSubstr("both want to own the same memory; put a \"Copy\" node between them"));
}

TEST_F(CompilerTest, C20_TwoFirmQueuesOnOneTensorNeedACopy) {
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("Q1", "OwnedQueue").add_node("Q2", "OwnedQueue");
  spec.add_node("S1", "Sink").add_node("S2", "Sink");
  spec.connect("A", 0, "Q1", 0).connect("Q1", 0, "S1", 0).connect("Q2", 0, "S2", 0);
  auto with_copy = spec;
  spec.connect("A", 0, "Q2", 0);
  const auto faults = faults_of(spec);
  EXPECT_THAT(faults, HasSubstr("node \"Q2\" (OwnedQueue), input 0 and input 0 of node \"Q1\""));
  with_copy.add_node("copy", "Add").connect("A", 0, "copy", 0).connect("copy", 0, "Q2", 0);
  EXPECT_EQ(faults_of(with_copy), "");
}

TEST_F(CompilerTest, C21_OwnedSlotsHaveNoBlock) {
  const auto output = compile(chain({{"A", "Source"}, {"Q", "OwnedQueue"}, {"B", "Sink"}}));
  EXPECT_EQ(output->resources.storages.size(), 2u);
  EXPECT_TRUE(output->resources.memory_blocks.empty());
  for (const auto &[sid, storage] : output->resources.storages) {
    EXPECT_EQ(storage->ptr, nullptr);
    EXPECT_EQ(storage->bytes, sizeof(float));
  }
}

TEST_F(CompilerTest, C22_SparseInputsAreRefused) {
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("B", "Sum").connect("A", 0, "B", 1);
  EXPECT_THAT(
      faults_of(spec),
      HasSubstr("node \"B\" (Sum), input 1 is out of range: 1 input is connected, it must be "
                "input 0 without gaps"));
}

TEST_F(CompilerTest, C23_PortsOutOfRangeAreRefused) {
  core::GraphSpec output_5;
  output_5.add_node("A", "Source").add_node("B", "Sink").connect("A", 5, "B", 0);
  EXPECT_THAT(
      faults_of(output_5),
      HasSubstr("node \"A\" (Source), output 5 is out of range: the node has 1 output"));

  core::GraphSpec input_7;
  input_7.add_node("A", "Source")
      .add_node("B", "Sum")
      .connect("A", 0, "B", 0)
      .connect("A", 0, "B", 7);
  EXPECT_THAT(faults_of(input_7), HasSubstr("input 7 is out of range"));

  core::GraphSpec negative;
  negative.add_node("A", "Source").add_node("B", "Sink").connect("A", -1, "B", 0);
  EXPECT_THAT(faults_of(negative), HasSubstr("output -1 of \"A\" is out of range"));
}

TEST_F(CompilerTest, C24_TwoProducersOfOneInputAreRefused) {
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("X", "Source").add_node("B", "Sink");
  spec.connect("A", 0, "B", 0).connect("X", 0, "B", 0);
  EXPECT_THAT(faults_of(spec), HasSubstr("input \"B:0\" has two producers, \"A:0\" and \"X:0\""));
}

TEST_F(CompilerTest, C25_DuplicateNamesAndUnknownTypesAreRefusedTogether) {
  core::GraphSpec spec;
  spec.add_node("n", "Source").add_node("n", "Source").add_node("m", "Sorce");
  spec.connect("n", 0, "nn", 0);
  const auto faults = faults_of(spec);
  EXPECT_THAT(faults, HasSubstr("node \"n\" (Source): the name is used twice"));
  EXPECT_THAT(faults, HasSubstr("unknown type \"Sorce\"; did you mean \"Source\"?"));
  EXPECT_THAT(faults, HasSubstr("there is no node \"nn\""));
}

TEST_F(CompilerTest, C26_CyclesAreRefused) {
  core::GraphSpec two;
  two.add_node("A", "Add").add_node("B", "Add").connect("A", 0, "B", 0).connect("B", 0, "A", 0);
  EXPECT_THAT(faults_of(two), HasSubstr("the graph has a cycle: \"A\" -> \"B\" -> \"A\""));

  core::GraphSpec self;
  self.add_node("A", "Add").connect("A", 0, "A", 0);
  EXPECT_THAT(faults_of(self), HasSubstr("the graph has a cycle: \"A\" -> \"A\""));

  core::GraphSpec queue;
  queue.add_node("A", "Add").add_node("Q", "Queue").connect("A", 0, "Q", 0).connect("Q", 0, "A", 0);
  EXPECT_THAT(faults_of(queue), HasSubstr("the graph has a cycle"));
}

TEST_F(CompilerTest, C27_ConsecutiveQueuesAreRefusedAndACopyMendsThem) {
  EXPECT_THAT(
      faults_of(chain({{"A", "Source"}, {"Q1", "Queue"}, {"Q2", "Queue"}, {"B", "Sink"}})),
      HasSubstr("consecutive asynchronous nodes \"Q1\" and \"Q2\"; put a \"Copy\" node between"));
  const auto output = compile(
      chain({{"A", "Source"}, {"Q1", "Queue"}, {"Copy", "Add"}, {"Q2", "Queue"}, {"B", "Sink"}}));
  ASSERT_EQ(output->sections.size(), 3u);
  EXPECT_THAT(names(*output, output->sections[1].sync_topo), ElementsAre("Copy"));
}

TEST_F(CompilerTest, C28_SectionDownstreamOfItselfIsRefused) {
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("Q", "Queue").add_node("C", "Sum");
  spec.connect("A", 0, "Q", 0).connect("Q", 0, "C", 0).connect("A", 0, "C", 1);
  EXPECT_THAT(faults_of(spec), HasSubstr("a cycle of sections: the nodes before and behind \"Q\""));

  core::GraphSpec longer;
  longer.add_node("A", "Source")
      .add_node("Q1", "Queue")
      .add_node("B", "Add")
      .add_node("Q2", "Queue");
  longer.add_node("C", "Sum").connect("A", 0, "Q1", 0).connect("Q1", 0, "B", 0);
  longer.connect("B", 0, "Q2", 0).connect("Q2", 0, "C", 0).connect("A", 0, "C", 1);
  EXPECT_THAT(faults_of(longer), HasSubstr("a cycle of sections"));
}

TEST_F(CompilerTest, NodesBehindAFaultAreListedAsNotChecked) {
  core::GraphSpec spec;
  spec.add_node("A", "Sum").add_node("B", "Add").add_node("C", "Add").add_node("bad", "Add");
  spec.connect("bad", 0, "B", 0).connect("B", 0, "C", 0);
  const auto faults = faults_of(spec);
  EXPECT_THAT(faults, HasSubstr("node \"bad\" (Add): expected 1 input"));
  EXPECT_THAT(
      faults, HasSubstr("not checked, because a node before them has a fault: \"B\", \"C\""));
}

TEST_F(CompilerTest, FaultsOfDifferentPassesAreReportedTogether) {
  auto spec = chain({{"A", "Source"}, {"Q", "Queue"}, {"R", "Queue"}, {"B", "Sink"}});
  spec.add_node("x", "Nope").add_node("bad", "Add").connect("A", 0, "B", 0);
  const auto faults = faults_of(spec);
  EXPECT_THAT(faults, HasSubstr("consecutive asynchronous nodes \"Q\" and \"R\""));
  EXPECT_THAT(faults, HasSubstr("unknown type \"Nope\"; \"holoflow tasks\" lists"));
  EXPECT_THAT(faults, HasSubstr("input \"B:0\" has two producers"));
  EXPECT_THAT(faults, HasSubstr("node \"bad\" (Add): expected 1 input"));
}

TEST_F(CompilerTest, EveryCycleIsReportedAndNodesBesideThemAreChecked) {
  auto spec = chain({{"A", "Add"}, {"B", "Add"}});
  spec.connect("B", 0, "A", 0);
  spec.add_node("C", "Add").add_node("D", "Add").connect("C", 0, "D", 0).connect("D", 0, "C", 0);
  spec.add_node("bad", "Add").add_node("E", "Sink").connect("D", 0, "E", 0);
  const auto faults = faults_of(spec);
  EXPECT_THAT(faults, HasSubstr("a cycle: \"A\" -> \"B\" -> \"A\""));
  EXPECT_THAT(faults, HasSubstr("a cycle: \"C\" -> \"D\" -> \"C\""));
  EXPECT_THAT(faults, HasSubstr("node \"bad\" (Add): expected 1 input"));
  EXPECT_THAT(faults, HasSubstr("not checked, because a node before them has a fault: \"E\""));
}

TEST_F(CompilerTest, SlotsOfKnownTypesAreCheckedWithTheEdges) {
  core::Registry builtins;
  register_builtin_tasks(builtins);
  core::GraphSpec spec;
  spec.add_node("in", "Input").add_node("c", "Copy").add_node("o", "Output");
  spec.connect("in", 0, "c", 0).connect("in", 0, "c", 4).connect("c", 2, "o", 0);
  spec.connect("c", 0, "o", 1).connect("x", 0, "o", 0);
  try {
    (void)runtime::Compiler(builtins, {}).plan(spec);
    FAIL() << "was accepted";
  } catch (const core::CompileError &error) {
    EXPECT_THAT(error.what(), HasSubstr("input 4 of \"c\" is out of range: Copy has 1 input"));
    EXPECT_THAT(error.what(), HasSubstr("output 2 of \"c\" is out of range: Copy has 1 output"));
    EXPECT_THAT(error.what(), HasSubstr("input 1 of \"o\" is out of range: Output has 1 input"));
    EXPECT_THAT(error.what(), HasSubstr("there is no node \"x\""));
    EXPECT_THAT(error.what(), HasSubstr("input \"o:0\" has two producers"));
  }
}

TEST_F(CompilerTest, NodesBehindASubGraphThatCannotBeExpandedAreNotBlamed) {
  auto spec = chain({{"A", "Source"}, {"G", "Graph"}, {"B", "Add"}, {"C", "Sink"}});
  spec.nodes[1].settings = {{"graph", "nope"}};
  const auto faults = faults_of(spec);
  EXPECT_THAT(faults, HasSubstr("node \"G\" (Graph): there is no sub-graph \"nope\""));
  EXPECT_THAT(
      faults, HasSubstr("not checked, because a node before them has a fault: \"B\", \"C\""));
  EXPECT_THAT(faults, testing::Not(HasSubstr("expected 1 input")));
}

TEST_F(CompilerTest, BrokenFactoriesAreNamed) {
  const auto refuse = [&](const std::string &kind, core::InferResult result) {
    register_fake(
        registry, kind,
        SyncFake{.infer = [result](auto, const auto &) { return result; }, .create = {}});
    return faults_of(chain({{"A", "Source"}, {"x", kind}}));
  };
  auto masks = contract(1, 1);
  masks.owned_outputs = {false, false};
  EXPECT_THAT(
      refuse("Masks", masks),
      HasSubstr("node \"x\" (Masks): the factory of this type broke its contract: "
                "owned_outputs has 2 entries for 1 slots"));
  auto in_place = contract(1, 1);
  in_place.in_place = {{0, 3}};
  EXPECT_THAT(refuse("InPlaceIndex", in_place), HasSubstr("in_place maps input 0 to output 3"));
  EXPECT_THAT(
      refuse("Kind", contract(1, 1, core::TaskKind::Async)),
      HasSubstr("kind is Async, but the factory is registered as synchronous"));
  {
    auto result = contract(1, 1);
    result.input_descs[0].shape = {7};
    EXPECT_THAT(
        refuse("OtherInput", result),
        HasSubstr("input_descs[0] is F32 [7] on Host, but the input is F32 [1] on Host"));
    result = contract(1, 1);
    result.output_descs[0].strides = {4, 4};
    EXPECT_THAT(refuse("Strides", result), HasSubstr("output 0 has 2 strides for 1 axes"));
    result = contract(1, 1);
    result.output_descs[0].strides = {2};
    EXPECT_THAT(refuse("Alignment", result), HasSubstr("no multiples of 4 bytes"));
    result = contract(1, 1);
    result.output_descs[0] = core::TDesc({size_t{1} << 60}, core::DType::U8, core::MemLoc::Host);
    EXPECT_THAT(refuse("Size", result), HasSubstr("is larger than 281474976710656 bytes"));
    result = contract(1, 1);
    result.window = core::Window{1, 0, 1};
    EXPECT_THAT(refuse("Window", result), HasSubstr("must be at least 1"));
  }
  EXPECT_THAT(
      refuse("Inputs", contract(2, 1)),
      HasSubstr("input_descs has 2 entries for 1 connected inputs"));
}

TEST_F(CompilerTest, InferTouchesNoDeviceAndReportsFaults) {
  const runtime::Compiler compiler(registry, {});
  const auto good = compiler.infer(chain({{"A", "Source"}, {"B", "Sink"}}));
  EXPECT_TRUE(good.faults.empty());
  EXPECT_EQ(good.graph.nodes[1].infer.input_descs[0], scalar());
  const auto bad = compiler.infer(chain({{"A", "Source"}, {"B", "Nope"}}));
  ASSERT_EQ(bad.faults.size(), 1u);
  EXPECT_EQ(bad.faults[0].node, "B");
  EXPECT_EQ(bad.faults[0].pass, "validate");
}

}  // namespace holoflow::test
