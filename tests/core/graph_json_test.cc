// SPDX-License-Identifier: LGPL-2.1-or-later
// Graph files: what is accepted, and every fault with pointer, line, column and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph_faults.hh"
#include "holoflow/core/graph_json.hh"

namespace holoflow::core {
namespace {

using test::faults_of;
using test::json_faults;
using test::texts_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The one fault of a graph with these nodes and edges; "" where there is none.
std::string fault_in(const std::string &nodes, const std::string &edges = "[]") {
  const auto faults = json_faults("{\"nodes\":" + nodes + ",\n\"edges\":" + edges + "}");
  EXPECT_LE(faults.size(), 1u) << nodes << edges;
  return faults.empty() ? "" : faults[0].what();
}

TEST(GraphJson, ReadsTheExampleOfTheContract) {
  const auto graph = GraphSpec::from_json(R"({
    // The ancestor's form, with short edges.
    "$schema": "graph.schema.json", "description": "a band-pass", "debug": false,
    "nodes": {"in": {"type": "Input", "params": {"as": "GRAY"}}, "up": {"type": "Upload"},
              "f": {"type": "Conversion", "params": {"target": "F32"}, "debug": false},
              "band": {"type": "Filter2D", "params": {"r_outer": 60, "s_outer": 8.5},
                       "description": "keeps the middle"}},
    "edges": [{"from": "in", "to": "up", "out": 0, "in": 0}, "up -> f", "f:1->band:2"]})");
  ASSERT_EQ(graph.nodes.size(), 4u);
  // The order of the text, not of the alphabet.
  EXPECT_EQ(graph.nodes[0].name, "in");
  EXPECT_EQ(graph.nodes[1].name, "up");
  EXPECT_EQ(graph.nodes[2].name, "f");
  EXPECT_EQ(graph.nodes[3].name, "band");
  EXPECT_FALSE(graph.nodes[2].debug);
  EXPECT_TRUE(graph.nodes[1].settings.is_object());
  EXPECT_TRUE(graph.nodes[3].settings.at("r_outer").is_number_integer());
  EXPECT_TRUE(graph.nodes[3].settings.at("s_outer").is_number_float());
  ASSERT_EQ(graph.edges.size(), 3u);
  EXPECT_EQ(graph.edges[0].from + "," + graph.edges[0].to, "in,up");
  EXPECT_EQ(graph.edges[1].from + "," + graph.edges[1].to, "up,f");
  EXPECT_EQ(graph.edges[2].out_idx, 1);
  EXPECT_EQ(graph.edges[2].in_idx, 2);
}

TEST(GraphJson, RemembersWhereParamsStand) {
  const auto graph = GraphSpec::from_json(
      "{\"nodes\": {\n  \"f\": {\"type\": \"FFT\", \"params\": {\"axis\": 9}}}}");
  ASSERT_NE(graph.source, nullptr);
  const GraphSpec copy = graph;
  EXPECT_EQ(copy.source->find("/nodes/f/params/axis").line, 2);
  EXPECT_EQ(copy.source->find("/nodes/f/params/axis").column, 43);
  EXPECT_EQ(copy.source->find_key("/nodes/f/params/axis").column, 35);
}

TEST(GraphJson, ShortEdgesMayHaveBlanks) {
  const auto graph = GraphSpec::from_json(
      R"({"nodes": {}, "edges": ["a->b", "a -> b", "a:1->b:2", " a : 1  ->  b : 2 ", "ü-x->y_z"]})");
  ASSERT_EQ(graph.edges.size(), 5u);
  for (size_t i : {2u, 3u}) {
    EXPECT_EQ(graph.edges[i].from + graph.edges[i].to, "ab");
    EXPECT_EQ(graph.edges[i].out_idx, 1);
    EXPECT_EQ(graph.edges[i].in_idx, 2);
  }
  EXPECT_EQ(graph.edges[4].from, "ü-x");
  EXPECT_EQ(graph.edges[4].to, "y_z");
}

TEST(GraphJson, MinimalGraphsAndNullParamsAreFine) {
  EXPECT_THAT(GraphSpec::from_json(R"({"nodes": {}})").nodes, IsEmpty());
  const auto graph = GraphSpec::from_json(R"({"nodes": {"a": {"type": "X", "params": null}}})");
  EXPECT_TRUE(graph.nodes[0].settings.is_object());
}

TEST(GraphJson, SubGraphsAreKeptAsWritten) {
  const auto graph = GraphSpec::from_json(R"({"nodes": {"a": {"type": "Graph"}}, "graphs":
      {"g": {"nodes": {"x": {"type": "Sqrt"}}, "edges": [], "inputs": ["x:0"], "outputs": ["x"]}}})");
  EXPECT_EQ(graph.graphs.at("g").at("inputs").dump(), R"(["x:0"])");
}

