// SPDX-License-Identifier: LGPL-2.1-or-later
// From a GraphSpec to the JSON of a graph file, or to the reasons why there is none.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/graph_json.hh"
#include "holoflow/core/json_reader.hh"

namespace holoflow::core {

namespace {

using Json = nlohmann::json;

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

/// What JSON cannot say, and what nodes have that a file gives a name once.
class Writer {
public:
  Json write(const GraphSpec &graph) {
    auto nodes = Json::object();
    for (const NodeSpec &node : graph.nodes)
      write_node(node, nodes);
    auto edges = Json::array();
    for (const EdgeSpec &edge : graph.edges) {
      const std::string at = "/edges/" + std::to_string(edges.size());
      check_text(at + "/from", edge.from);
      check_text(at + "/to", edge.to);
      edges.push_back(
          {{"from", edge.from}, {"out", edge.out_idx}, {"to", edge.to}, {"in", edge.in_idx}});
    }
    Json json = {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
    for (const auto &[name, sub_graph] : graph.graphs) {
      const std::string at = "/graphs/" + escape_pointer_token(name);
      check_text(at, name);
      check_value(at, sub_graph, 2);
      json["graphs"][name] = sub_graph;
    }
    return json;
  }

  [[nodiscard]] const FaultList &faults() const noexcept { return faults_; }

private:
  void fault(const std::string &pointer, const std::string &message) {
    faults_.add(graph_fault("graph", {}, pointer, message));
  }

  void write_node(const NodeSpec &node, Json &nodes) {
    const std::string at = "/nodes/" + escape_pointer_token(node.name);
    check_text(at, node.name);
    check_text(at + "/type", node.kind);
    Json object = {{"type", node.kind}};
    if (!node.settings.is_null() && !node.settings.is_object())
      fault(at + "/params", "expected an object of params by name, got " + describe(node.settings));
    else if (!node.settings.empty())
      object["params"] = node.settings;
    check_value(at + "/params", node.settings, 3);
    if (!node.debug)
      object["debug"] = false;
    if (!nodes.emplace(node.name, std::move(object)).second)
      fault(
          at, "node " + quote(node.name) + " is there twice; a graph file has one node of a name");
  }

  void check_text(const std::string &pointer, const std::string &text) {
    if (!is_utf8(text))
      fault(pointer, "expected UTF-8 text, got " + quote(text));
  }

  void check_value(const std::string &pointer, const Json &value, int depth) {
    if (value.is_number_float() && !std::isfinite(value.get<double>()))
      fault(pointer, "expected a number that JSON can write, got NaN or an infinity");
    else if (value.is_string())
      check_text(pointer, value.get_ref<const std::string &>());
    else if (value.is_binary() || value.is_discarded())
      fault(pointer, "expected a value that JSON can write, got bytes or nothing");
    else if (value.is_structured() && depth >= max_graph_depth)
      fault(
          pointer,
          "objects and arrays are nested more than " + std::to_string(max_graph_depth) + " deep");
    else if (value.is_array())
      for (size_t i = 0; i < value.size(); ++i)
        check_value(pointer + "/" + std::to_string(i), value[i], depth + 1);
    else if (value.is_object())
      for (const auto &item : value.items()) {
        const std::string at = pointer + "/" + escape_pointer_token(item.key());
        check_text(at, item.key());
        check_value(at, item.value(), depth + 1);
      }
  }

  FaultList faults_;
};

Json params_of(const NodeSpec &node) {
  return node.settings.is_null() ? Json::object() : node.settings;
}

bool is_same(const GraphSpec &a, const GraphSpec &b) {
  const auto sorted = [](const GraphSpec &graph) {
    std::vector<const NodeSpec *> nodes;
    for (const NodeSpec &node : graph.nodes)
      nodes.push_back(&node);
    std::sort(
        nodes.begin(), nodes.end(), [](const auto *x, const auto *y) { return x->name < y->name; });
    return nodes;
  };
  const auto same_node = [](const NodeSpec *x, const NodeSpec *y) {
    return std::tie(x->name, x->kind, x->debug) == std::tie(y->name, y->kind, y->debug) &&
        params_of(*x) == params_of(*y);
  };
  const auto same_edge = [](const EdgeSpec &x, const EdgeSpec &y) {
    return std::tie(x.from, x.out_idx, x.to, x.in_idx) ==
        std::tie(y.from, y.out_idx, y.to, y.in_idx);
  };
  const auto nodes = sorted(a), others = sorted(b);
  return std::equal(nodes.begin(), nodes.end(), others.begin(), others.end(), same_node) &&
      std::equal(a.edges.begin(), a.edges.end(), b.edges.begin(), b.edges.end(), same_edge) &&
      a.graphs == b.graphs;
}

}  // namespace

Json write_graph_json(const GraphSpec &graph) {
  Writer writer;
  Json json = writer.write(graph);
  if (!writer.faults().empty())
    throw GraphError(writer.faults());
  // The reader knows every other rule of a file. Places in a text that no one sees say nothing, so
  // its faults are those of the JSON; only the limits of a text remain.
  if (auto parsed = read_parsed_graph(json, "graph"); !parsed.faults.empty())
    throw GraphError(std::move(parsed.faults));
  auto back = read_graph_json(json.dump(), "graph");
  if (!back.faults.empty())
    throw GraphError(std::move(back.faults));
  if (!is_same(graph, back.graph))
    throw GraphError(
        {graph_fault("graph", {}, "", "internal error: the written graph reads back otherwise")});
  return json;
}

}  // namespace holoflow::core
