// SPDX-License-Identifier: LGPL-2.1-or-later
// Sub-graphs: expansion, names, places of faults, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_json.hh"
#include "holoflow/core/graph_spec.hh"

namespace holoflow::core {

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::vector<std::string> names(const GraphSpec &graph) {
  std::vector<std::string> result;
  for (const auto &node : graph.nodes)
    result.push_back(node.name);
  return result;
}

std::vector<std::string> edges(const GraphSpec &graph) {
  std::vector<std::string> result;
  for (const auto &edge : graph.edges)
    result.push_back(
        edge.from + ":" + std::to_string(edge.out_idx) + " -> " + edge.to + ":" +
        std::to_string(edge.in_idx));
  return result;
}

GraphError failure_of(const std::string &json) {
  try {
    (void)GraphSpec::from_json(json).expanded();
  } catch (const GraphError &error) {
    return error;
  }
  ADD_FAILURE() << "was expanded";
  return GraphError({});
}

const std::string soften = R"("soften": {
    "nodes": {"a": {"type": "FFT2"}, "b": {"type": "IFFT2"}},
    "edges": ["a -> b"], "inputs": ["a:0"], "outputs": ["b:0", "a:0"]})";

}  // namespace

TEST(ExpandGraph, NodesAreReplacedAndEdgesReconnected) {
  const auto graph = GraphSpec::from_json(
                         R"({"nodes": {"in": {"type": "Input"},
    "pre": {"type": "Graph", "params": {"graph": "soften"}}, "out": {"type": "Output"},
    "spectrum": {"type": "Output"}},
    "edges": ["in -> pre", "pre -> out", "pre:1 -> spectrum"], "graphs": {)" +
                         soften + "}}")
                         .expanded();
  EXPECT_THAT(names(graph), ElementsAre("in", "pre/a", "pre/b", "out", "spectrum"));
  EXPECT_THAT(
      edges(graph),
      ElementsAre(
          "pre/a:0 -> pre/b:0", "in:0 -> pre/a:0", "pre/b:0 -> out:0", "pre/a:0 -> spectrum:0"));
  EXPECT_EQ(graph.nodes[1].group, "pre");
  EXPECT_EQ(graph.nodes[1].pointer, "/graphs/soften/nodes/a");
  EXPECT_EQ(graph.nodes[0].group, "");
  EXPECT_TRUE(graph.graphs.empty());
}

TEST(ExpandGraph, SubGraphsUseSubGraphs) {
  const auto graph = GraphSpec::from_json(
                         R"({"nodes": {"in": {"type": "Input"},
    "x": {"type": "Graph", "params": {"graph": "twice"}},
    "y": {"type": "Graph", "params": {"graph": "twice"}}, "out": {"type": "Output"}},
    "edges": ["in -> x", "x -> y", "y -> out"], "graphs": {)" +
                         soften + R"(,
    "twice": {"nodes": {"s": {"type": "Graph", "params": {"graph": "soften"}},
                        "t": {"type": "Graph", "params": {"graph": "soften"}}},
      "edges": ["s -> t"], "inputs": ["s:0"], "outputs": ["t:0"]}}})")
                         .expanded();
  EXPECT_THAT(
      names(graph),
      ElementsAre(
          "in", "x/s/a", "x/s/b", "x/t/a", "x/t/b", "y/s/a", "y/s/b", "y/t/a", "y/t/b", "out"));
  EXPECT_THAT(
      edges(graph),
      testing::IsSupersetOf(
          {"in:0 -> x/s/a:0", "x/s/b:0 -> x/t/a:0", "x/t/b:0 -> y/s/a:0", "y/t/b:0 -> out:0"}));
  EXPECT_EQ(graph.nodes[1].group, "x/s");
}

TEST(ExpandGraph, RecursionIsRefusedWithThePath) {
  const auto error = failure_of(R"({"nodes": {"g": {"type": "Graph", "params": {"graph": "a"}}},
    "edges": [], "graphs": {
    "a": {"nodes": {"n": {"type": "Graph", "params": {"graph": "b"}}}},
    "b": {"nodes": {"m": {"type": "Graph", "params": {"graph": "a"}}}}}})");
  EXPECT_THAT(
      error.what(),
      HasSubstr("node \"g/n/m\" (Graph): sub-graphs contain each other: \"a\" -> "
                "\"b\" -> \"a\""));
  EXPECT_EQ(error.faults[0].pointer, "/graphs/b/nodes/m");
  EXPECT_EQ(error.faults[0].line, 4);
}

