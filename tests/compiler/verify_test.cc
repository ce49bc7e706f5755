// SPDX-License-Identifier: LGPL-2.1-or-later
// Passes on plans made by hand, each alone; and that the verify step finds a plan that is broken.
#include "compile_fixture.hh"
#include "holoflow/compiler/passes.hh"

namespace holoflow::test {

using compiler::Plan;
using testing::ElementsAre;
using testing::HasSubstr;

/// A plan whose spec, registry and config live beside it.
struct HandPlan {
  explicit HandPlan(core::GraphSpec graph, core::Registry &registry) : spec(std::move(graph)) {
    plan.spec = &spec;
    plan.registry = &registry;
    plan.config = &config;
  }

  core::GraphSpec spec;
  runtime::CompilerConfig config;
  Plan plan;
};

class PassTest : public CompilerTest {
protected:
  /// A → B (in place) → Q → C → D.
  core::GraphSpec spec() {
    return chain(
        {{"A", "Source"}, {"B", "InPlace"}, {"Q", "OwnedQueue"}, {"C", "Add"}, {"D", "Sink"}});
  }

  void judge(Plan &plan) {
    compiler::validate(plan);
    compiler::build_plan(plan);
    compiler::infer_types(plan);
    compiler::assign_tensors(plan);
    compiler::map_storage(plan);
    compiler::check_ownership(plan);
    compiler::partition_sections(plan);
    compiler::plan_lag(plan);
    compiler::plan_memory(plan);
    ASSERT_TRUE(plan.faults.empty());
  }

