// SPDX-License-Identifier: LGPL-2.1-or-later
// Graph texts that are made to cost much: how many faults they give and how long those are. Counts
// and bytes only; time is measured by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph_faults.hh"
#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/graph_json.hh"
#include "holoflow/core/near_name.hh"

namespace holoflow::core {
namespace {

using test::faults_of;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr size_t max_fault_bytes = 1000;

struct Made {
  std::string name;
  std::function<void()> read;
  size_t faults;  ///< in all
};

std::string repeated(size_t count, const std::function<std::string(size_t)> &item) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : ",") + item(i);
  return text;
}

std::string graph_of(const std::string &nodes, const std::string &edges) {
  return "{\"nodes\": {" + nodes + "}, \"edges\": [" + edges + "]}";
}

std::function<void()> json(std::string text) {
  return [text = std::move(text)] { (void)GraphSpec::from_json(text); };
}

std::function<void()> expanded(std::string text) {
  return [text = std::move(text)] { (void)GraphSpec::from_json(text).expanded(); };
}

std::vector<Made> made_texts() {
  const std::string long_name(size_t{1} << 19, 'n');
  const auto number = [](size_t i) { return std::to_string(i); };
  std::string deep = "1";
  for (int i = 0; i < 50; ++i)
    deep = "{\"" + std::string(50'000, 'k') + "\": " + deep + "}";
  return {
      {"bad edges", json(graph_of("", repeated(2'000, [](size_t) { return "\"a b\""; }))), 2'000},
      {"edges of a wrong type",
       json(graph_of("", repeated(2'000, [](size_t) { return "{\"from\": 1}"; }))), 4'000},
      {"unknown keys",
       json(
           "{\"nodes\": {}, " +
           repeated(2'000, [&](size_t i) { return "\"node" + number(i) + "\": 1"; }) + "}"),
       2'000},
      {"duplicate keys", json("{" + repeated(2'001, [](size_t) { return "\"nodes\": {}"; }) + "}"),
       2'000},
      {"long duplicate keys",
       json("{\"nodes\": {}, \"x" + long_name + "\": 1, \"x" + long_name + "\": 1}"), 2},
      {"a long name of a node", json(graph_of("\"" + long_name + "\": {\"type\": 1}", "")), 2},
      {"a long type", json(graph_of("\"a\": {\"type\": [\"" + long_name + "\"]}", "")), 1},
      {"a long short edge", json(graph_of("", "\"" + long_name + "\"")), 1},
      {"a long name of a sub-graph",
       json(
           "{\"nodes\": {}, \"graphs\": {\"" + long_name + "\": {\"nodes\": {" +
           repeated(1000, [&](size_t i) { return "\"" + number(i) + "\": {}"; }) + "}}}}"),
       1},
      {"unknown keys far down",
       json(
           "{\"nodes\": {\"a\": {\"type\": \"X\", \"params\": " + deep +
           ", \"what\": 1}}, \"deep\": " + deep + "}"),
       2},
      {"too many nodes",
       json(graph_of(
           repeated(max_graph_nodes + 1, [&](size_t i) { return "\"" + number(i) + "\": 1"; }),
           "")),
       1},
      {"too many edges",
       json(graph_of("", repeated(max_graph_edges + 1, [](size_t) { return "1"; }))), 1},
      {"params of a Graph node",
       expanded(graph_of(
           "\"g\": {\"type\": \"Graph\", \"params\": {" +
               repeated(200, [&](size_t i) { return "\"k" + number(i) + "\": 1"; }) + "}}",
           "")),
       201},
      {"ports that lead nowhere",
       expanded(
           "{\"nodes\": {\"g\": {\"type\": \"Graph\", \"params\": {\"graph\": \"s\"}}}, "
           "\"graphs\": {\"s\": {\"nodes\": {}, \"inputs\": [" +
           repeated(2'000, [&](size_t i) { return "\"n" + number(i) + ":0\""; }) + "]}}}"),
       2'000},
      {"unknown types in a chain",
       [] {
         std::string chain;
         for (size_t i = 0; i < 2'000; ++i)
           chain += (i == 0 ? "Uplod" : " ! Uplod");
         (void)GraphSpec::from_chain(chain, {"Upload", "Download"});
       },
       2'000},
      {"a long word in a chain",
       [long_name] { (void)GraphSpec::from_chain("x=" + long_name, {"Upload"}); }, 1},
  };
}

TEST(GraphLimits, FaultsOfMadeTextsAreFewAndShort) {
  for (const auto &made : made_texts()) {
    SCOPED_TRACE(made.name);
    try {
      made.read();
      ADD_FAILURE() << "was accepted";
    } catch (const GraphError &error) {
      EXPECT_EQ(error.faults.total(), made.faults);
      EXPECT_LE(error.faults.size(), max_listed_faults);
      for (const Error &fault : error.faults) {
        EXPECT_LE(std::string_view(fault.what()).size(), max_fault_bytes);
        EXPECT_LE(fault.pointer.size(), max_pointer_bytes);
        EXPECT_LE(fault.node.size(), max_name_bytes + sizeof("…"));
      }
      EXPECT_LE(std::string_view(error.what()).size(), max_listed_faults * max_fault_bytes);
      if (made.faults > max_listed_faults) {
        const auto unlisted = std::to_string(made.faults - max_listed_faults);
        EXPECT_THAT(error.what(), EndsWith("\nand " + unlisted + " more"));
      }
    }
  }
}

TEST(GraphLimits, ListedFaultsKeepTheOrderOfTheText) {
  const auto faults =
      test::json_faults(graph_of("", repeated(1000, [](size_t) { return "\"x\"\n"; })));
  ASSERT_EQ(faults.size(), max_listed_faults);
  EXPECT_EQ(faults.front().pointer, "/edges/0");
  EXPECT_EQ(faults.back().pointer, "/edges/49");
}

TEST(GraphLimits, WhatManyUsesOfASubGraphCopyIsCountedTogether) {
  const std::string params = "{\"s\": \"" + std::string(1'000'000, 'x') + "\"}";
  std::string graphs =
      "\"g0\": {\"nodes\": {\"n\": {\"type\": \"Copy\", \"params\": " + params + "}}}";
  for (size_t i = 1; i <= 9; ++i)
    graphs += ", \"g" + std::to_string(i) + "\": {\"nodes\": {" +
        repeated(2,
                 [&](size_t k) {
                   return "\"" + std::to_string(k) +
                       "\": {\"type\": \"Graph\", \"params\": {\"graph\": \"g" +
                       std::to_string(i - 1) + "\"}}";
                 }) +
        "}}";
  const auto faults = faults_of([&] {
    return GraphSpec::from_json(
               "{\"nodes\": {\"a\": {\"type\": \"Graph\", \"params\": {\"graph\": \"g9\"}}}, "
               "\"graphs\": {" +
               graphs + "}}")
        .expanded();
  });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].reason, Reason::TooLarge);
  EXPECT_THAT(
      faults[0].what(),
      HasSubstr("expected at most 268435456 bytes of names, places and params in the expanded "
                "graph, got more"));
}

TEST(GraphLimits, EdgesAndPortsThatLeadNowhereAreCountedForEachUse) {
  const auto uses = repeated(1000, [](size_t i) {
    return "\"" + std::to_string(i) + "\": {\"type\": \"Graph\", \"params\": {\"graph\": \"s\"}}";
  });
  const auto ports = repeated(1000, [](size_t) { return "\"n:0\""; });
  const auto edges = repeated(1000, [](size_t) { return "\"i -> i\""; });
  const auto failure = [&](const std::string &body) {
    return faults_of([&] {
      return GraphSpec::from_json(
                 "{\"nodes\": {" + uses + "}, \"graphs\": {\"e\": {\"nodes\": {}}, \"s\": {" +
                 body + "}}}")
          .expanded();
    });
  };
  const std::string inner = "{\"i\": {\"type\": \"Graph\", \"params\": {\"graph\": \"e\"}}}";
  const auto of_edges = failure("\"nodes\": " + inner + ", \"edges\": [" + edges + "]");
  ASSERT_FALSE(of_edges.empty());
  const auto of_ports = failure("\"nodes\": {}, \"inputs\": [" + ports + "]");
  ASSERT_EQ(of_ports.size(), max_listed_faults);  // a thousand bad ports, then the limit
}

TEST(GraphLimits, ValuesOfAChainAreReadWhereTheyStand) {
  const auto faults = faults_of([] {
    return GraphSpec::from_chain("slice a=[1]\n b=[2] ! copy\n c=[1, oops]", {"Slice", "Copy"});
  });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_THAT(faults[0].what(), StartsWith("chain, line 3, column 8, "));
}

TEST(GraphLimits, ANearNameIsSoughtAmongTheFirstOfVeryMany) {
  std::vector<std::string> names(100'000, std::string(60, 'a'));
  names.front() = std::string(59, 'a') + "b";
  EXPECT_EQ(nearest_name(std::string(58, 'a') + "cb", names), names.front());
  names.front() = std::string(60, 'x');
  names.back() = std::string(60, 'y');
  EXPECT_EQ(nearest_name(std::string(60, 'y'), names), "");
}

TEST(GraphLimits, QuotedTextIsCutAt120BytesAndNotWithinACharacter) {
  EXPECT_EQ(quote(std::string(120, 'a')), '"' + std::string(120, 'a') + '"');
  EXPECT_EQ(quote(std::string(121, 'a')), '"' + std::string(120, 'a') + "…\"");
  EXPECT_EQ(quote(std::string(119, 'a') + "ü"), '"' + std::string(119, 'a') + "…\"");
  const nlohmann::json many(std::vector<int>(1000, 1));
  EXPECT_THAT(show(many), StartsWith("[1,1,"));
  EXPECT_EQ(show(many).size(), max_quote_bytes + std::string_view("…").size());
  EXPECT_EQ(show({{"a", {1, "x", nullptr}}}), R"({"a":[1,"x",null]})");
  EXPECT_EQ(
      quoted_names(std::vector<std::string>(22, "n"), " -> ").substr(0, 13), "\"n\" -> \"n\" ->");
  EXPECT_THAT(quoted_names(std::vector<std::string>(22, "n")), EndsWith("\"n\" and 2 more"));
}

}  // namespace
}  // namespace holoflow::core