TEST(GraphJson, FaultsOfNodes) {
  EXPECT_EQ(
      fault_in(R"({"up": {"type": "Upload", "parms": {}}})"),
      "graph, line 1, column 36, /nodes/up/parms: unknown key \"parms\"; did you mean "
      "\"params\"?");
  EXPECT_EQ(
      fault_in(R"({"up": {"type": "Upload", "target": "F32"}})"),
      "graph, line 1, column 36, /nodes/up/target: unknown key \"target\"; expected \"type\", "
      "\"params\", \"debug\", \"description\"");
  EXPECT_EQ(
      fault_in(R"({"up": {}})"),
      "graph, line 1, column 17, /nodes/up: \"type\" is missing; expected the name of a task "
      "type");
  EXPECT_EQ(
      fault_in(R"({"up": {"type": 5}})"),
      "graph, line 1, column 26, /nodes/up/type: expected the name of a task type, got 5");
  EXPECT_EQ(
      fault_in(R"({"up": "Upload"})"),
      "graph, line 1, column 17, /nodes/up: expected a node as {\"type\": \"Copy\", \"params\": "
      "{}}, got \"Upload\"");
  EXPECT_EQ(
      fault_in(R"({"up": {"type": "Upload", "params": []}})"),
      "graph, line 1, column 46, /nodes/up/params: expected an object of params by name, got "
      "an array");
  EXPECT_EQ(
      fault_in(R"({"up": {"type": "Upload", "debug": 1}})"),
      "graph, line 1, column 45, /nodes/up/debug: expected true or false, got 1");
  EXPECT_EQ(
      fault_in(R"({"up": {"type": "Upload", "description": []}})"),
      "graph, line 1, column 51, /nodes/up/description: expected a string, got an array");
  EXPECT_EQ(
      fault_in("[]"),
      "graph, line 1, column 10, /nodes: expected an object of nodes by name, got an array");
}

TEST(GraphJson, FaultsOfNames) {
  EXPECT_EQ(
      fault_in(R"({"a/b": {"type": "X"}})"),
      "graph, line 1, column 11, /nodes/a~1b: node names hold no \"/\", got \"a/b\"");
  EXPECT_EQ(
      fault_in(R"({"": {"type": "X"}})"),
      "graph, line 1, column 11, /nodes/: node names are not empty");
  EXPECT_THAT(
      fault_in(R"({"a\u0000b": {"type": "X"}})"),
      HasSubstr("node names hold no control characters, got \"a\\u0000b\""));
  EXPECT_EQ(
      fault_in(R"({"a b:c->d": {"type": "X"}})", R"([{"from": "a b:c->d", "to": "a b:c->d"}])"),
      "");
}

