// SPDX-License-Identifier: LGPL-2.1-or-later
// GraphSpec::to_json: what it writes reads back equal, what cannot be written is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "graph_faults.hh"

namespace holoflow::core {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

const NodeSpec &node_of(const GraphSpec &graph, const std::string &name) {
  for (const auto &node : graph.nodes)
    if (node.name == name)
      return node;
  throw std::out_of_range(name);
}

void expect_equal(const GraphSpec &back, const GraphSpec &graph) {
  ASSERT_EQ(back.nodes.size(), graph.nodes.size());
  for (const auto &node : graph.nodes) {
    const auto &other = node_of(back, node.name);
    EXPECT_EQ(other.kind, node.kind);
    EXPECT_EQ(other.debug, node.debug);
    EXPECT_EQ(other.settings.dump(), node.settings.is_null() ? "{}" : node.settings.dump());
  }
  ASSERT_EQ(back.edges.size(), graph.edges.size());
  for (size_t i = 0; i < graph.edges.size(); ++i) {
    EXPECT_EQ(back.edges[i].from, graph.edges[i].from);
    EXPECT_EQ(back.edges[i].to, graph.edges[i].to);
    EXPECT_EQ(back.edges[i].out_idx, graph.edges[i].out_idx);
    EXPECT_EQ(back.edges[i].in_idx, graph.edges[i].in_idx);
  }
  EXPECT_EQ(back.graphs, graph.graphs);
}

/// Reads back equal as JSON and as text, or is refused with a sentence.
bool writes(const GraphSpec &graph) {
  nlohmann::json json;
  try {
    json = graph.to_json();
  } catch (const GraphError &error) {
    EXPECT_FALSE(error.faults.empty());
    EXPECT_THAT(error.what(), AllOf(Not(HasSubstr("internal error")), Not(HasSubstr("line "))));
    return false;
  }
  expect_equal(GraphSpec::from_json(json), graph);
  expect_equal(GraphSpec::from_json(json.dump()), graph);
  expect_equal(GraphSpec::from_json(json.dump(2)), graph);
  return true;
}

/// Graphs of ordinary and of odd parts.
class SpecMaker {
public:
  explicit SpecMaker(unsigned seed) : random_(seed) {}

  GraphSpec make() {
    GraphSpec graph;
    for (size_t i = 0, count = below(5); i < count; ++i)
      graph.add_node({pick(names_), pick(kinds_), pick(settings_), below(4) != 0});
    for (size_t i = 0, count = below(4); i < count; ++i)
      graph.connect(pick(names_), pick(slots_), pick(names_), pick(slots_));
    if (below(3) == 0)
      graph.graphs[pick(names_)] = pick(sub_graphs_);
    return graph;
  }

private:
  size_t below(size_t count) { return random_() % count; }
  /// Mostly ordinary ones, so that many graphs can be written.
  template <typename T> T pick(const std::vector<T> &list) {
    const size_t ordinary = list.size() / 2;
    return list[below(12) == 0 ? below(list.size()) : below(ordinary)];
  }

  std::mt19937 random_;
  const std::vector<std::string> names_ = {
      "a",
      "b",
      "c d",
      "a:0",
      "x -> y",
      "ü ~ \"",
      "\\",
      "",
      "p/q",
      "tab\t",
      "\xff",
      std::string(5000, 'n'),
      std::string("nul\0", 4),
      "nodes"};
  const std::vector<std::string> kinds_ = {"Copy", "Graph", "odd kind", "ü", "", "\xc3"};
  const std::vector<int> slots_ = {0, 1, std::numeric_limits<int>::max(), -1, -5, 2};
  const std::vector<nlohmann::json> settings_ = {
      nullptr,
      nlohmann::json::object(),
      {{"n", 1}, {"f", 4.0}, {"e", 1e-310}, {"big", std::numeric_limits<uint64_t>::max()}},
      {{"", {{"deep", {1, 2, {{"x", nullptr}}}}}}},
      {{"text", "\"\\\u0001 ü /"}, {"least", std::numeric_limits<int64_t>::min()}},
      {{"minus", -0.0}, {"true", true}},
      nlohmann::json::array(),
      "text",
      5,
      {{"nan", std::nan("")}},
      {{"list", {1.0, std::numeric_limits<double>::infinity()}}},
      {{"bad \xff", 1}},
      {{"bad", "\xff"}},
      {{"bytes", nlohmann::json::binary({1, 2})}}};
  const std::vector<nlohmann::json> sub_graphs_ = {
      {{"nodes", {{"x", {{"type", "Sqrt"}}}}}, {"inputs", {"x:0"}}},
      {{"nodes", nlohmann::json::object()}, {"edges", nlohmann::json::array()}},
      {{"nodes", {{"x", {{"type", "Sqrt"}, {"params", {{"n", std::nan("")}}}}}}}},
      nullptr};
};

TEST(GraphWriter, EveryGraphReadsBackEqualOrIsRefusedWithASentence) {
  size_t written = 0, refused = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    ++(writes(SpecMaker(seed).make()) ? written : refused);
    if (HasFatalFailure() || HasNonfatalFailure())
      return;
  }
  EXPECT_GT(written, 300u);
  EXPECT_GT(refused, 300u);
}