TEST(ExpandGraph, FaultsAreReportedTogetherWithNearNames) {
  const auto error = failure_of(
      R"({"nodes": {
    "a": {"type": "Graph", "params": {"graph": "softn"}},
    "b": {"type": "Graph", "params": {"grph": "soften"}},
    "c": {"type": "Graph", "params": {"graph": 3}},
    "d": {"type": "Graph", "params": {"graph": "soften"}}, "e": {"type": "Input"}},
    "edges": ["e -> d:1", "d:2 -> a", "e -> a"], "graphs": {)" +
      soften + R"(,
    "bad": {"nodes": {"n": {"type": "Copy"}}, "inputs": ["m:0"]}}})");
  EXPECT_THAT(error.what(), HasSubstr("there is no sub-graph \"softn\"; did you mean \"soften\"?"));
  EXPECT_THAT(error.what(), HasSubstr("unknown param \"grph\"; did you mean \"graph\"?"));
  EXPECT_THAT(error.what(), HasSubstr("param \"graph\" is missing"));
  EXPECT_THAT(error.what(), HasSubstr("\"graph\": expected a string, got 3"));
  EXPECT_THAT(
      error.what(),
      HasSubstr("node \"d\" (Graph), input 1 is out of range: its sub-graph lists "
                "1 input"));
  EXPECT_THAT(error.what(), HasSubstr("node \"d\" (Graph), output 2 is out of range"));
  EXPECT_EQ(error.faults.size(), 6u);
}

TEST(ExpandGraph, NodesBehindASlotThatDoesNotExistSeeAFaultyGraphNode) {
  FaultList faults;
  const auto graph = expand_graph(
      GraphSpec::from_json(
          R"({"nodes": {"in": {"type": "Input"},
        "g": {"type": "Graph", "params": {"graph": "soften"}}, "out": {"type": "Output"}},
        "edges": ["in -> g", "g:7 -> out"], "graphs": {)" +
          soften + "}}"),
      faults);
  EXPECT_EQ(faults.size(), 1u);
  EXPECT_THAT(edges(graph), testing::Contains("g:0 -> out:0"));
  EXPECT_THAT(names(graph), testing::Contains("g"));
}

TEST(ExpandGraph, PortsThatNameNoNodeAreReportedOnce) {
  const auto error = failure_of(R"({"nodes": {
    "a": {"type": "Graph", "params": {"graph": "g"}}, "b": {"type": "Graph",
    "params": {"graph": "g"}}}, "graphs": {
    "g": {"nodes": {"first": {"type": "Copy"}}, "inputs": ["fist:0"]}}})");
  ASSERT_EQ(error.faults.size(), 1u);
  EXPECT_EQ(error.faults[0].pointer, "/graphs/g/inputs/0");
  EXPECT_THAT(error.what(), HasSubstr("did you mean \"first\"?"));
}

TEST(ExpandGraph, ANameUsedTwiceIsRefused) {
  GraphSpec graph;
  graph.graphs["g"] = nlohmann::json::parse(R"({"nodes": {"n": {"type": "Copy"}}})");
  graph.add_node("x", "Copy").add_node("x", "Graph", {{"graph", "g"}});
  try {
    (void)graph.expanded();
    FAIL();
  } catch (const GraphError &error) {
    EXPECT_THAT(error.what(), HasSubstr("the name is used twice"));
  }
}

TEST(ExpandGraph, GrowthWithoutEndIsRefusedAlsoWithoutNodes) {
  // Each level doubles: 2^40 empty sub-graphs if it were expanded.
  std::string graphs = R"("g0": {"nodes": {}})";
  for (int i = 1; i <= 40; ++i) {
    const auto inner =
        R"({"type": "Graph", "params": {"graph": "g)" + std::to_string(i - 1) + "\"}}";
    graphs += ", \"g" + std::to_string(i) + "\": {\"nodes\": {\"a\": " + inner +
        ", \"b\": " + inner + "}}";
  }
  const auto error = failure_of(
      R"({"nodes": {"g": {"type": "Graph", "params": {"graph": "g40"}}}, "graphs": {)" + graphs +
      "}}");
  EXPECT_THAT(error.what(), HasSubstr("expected at most 100000 Graph nodes in the expanded graph"));
  EXPECT_EQ(error.faults.size(), 1u);
}

TEST(ExpandGraph, TheLimitItselfIsAllowed) {
  GraphSpec graph;
  for (size_t i = 0; i < max_graph_nodes; ++i)
    graph.add_node(std::to_string(i), "Copy");
  graph.connect("0", 0, "1", 0);
  EXPECT_EQ(graph.expanded().nodes.size(), max_graph_nodes);
  graph.add_node("x", "Copy");
  EXPECT_THROW((void)graph.expanded(), GraphError);
}

TEST(ExpandGraph, DeepNestingIsRefused) {
  std::string graphs = R"("g0": {"nodes": {"n": {"type": "Copy"}}})";
  for (int i = 1; i <= 80; ++i)
    graphs += ", \"g" + std::to_string(i) + R"(": {"nodes": {"n": {"type": "Graph", "params":
        {"graph": "g)" +
        std::to_string(i - 1) + "\"}}}}";
  EXPECT_THAT(
      failure_of(
          R"({"nodes": {"g": {"type": "Graph", "params": {"graph": "g80"}}}, "graphs": {)" +
          graphs + "}}")
          .what(),
      HasSubstr("expected at most 64 sub-graphs within each other"));
}

TEST(ExpandGraph, AGraphWithoutSubGraphsStaysAsItIs) {
  GraphSpec graph;
  graph.add_node("a", "Input").add_node("b", "Output").connect("a", 0, "b", 0);
  const auto expanded = graph.expanded();
  EXPECT_THAT(names(expanded), ElementsAre("a", "b"));
  EXPECT_EQ(expanded.expanded().to_json(), graph.to_json());
}

}  // namespace holoflow::core