  static std::string broken(const Plan &plan, bool made = false) {
    try {
      compiler::verify(plan, made);
      return {};
    } catch (const std::logic_error &error) {
      return error.what();
    }
  }
};

TEST_F(PassTest, ValidateAlone) {
  auto graph = spec();
  graph.nodes[1].kind = "Nope";
  HandPlan hand(graph, registry);
  compiler::validate(hand.plan);
  ASSERT_EQ(hand.plan.faults.size(), 1u);
  EXPECT_EQ(hand.plan.node_faulty, (std::vector<bool>{false, true, false, false, false}));
}

TEST_F(PassTest, BuildPlanAlone) {
  HandPlan hand(spec(), registry);
  auto &plan = hand.plan;
  plan.node_index = {{"A", 0}, {"B", 1}, {"Q", 2}, {"C", 3}, {"D", 4}};
  plan.edge_faulty = {false, false, true, false};
  compiler::build_plan(plan);
  EXPECT_EQ(plan.graph.edges.size(), 3u);
  EXPECT_THAT(plan.edge_spec_index, ElementsAre(0u, 1u, 3u));
  EXPECT_THAT(plan.in_edges[2], ElementsAre(1u));
  EXPECT_TRUE(plan.out_edges[2].empty());
}

TEST_F(PassTest, InferTypesAlone) {
  HandPlan hand(spec(), registry);
  auto &plan = hand.plan;
  compiler::validate(plan);
  compiler::build_plan(plan);
  compiler::infer_types(plan);
  EXPECT_THAT(plan.topo_order, ElementsAre(0u, 1u, 2u, 3u, 4u));
  EXPECT_EQ(plan.inferred, std::vector<bool>(5, true));
  EXPECT_EQ(plan.graph.edges[3].desc, scalar());
}

TEST_F(PassTest, OwnershipAlone) {
  // Two tensors on one storage, both owned firmly: made by hand, no factory would say so.
  HandPlan hand(chain({{"A", "Source"}, {"B", "Sink"}}), registry);
  auto &plan = hand.plan;
  plan.graph.nodes.resize(2);
  plan.graph.nodes[0].spec = hand.spec.nodes[0];
  plan.graph.nodes[0].infer = contract(0, 1);
  plan.graph.nodes[0].infer.owned_outputs = {true};
  plan.graph.nodes[0].infer.const_outputs = {false};
  plan.graph.nodes[0].out_tids = {0};
  plan.graph.nodes[1].spec = hand.spec.nodes[1];
  plan.graph.nodes[1].infer = contract(1, 0);
  plan.graph.nodes[1].infer.owned_inputs = {true};
  plan.graph.nodes[1].in_tids = {0};
  plan.topo_order = {0, 1};
  plan.topo_rank = {0, 1};
  plan.tensor_descs = {scalar()};
  plan.tensor_producer = {{0, 0}};
  plan.tid_to_sid = {0};
  plan.storage_count = 1;
  compiler::check_ownership(plan);
  ASSERT_EQ(plan.faults.size(), 1u);
  EXPECT_THAT(plan.faults[0].what(), HasSubstr("both want to own the same memory"));
}

TEST_F(PassTest, AssignTensorsAlone) {
  // A's output is read twice, B's by nobody.
  core::GraphSpec graph;
  graph.add_node("A", "Source")
      .add_node("B", "Sum")
      .connect("A", 0, "B", 0)
      .connect("A", 0, "B", 1);
  HandPlan hand(graph, registry);
  auto &plan = hand.plan;
  plan.graph.nodes.resize(2);
  plan.graph.nodes[0].infer = contract(0, 1);
  plan.graph.nodes[1].infer = contract(2, 1);
  plan.graph.nodes[0].infer.writes_records = plan.graph.nodes[1].infer.writes_records = {false};
  plan.graph.edges.resize(2);
  for (size_t i = 0; i < 2; ++i) {
    plan.graph.edges[i].spec = graph.edges[i];
    plan.graph.edges[i].to = 1;
  }
  plan.in_edges = {{}, {0, 1}};
  plan.out_edges = {{0, 1}, {}};
  plan.topo_order = {0, 1};
  compiler::assign_tensors(plan);
  EXPECT_THAT(plan.graph.nodes[0].out_tids, ElementsAre(0));
  EXPECT_THAT(plan.graph.nodes[1].in_tids, ElementsAre(0, 0));
  EXPECT_THAT(plan.graph.nodes[1].out_tids, ElementsAre(1));
  EXPECT_THAT(plan.tensor_readers, ElementsAre(2u, 0u));
}

TEST_F(PassTest, MapStorageAlone) {
  // The output is larger than the input it should live in.
  HandPlan hand(chain({{"A", "Source"}, {"B", "InPlace"}}), registry);
  auto &plan = hand.plan;
  plan.graph.nodes.resize(2);
  for (size_t i = 0; i < 2; ++i)
    plan.graph.nodes[i].spec = hand.spec.nodes[i];
  plan.graph.nodes[0].infer = contract(0, 1);
  plan.graph.nodes[0].infer.const_outputs = {false};
  plan.graph.nodes[0].out_tids = {0};
  plan.graph.nodes[1].infer = contract(1, 1);
  plan.graph.nodes[1].infer.const_outputs = {false};
  plan.graph.nodes[1].infer.in_place = {{0, 0, false}};
  plan.graph.nodes[1].in_tids = {0};
  plan.graph.nodes[1].out_tids = {1};
  plan.topo_order = {0, 1};
  plan.tensor_descs = {scalar(), core::TDesc({2}, core::DType::F32, core::MemLoc::Host)};
  compiler::map_storage(plan);
  EXPECT_THAT(plan.tid_to_sid, ElementsAre(0, 1));
  EXPECT_TRUE(plan.aliases[0].broken);
  EXPECT_THAT(
      plan.decisions.at(0).text, HasSubstr("holds 4 bytes, too few for the output's 8 bytes"));
}

TEST_F(PassTest, PlanMemoryAlone) {
  HandPlan hand(spec(), registry);
  judge(hand.plan);
  hand.plan.block_of.clear();
  hand.plan.bill = {};
  hand.config.memory_budget = 1;
  compiler::plan_memory(hand.plan);
  EXPECT_EQ(hand.plan.faults.size(), 1u);
  EXPECT_EQ(hand.plan.bill.sections.size(), 2u);
}

TEST_F(PassTest, SoundPlansVerify) {
  HandPlan hand(spec(), registry);
  judge(hand.plan);
  EXPECT_EQ(broken(hand.plan), "");
}

TEST_F(PassTest, VerifyNamesTheBrokenInvariant) {
  struct Case {
    const char *expected;
    std::function<void(Plan &)> damage;
  };
  const std::vector<Case> cases = {
      {"internal error: nodes are ordered", [](Plan &plan) { plan.topo_order[1] = 0; }},
      {"internal error: the graph is acyclic",
       [](Plan &plan) { std::swap(plan.topo_rank[0], plan.topo_rank[1]); }},
      {"internal error: contracts are complete",
       [](Plan &plan) { plan.graph.nodes[1].infer.owned_inputs.clear(); }},
      {"internal error: every output is one tensor",
       [](Plan &plan) { plan.graph.nodes[1].out_tids[0] = 0; }},
      {"internal error: an edge carries its producer's tensor",
       [](Plan &plan) { plan.graph.edges[0].tid = 2; }},
      {"internal error: every tensor has a storage", [](Plan &plan) { plan.tid_to_sid[0] = 99; }},
      {"internal error: every storage has a tensor", [](Plan &plan) { ++plan.storage_count; }},
      {"internal error: aliases share a storage",
       [](Plan &plan) {
         plan.aliases.push_back({3, 0, 0, false, true, false});
       }},
      {"internal error: a storage has at most one owner",
       [](Plan &plan) { plan.graph.nodes[1].infer.owned_outputs[0] = true; }},
      {"internal error: sections partition the synchronous nodes",
       [](Plan &plan) { plan.sections[0].sync_topo.pop_back(); }},
      {"internal error: sections run producers first",
       [](Plan &plan) { std::swap(plan.sections[0].sync_topo[0], plan.sections[0].sync_topo[1]); }},
      {"internal error: boundaries are attached",
       [](Plan &plan) { plan.sections[0].async_prod.clear(); }},
      {"internal error: storages are backed", [](Plan &plan) { plan.block_of[0] = 0; }},
      {"internal error: blocks are large enough",
       [](Plan &plan) { plan.block_bytes.assign(plan.block_bytes.size(), 0); }},
  };
  for (const auto &each : cases) {
    HandPlan hand(spec(), registry);
    judge(hand.plan);
    each.damage(hand.plan);
    EXPECT_THAT(broken(hand.plan), HasSubstr(each.expected));
  }
}

TEST_F(PassTest, VerifyFindsOverwritingAndSharingThatIsUnsafe) {
  core::GraphSpec graph;
  graph.add_node("A", "Source").add_node("B", "InPlace").add_node("C", "Add");
  graph.add_node("D", "Sum").add_node("E", "Sink");
  graph.connect("A", 0, "B", 0).connect("A", 0, "C", 0).connect("B", 0, "D", 0);
  graph.connect("C", 0, "D", 1).connect("D", 0, "E", 0);
  {
    HandPlan hand(graph, registry);
    judge(hand.plan);
    auto &order = hand.plan.sections[0].sync_topo;
    ASSERT_THAT(order, ElementsAre(0u, 2u, 1u, 3u, 4u));
    std::swap(order[1], order[2]);
    EXPECT_THAT(
        broken(hand.plan), HasSubstr("nothing is overwritten before its readers have run: \"B\""));
  }
  {
    HandPlan hand(graph, registry);
    judge(hand.plan);
    hand.plan.block_of[static_cast<size_t>(hand.plan.tid_to_sid[2])] = hand.plan.block_of[0];
    EXPECT_THAT(broken(hand.plan), HasSubstr("storages take turns in a shared block"));
  }
}

TEST_F(PassTest, VerifyLooksAtWhatWasMade) {
  HandPlan hand(spec(), registry);
  judge(hand.plan);
  EXPECT_THAT(broken(hand.plan, true), HasSubstr("internal error: storages exist"));
  hand.plan.device = &runtime::host_device();
  compiler::allocate(hand.plan);
  EXPECT_THAT(broken(hand.plan, true), HasSubstr("internal error: sections have streams"));
  compiler::attach_adapters(hand.plan);
  compiler::assign_streams(hand.plan);
  EXPECT_THAT(broken(hand.plan, true), HasSubstr("internal error: nodes have tasks"));
  compiler::create_tasks(hand.plan);
  EXPECT_EQ(broken(hand.plan, true), "");
}

}  // namespace holoflow::test
