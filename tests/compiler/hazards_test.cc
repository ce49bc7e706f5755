// SPDX-License-Identifier: LGPL-2.1-or-later
// Case C17 and its siblings: nothing is overwritten or taken away before its readers have run.
#include "compile_fixture.hh"

namespace holoflow::test {

using testing::ElementsAre;
using testing::HasSubstr;

class HazardTest : public CompilerTest {
protected:
  HazardTest() {
    add_view("View");
    add_const_source();
    add_taker("Taker", true);
    add_taker("FirmTaker", false);
  }

  /// An output that looks at its input and is never written through.
  void add_view(const std::string &kind) {
    register_fake(
        registry, kind,
        SyncFake{
            .infer =
                [](auto, const auto &) {
                  auto result = contract(1, 1);
                  result.in_place = {{0, 0, true, false}};
                  return result;
                },
            .create =
                [](auto, const auto &, const auto &) {
                  return std::make_unique<FunctionTask>(
                      [](core::SyncCtx &) { return OpResult::Ok; });
                }});
  }

  void add_const_source() {
    register_fake(
        registry, "ConstSource",
        SyncFake{
            .infer =
                [](auto, const auto &) {
                  auto result = contract(0, 1);
                  result.const_outputs = {true};
                  return result;
                },
            .create =
                [](auto, const auto &, const auto &) {
                  return std::make_unique<FunctionTask>(
                      [](core::SyncCtx &) { return OpResult::Eof; });
                }});
  }

  /// A sink that lends its memory to its producer and gives it away.
  void add_taker(const std::string &kind, bool yields) {
    register_fake(
        registry, kind,
        SyncFake{
            .infer =
                [yields](auto, const auto &) {
                  auto result = contract(1, 0);
                  result.owned_inputs = {true};
                  result.yields_ownership = yields;
                  return result;
                },
            .create =
                [](auto, const auto &, const auto &) {
                  return std::make_unique<FunctionTask>(
                      [](core::SyncCtx &) { return OpResult::Ok; });
                }});
  }

  /// A.0 read by B (of `kind`) and by `reader`, an edge from B to a sink.
  static core::GraphSpec shared(const std::string &kind, const std::string &reader_kind) {
    core::GraphSpec spec;
    spec.add_node("A", "Source", {{"count", 3}}).add_node("B", kind).add_node("C", reader_kind);
    spec.add_node("D", "Sink", {{"name", "D"}});
    return spec.connect("A", 0, "B", 0).connect("A", 0, "C", 0).connect("B", 0, "D", 0);
  }