TEST(GraphWriter, ChainsAndGraphsWithSubGraphsReadBackEqual) {
  EXPECT_TRUE(writes(GraphSpec::from_chain("upload ! slice slices=[1,{\"start\":2}] ! copy", {})));
  const auto graph = GraphSpec::from_json(
      R"({"nodes": {"g": {"type": "Graph", "params": {"graph": "s"}}, "o": {"type": "Output"}},
          "edges": ["g -> o"],
          "graphs": {"s": {"nodes": {"x": {"type": "Copy"}}, "outputs": ["x:0"]}}})");
  EXPECT_TRUE(writes(graph));
  EXPECT_FALSE(writes(graph.expanded()));  // its nodes are called "g/x"
}

TEST(GraphWriter, WhatCannotBeWrittenIsNamedWithItsPlace) {
  GraphSpec graph;
  graph.add_node("a", "Copy", {{"list", {1.0, std::nan("")}}}).add_node("a", "Copy");
  graph.add_node("b", "Copy", nlohmann::json::array()).add_node("\xff", "Copy");
  const auto faults = test::faults_of([&] { return graph.to_json(); });
  EXPECT_THAT(faults, Each(testing::Field(&Error::reason, Reason::BadGraph)));
  const auto texts = test::texts_of(faults);
  ASSERT_EQ(texts.size(), 4u);
  EXPECT_EQ(
      texts[0],
      "graph, /nodes/a/params/list/1: expected a number that JSON can write, got NaN or an "
      "infinity");
  EXPECT_EQ(
      texts[1], "graph, /nodes/a: node \"a\" is there twice; a graph file has one node of a name");
  EXPECT_EQ(texts[2], "graph, /nodes/b/params: expected an object of params by name, got an array");
  EXPECT_THAT(texts[3], HasSubstr("expected UTF-8 text, got"));

  GraphSpec edges;
  edges.add_node("a/b", "Copy").add_node("c", "").connect("", -1, "c", 0);
  EXPECT_THAT(
      test::texts_of(test::faults_of([&] { return edges.to_json(); })),
      testing::IsSupersetOf(
          {HasSubstr("/nodes/a~1b: node names hold no \"/\""),
           HasSubstr("/nodes/c/type: expected the name of a task type, got \"\""),
           HasSubstr("/edges/0/from: expected the name of a node, got \"\""),
           HasSubstr("/edges/0/out: expected a slot")}));
}

TEST(GraphWriter, WhatATextIsTooSmallForIsRefused) {
  nlohmann::json deep = 1;
  for (int i = 0; i < 100; ++i)
    deep = {{"d", deep}};
  GraphSpec graph;
  graph.add_node("a", "Copy", deep);
  EXPECT_THAT(
      test::texts_of(test::faults_of([&] { return graph.to_json(); })),
      testing::ElementsAre(HasSubstr("nested more than 64 deep")));
  GraphSpec large;
  large.add_node("a", "Copy", {{"text", std::string(max_string_bytes + 1, 'x')}});
  EXPECT_THAT(
      test::texts_of(test::faults_of([&] { return large.to_json(); })),
      testing::ElementsAre(HasSubstr("expected strings of at most 1048576 bytes")));
}

}  // namespace
}  // namespace holoflow::core