TEST(GraphJson, FaultsOfEdges) {
  EXPECT_EQ(
      fault_in("{}", R"([{"from": "a", "to": "b", "out": 4.0}])"),
      "graph, line 2, column 42, /edges/0/out: expected a slot, an integer of at least 0, got "
      "4.0");
  EXPECT_THAT(fault_in("{}", R"([{"from": "a", "to": "b", "in": -1}])"), HasSubstr("got -1"));
  EXPECT_THAT(
      fault_in("{}", R"([{"from": "a", "to": "b", "in": 2147483648}])"),
      HasSubstr("got 2147483648"));
  EXPECT_THAT(fault_in("{}", R"([{"from": "a", "to": "b", "in": "0"}])"), HasSubstr("got \"0\""));
  EXPECT_EQ(
      fault_in("{}", R"([{"from": "a"}])"),
      "graph, line 2, column 10, /edges/0: \"to\" is missing; expected an edge as {\"from\": "
      "\"a\", \"out\": 0, \"to\": \"b\", \"in\": 0} or \"a:0 -> b:0\"");
  EXPECT_EQ(
      fault_in("{}", R"([{"from": "a", "to": 3}])"),
      "graph, line 2, column 30, /edges/0/to: expected the name of a node, got 3");
  EXPECT_EQ(
      fault_in("{}", R"([{"from": "a", "to": "b", "form": "c"}])"),
      "graph, line 2, column 35, /edges/0/form: unknown key \"form\"; did you mean \"from\"?");
  EXPECT_THAT(fault_in("{}", "[7]"), HasSubstr("or \"a:0 -> b:0\", got 7"));
  EXPECT_EQ(
      fault_in("{}", "{}"),
      "graph, line 2, column 9, /edges: expected an array of edges, got an object");
}

TEST(GraphJson, FaultsOfShortEdges) {
  EXPECT_THAT(
      fault_in("{}", R"(["a b"])"),
      HasSubstr("line 2, column 10, /edges/0: expected one \"->\" between two nodes, got \"a "
                "b\""));
  EXPECT_THAT(fault_in("{}", R"(["a -> b -> c"])"), HasSubstr("expected one \"->\""));
  EXPECT_THAT(fault_in("{}", R"(["a -> "])"), HasSubstr("expected node:slot, got \"\""));
  EXPECT_THAT(
      fault_in("{}", R"(["a c -> b"])"),
      HasSubstr("expected node:slot, got \"a c\"; names with a blank, \":\" or \"->\" need an "
                "edge object"));
  for (const char *slot : {"x", "", "-1", "1.0", "1:2", "99999999999", "+1", "1 2"})
    EXPECT_THAT(
        fault_in("{}", "[\"a:" + std::string(slot) + "->b\"]"),
        HasSubstr(
            "expected a slot, an integer of at least 0, behind \":\", got \"" + std::string(slot) +
            "\""));
}

TEST(GraphJson, FaultsOfTheTop) {
  EXPECT_THAT(
      texts_of(json_faults("[]")),
      ElementsAre("graph, line 1, column 1: expected an object with \"nodes\" and \"edges\", "
                  "got an array"));
  EXPECT_THAT(
      texts_of(json_faults("{\n \"edgs\": []}")),
      ElementsAre(
          "graph, line 1, column 1: \"nodes\" is missing; expected an object of "
          "nodes by name",
          "graph, line 2, column 2, /edgs: unknown key \"edgs\"; did you mean "
          "\"edges\"?"));
  EXPECT_THAT(
      texts_of(json_faults(R"({"nodes": {}, "$schema": 1, "debug": "no"})")),
      ElementsAre(
          HasSubstr("/$schema: expected a string, got 1"),
          HasSubstr("/debug: expected true or false, got \"no\"")));
}

TEST(GraphJson, FaultsOfSubGraphs) {
  EXPECT_THAT(
      texts_of(json_faults(R"({"nodes": {}, "graphs": {"g": {
      "nodes": {"x": {"typ": "Sqrt"}}, "graphs": {}, "inputs": "x", "outputs": ["x:y", 3]}, "h": 4}})")),
      ElementsAre(
          HasSubstr("/graphs/g/nodes/x: \"type\" is missing"),
          HasSubstr("/graphs/g/nodes/x/typ: unknown key \"typ\"; did you mean "
                    "\"type\"?"),
          HasSubstr("/graphs/g/graphs: unknown key \"graphs\""),
          HasSubstr("/graphs/g/inputs: expected an array of \"node:slot\", got \"x\""),
          HasSubstr("/graphs/g/outputs/0: expected a slot"),
          HasSubstr("/graphs/g/outputs/1: expected \"node:slot\", got 3"),
          HasSubstr("/graphs/h: expected a sub-graph")));
}

