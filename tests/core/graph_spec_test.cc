// SPDX-License-Identifier: LGPL-2.1-or-later
// Graphs built in code, written as JSON and for Graphviz.
#include "holoflow/core/graph_spec.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "holoflow/core/error.hh"

namespace holoflow::core {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

GraphSpec two_nodes() {
  GraphSpec graph;
  graph.add_node("in", "Input", {{"as", "GRAY"}})
      .add_node("out", "Output")
      .connect("in", 0, "out", 1);
  return graph;
}

TEST(GraphSpec, CallsChain) {
  const GraphSpec graph = two_nodes();
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].settings.at("as"), "GRAY");
  EXPECT_TRUE(graph.nodes[1].settings.is_object());
  EXPECT_TRUE(graph.nodes[0].debug);
  ASSERT_EQ(graph.edges.size(), 1u);
  EXPECT_EQ(graph.edges[0].to, "out");
  EXPECT_EQ(graph.edges[0].in_idx, 1);
}

TEST(GraphSpec, JsonIsAGraphFile) {
  EXPECT_EQ(
      two_nodes().to_json().dump(),
      R"({"edges":[{"from":"in","in":1,"out":0,"to":"out"}],)"
      R"("nodes":{"in":{"params":{"as":"GRAY"},"type":"Input"},"out":{"type":"Output"}}})");
}

TEST(GraphSpec, JsonReadsBackToTheSameGraph) {
  GraphSpec graph = two_nodes();
  graph.add_node({"odd name: a -> b ~ ü", "Slice", {{"slices", {1, {{"start", 2}}}}}, false});
  graph.connect("out", 3, "odd name: a -> b ~ ü", 2);
  graph.graphs["sub"] = {{"nodes", {{"x", {{"type", "Sqrt"}}}}}, {"inputs", {"x:0"}}};
  const auto json = graph.to_json();
  for (const GraphSpec &back : {GraphSpec::from_json(json), GraphSpec::from_json(json.dump(2))}) {
    EXPECT_EQ(back.to_json(), json);
    ASSERT_EQ(back.nodes.size(), 3u);
    EXPECT_EQ(back.graphs.size(), 1u);
  }
}

TEST(GraphSpec, JsonRefusesTwoNodesOfOneName) {
  GraphSpec graph = two_nodes();
  graph.add_node("in", "Input");
  EXPECT_THAT(
      [&] { (void)graph.to_json(); },
      ThrowsMessage<GraphError>(HasSubstr("node \"in\" is there twice")));
}

TEST(GraphSpec, DotNamesNodesTypesAndSlots) {
  GraphSpec graph = two_nodes();
  graph.add_node("say \"hi\" \\", "Copy");
  const std::string dot = graph.to_dot();
  EXPECT_THAT(dot, HasSubstr("digraph holoflow {"));
  EXPECT_THAT(dot, HasSubstr(R"("in" [label="in\nInput"];)"));
  EXPECT_THAT(dot, HasSubstr(R"("in" -> "out" [taillabel="0", headlabel="1"];)"));
  EXPECT_THAT(dot, HasSubstr(R"("say \"hi\" \\" [label="say \"hi\" \\\nCopy"];)"));
}

TEST(SourceMap, FindsAValueOrItsNearestParent) {
  SourceMap map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find("/nodes/a").line, 0);
  map.add("", {1, 1});
  map.add("/nodes/a", {2, 5});
  map.add_key("/nodes/a", {2, 1});
  map.add("/nodes/a", {9, 9});
  EXPECT_EQ(map.find("/nodes/a").column, 5);
  EXPECT_EQ(map.find("/nodes/a/params/x").line, 2);
  EXPECT_EQ(map.find("/edges/0").line, 1);
  EXPECT_EQ(map.find_key("/nodes/a").column, 1);
  EXPECT_EQ(map.find_key("/nodes/a/type").column, 5);
}

TEST(SourceMap, PointerTokensAreEscapedAsRfc6901Says) {
  EXPECT_EQ(escape_pointer_token("a/b~c"), "a~1b~0c");
  EXPECT_EQ(escape_pointer_token("~1"), "~01");
}

}  // namespace
}  // namespace holoflow::core