  void run(runtime::CompilerOutput &output) {
    runtime::Scheduler scheduler(output.graph, output.sections, output.resources);
    scheduler.start();
    scheduler.wait();
  }
};

TEST_F(HazardTest, C17_AReaderRunsBeforeTheOneWhoOverwrites) {
  for (const std::string kind : {"InPlace", "InPlaceMust"}) {
    auto spec = shared(kind, "Sink");
    spec.nodes[1].settings = {{"value", 10}};
    spec.nodes[2].settings = {{"name", "C " + kind}};
    const auto output = compile(spec);
    EXPECT_THAT(names(*output, output->sections[0].sync_topo), ElementsAre("A", "C", "B", "D"));
    EXPECT_EQ(output->resources.storages.size(), 1u);
    run(*output);
    EXPECT_EQ(fakes.results("C " + kind), (std::vector<float>{0, 1, 2}));
  }
  EXPECT_EQ(fakes.results("D"), (std::vector<float>{10, 11, 12, 10, 11, 12}));
}

TEST_F(HazardTest, C17_AQueueIsPushedLaterSoAnOptionalAliasIsBroken) {
  auto spec = shared("InPlace", "Queue");
  spec.add_node("E", "Sink", {{"name", "E"}}).connect("C", 0, "E", 0);
  spec.nodes[1].settings = {{"value", 10}};
  const auto output = compile(spec);
  EXPECT_EQ(output->resources.storages.size(), 3u);
  run(*output);
  EXPECT_EQ(fakes.results("E"), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(fakes.results("D"), (std::vector<float>{10, 11, 12}));
}

TEST_F(HazardTest, C17_AQueueIsPushedLaterSoARequiredAliasIsRefused) {
  auto spec = shared("InPlaceMust", "Queue");
  spec.add_node("E", "Sink").connect("C", 0, "E", 0);
  const auto faults = faults_of(spec);
  EXPECT_THAT(
      faults,
      HasSubstr("node \"B\" (InPlaceMust), input 0 is overwritten in place, but "
                "\"A:0\" is also read by \"C\""));
  EXPECT_THAT(faults, HasSubstr("put a \"Copy\" node before input 0"));
}

TEST_F(HazardTest, C17_AReaderBehindTheOverwriterBreaksOrRefusesTheAlias) {
  const auto build = [](const std::string &kind) {
    core::GraphSpec spec;
    spec.add_node("A", "Source", {{"count", 2}}).add_node("B", kind, {{"value", 10}});
    spec.add_node("C", "Sum").add_node("D", "Sink");
    spec.connect("A", 0, "B", 0).connect("A", 0, "C", 0).connect("B", 0, "C", 1);
    return spec.connect("C", 0, "D", 0);
  };
  const auto output = compile(build("InPlace"));
  EXPECT_EQ(output->resources.storages.size(), 3u);
  run(*output);
  EXPECT_EQ(fakes.results(), (std::vector<float>{10, 12}));
  const auto faults = faults_of(build("InPlaceMust"));
  EXPECT_THAT(faults, HasSubstr("\"A:0\" is also read by \"C\", which runs after \"B\""));
}

TEST_F(HazardTest, AWriterBehindAViewWritesTheViewedTensor) {
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("V", "View").add_node("B", "InPlaceMust");
  spec.add_node("C", "Sink", {{"name", "C"}}).add_node("D", "Sink");
  spec.connect("A", 0, "V", 0).connect("V", 0, "B", 0).connect("A", 0, "C", 0);
  spec.connect("B", 0, "D", 0);
  const auto output = compile(spec);
  EXPECT_THAT(names(*output, output->sections[0].sync_topo), ElementsAre("A", "V", "C", "B", "D"));
  EXPECT_EQ(output->resources.storages.size(), 1u);
}

TEST_F(HazardTest, OfTwoWhoOverwriteOneTensorOneGetsItsOwn) {
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("B", "InPlace").add_node("C", "InPlaceMust");
  spec.add_node("D", "Sum").add_node("E", "Sink");
  spec.connect("A", 0, "B", 0).connect("A", 0, "C", 0).connect("B", 0, "D", 0);
  spec.connect("C", 0, "D", 1).connect("D", 0, "E", 0);
  const auto output = compile(spec);
  EXPECT_THAT(names(*output, output->sections[0].sync_topo), ElementsAre("A", "B", "C", "D", "E"));
  const auto &resources = output->resources;
  EXPECT_EQ(
      resources.node_storage_adapters.at("A")->outputs[0],
      resources.node_storage_adapters.at("C")->outputs[0]);
  EXPECT_NE(
      resources.node_storage_adapters.at("A")->outputs[0],
      resources.node_storage_adapters.at("B")->outputs[0]);
  spec.nodes[1].kind = "InPlaceMust";
  EXPECT_THAT(
      faults_of(spec),
      HasSubstr("node \"B\" (InPlaceMust), input 0 is overwritten in place, but "
                "\"A:0\" is also overwritten or taken away by \"C\""));
}

TEST_F(HazardTest, ConstOutputsAreNotOverwrittenNotEvenThroughAView) {
  for (const bool through_view : {false, true}) {
    core::GraphSpec spec;
    spec.add_node("A", "ConstSource").add_node("B", "InPlace").add_node("C", "Sink");
    if (through_view)
      spec.add_node("V", "View").connect("A", 0, "V", 0).connect("V", 0, "B", 0);
    else
      spec.connect("A", 0, "B", 0);
    spec.connect("B", 0, "C", 0);
    EXPECT_EQ(compile(spec)->resources.storages.size(), 2u);
    spec.nodes[1].kind = "InPlaceMust";
    EXPECT_THAT(faults_of(spec), HasSubstr("its producer reads it again; put a \"Copy\""));
  }
}

TEST_F(HazardTest, WhoTakesMemoryAwayComesAfterItsReaders) {
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("T", "FirmTaker").add_node("C", "Sink");
  spec.connect("A", 0, "T", 0).connect("A", 0, "C", 0);
  const auto output = compile(spec);
  EXPECT_THAT(names(*output, output->sections[0].sync_topo), ElementsAre("A", "C", "T"));
}

TEST_F(HazardTest, WhoTakesMemoryAwayGivesWayToAQueueThatReadsItLater) {
  const auto build = [](const std::string &kind) {
    core::GraphSpec spec;
    spec.add_node("A", "Source").add_node("T", kind).add_node("Q", "Queue").add_node("C", "Sink");
    spec.connect("A", 0, "T", 0).connect("A", 0, "Q", 0);
    return spec.connect("Q", 0, "C", 0);
  };
  const auto output = compile(build("Taker"));
  EXPECT_EQ(node(*output, "T").infer.owned_inputs, std::vector<bool>{false});
  EXPECT_EQ(output->resources.memory_blocks.size(), 2u);
  EXPECT_THAT(
      faults_of(build("FirmTaker")),
      HasSubstr("input 0 is taken away, but \"A:0\" is also read by \"Q\""));
}

TEST_F(HazardTest, ATensorAtTwoInputsOfItsOverwriterIsCopied) {
  register_fake(
      registry, "AddInPlace",
      SyncFake{
          .infer =
              [](auto, const auto &) {
                auto result = contract(2, 1);
                result.in_place = {{0, 0, false}};
                return result;
              },
          .create =
              [](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>([](core::SyncCtx &) { return OpResult::Ok; });
              }});
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("B", "AddInPlace").add_node("C", "Sink");
  spec.connect("A", 0, "B", 0).connect("A", 0, "B", 1).connect("B", 0, "C", 0);
  EXPECT_EQ(compile(spec)->resources.storages.size(), 2u);
}

TEST_F(HazardTest, AWholeFanOutOfOverwritersStaysRight) {
  core::GraphSpec spec;
  spec.add_node("A", "Source", {{"count", 2}}).add_node("S", "Sum").add_node("D", "Sink");
  for (int i = 0; i < 20; ++i) {
    const auto name = "B" + std::to_string(i);
    spec.add_node(name, "InPlace", {{"value", i}}).connect("A", 0, name, 0);
    spec.connect(name, 0, "S", i);
  }
  spec.connect("S", 0, "D", 0);
  const auto output = compile(spec);
  run(*output);
  EXPECT_EQ(fakes.results(), (std::vector<float>{190, 210}));
}

}  // namespace holoflow::test