TEST(GraphJson, EveryFaultIsReportedInTheOrderOfTheText) {
  const auto faults = json_faults(R"({"edges": ["a", {"from": 1, "to": 2}],
      "nodes": {"z": {"type": "A", "x": 0}, "a": {"type": ""}, "a": {"type": "B"}}})");
  EXPECT_THAT(
      texts_of(faults),
      ElementsAre(
          HasSubstr("/edges/0: expected one \"->\""), HasSubstr("/edges/1/from: expected the name"),
          HasSubstr("/edges/1/to: expected the name"), HasSubstr("/nodes/z/x: unknown key"),
          HasSubstr("/nodes/a/type: expected the name of a task "
                    "type, got \"\""),
          HasSubstr("/nodes/a: duplicate key \"a\"; it is already "
                    "at line 2")));
  EXPECT_EQ(faults[3].node, "z");
  EXPECT_EQ(faults[3].pointer, "/nodes/z/x");
  EXPECT_EQ(faults[3].line, 2);
  EXPECT_EQ(faults[3].column, 36);
}

TEST(GraphJson, BrokenTextIsOneFaultWithItsPlace) {
  EXPECT_THAT(
      texts_of(json_faults("{\"nodes\": {\n  \"a\": {\"type\": \"X\",}\n}}")),
      ElementsAre("graph, line 2, column 21, /nodes/a: expected another member behind "
                  "\",\", got \"}\"; remove the comma"));
}

TEST(GraphJson, ParsedJsonHasFaultsWithoutPlaces) {
  const auto faults = faults_of([] {
    return GraphSpec::from_json(nlohmann::json{{"nodes", {{"a", {{"typo", 1}}}}}});
  });
  EXPECT_THAT(
      texts_of(faults),
      ElementsAre(
          "graph, /nodes/a/typo: unknown key \"typo\"; did you mean \"type\"?",
          "graph, /nodes/a: \"type\" is missing; expected the name of a task type"));
  EXPECT_EQ(faults[0].line, 0);
  EXPECT_EQ(
      GraphSpec::from_json(nlohmann::json{{"nodes", nlohmann::json::object()}}).source, nullptr);
}

TEST(GraphJson, TextsBeyondTheLimitAreRefused) {
  EXPECT_THAT(
      texts_of(json_faults(std::string(max_graph_bytes + 1, ' '))),
      ElementsAre("graph: expected at most 8388608 bytes, got more"));
  EXPECT_THAT(
      texts_of(json_faults(std::string(100000, '['))),
      ElementsAre(HasSubstr("nested more than 64 deep")));
}

TEST(GraphJson, WhatCanBeReadIsKeptBesideTheFaults) {
  const auto result = read_graph_json(
      R"({"nodes": {"a": {"type": "Input"}, "b": {"type": 3}}, "edges": ["a->b", "?"]})", "x.json");
  EXPECT_EQ(result.faults.size(), 2u);
  ASSERT_EQ(result.graph.nodes.size(), 1u);
  EXPECT_EQ(result.graph.nodes[0].name, "a");
  EXPECT_EQ(result.graph.edges.size(), 1u);
  EXPECT_THAT(result.faults[0].what(), HasSubstr("x.json, line 1, column 50"));
}

TEST(GraphJson, LongAndStrangeKeysStayReadable) {
  const auto faults =
      json_faults("{\"nodes\": {}, \"" + std::string(5000, 'k') + "\": 1, \"a\\nb\": 2}");
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_LT(std::string(faults[0].what()).size(), 500u);
  EXPECT_EQ(faults[0].pointer.size(), 5001u);
  EXPECT_THAT(faults[1].what(), HasSubstr("/a\\nb: unknown key \"a\\nb\""));
}

}  // namespace
}  // namespace holoflow::core
