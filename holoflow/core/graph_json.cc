// SPDX-License-Identifier: LGPL-2.1-or-later
// From the JSON of a graph file to a GraphSpec; every fault of its structure is collected.
#include "holoflow/core/graph_json.hh"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/json_reader.hh"
#include "holoflow/core/near_name.hh"

namespace holoflow::core {

namespace {

using Json = nlohmann::json;
using Keys = std::vector<std::string>;

constexpr const char *edge_forms =
    "expected an edge as {\"from\": \"a\", \"out\": 0, \"to\": \"b\", \"in\": 0} or \"a:0 -> b:0\"";

std::string join(const std::string &pointer, const std::string &key) {
  return pointer + "/" + escape_pointer_token(key);
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

struct Endpoint {
  std::string node;
  int slot = 0;
};

// What reads one graph: the file's own or one under "graphs".
class GraphReader {
public:
  GraphReader(std::string origin, const SourceMap *source, FaultList &faults)
      : origin_(std::move(origin)), source_(source), faults_(faults) {}

  GraphSpec read_file(const Json &root) {
    GraphSpec graph;
    if (!check_object("", root, "expected an object with \"nodes\" and \"edges\""))
      return graph;
    check_keys("", root, {"nodes", "edges", "graphs", "debug", "description", "$schema"});
    read_body("", root, graph);
    check_strings("", root, {"$schema", "description"});
    if (const Json *graphs = member(root, "graphs"))
      read_graphs(*graphs, graph);
    return graph;
  }

  SubGraph read_sub_graph(const std::string &name, const Json &object) {
    SubGraph sub_graph;
    const std::string at = join("/graphs", name);
    check_name(at, name, "sub-graph", max_sub_graph_name_bytes);
    // Each place below it would hold the name.
    if (name.size() > max_sub_graph_name_bytes ||
        !check_object(
            at, object,
            "expected a sub-graph with \"nodes\", \"edges\", \"inputs\" and \"outputs\""))
      return sub_graph;
    check_keys(at, object, {"nodes", "edges", "inputs", "outputs", "debug", "description"});
    check_strings(at, object, {"description"});
    read_body(at, object, sub_graph.body);
    sub_graph.inputs = read_ports(at, object, "inputs");
    sub_graph.outputs = read_ports(at, object, "outputs");
    return sub_graph;
  }

private:
  void fault_at(
      SourceMap::Position position, const std::string &pointer, const std::string &message,
      Reason reason) {
    auto fault = graph_fault(origin_, position, pointer, message, reason);
    fault.node = cut(node_, max_name_bytes);
    faults_.add(std::move(fault));
  }
  void fault(
      const std::string &pointer, const std::string &message, Reason reason = Reason::BadGraph) {
    if (faults_.is_full())
      return faults_.add_unlisted();
    fault_at(source_ ? source_->find(pointer) : SourceMap::Position{}, pointer, message, reason);
  }
  void fault_at_key(
      const std::string &pointer, const std::string &message, Reason reason = Reason::BadGraph) {
    if (faults_.is_full())
      return faults_.add_unlisted();
    fault_at(
        source_ ? source_->find_key(pointer) : SourceMap::Position{}, pointer, message, reason);
  }

  static const Json *member(const Json &object, const char *key) {
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }

  bool check_object(const std::string &pointer, const Json &value, const std::string &expected) {
    if (value.is_object())
      return true;
    fault(pointer, expected + ", got " + describe(value));
    return false;
  }

  bool check_count(
      const std::string &pointer, const Json &value, size_t most, const std::string &what) {
    if (value.size() <= most)
      return true;
    fault(
        pointer,
        "expected at most " + std::to_string(most) + " " + what + ", got " +
            std::to_string(value.size()),
        Reason::TooLarge);
    return false;
  }

  void check_keys(const std::string &pointer, const Json &object, const Keys &known) {
    for (const auto &item : object.items()) {
      if (std::find(known.begin(), known.end(), item.key()) != known.end())
        continue;
      if (faults_.is_full())
        faults_.add_unlisted();
      else
        fault_at_key(
            join(pointer, item.key()),
            "unknown key " + quote(item.key()) +
                suggestion_or_names(item.key(), known, "expected"));
    }
  }

  void check_strings(const std::string &pointer, const Json &object, const Keys &keys) {
    for (const auto &key : keys) {
      const Json *value = member(object, key.c_str());
      if (value != nullptr && !value->is_string())
        fault(join(pointer, key), "expected a string, got " + describe(*value));
    }
  }

  bool read_bool(const std::string &pointer, const Json &object, const char *key, bool otherwise) {
    const Json *value = member(object, key);
    if (value == nullptr)
      return otherwise;
    if (value->is_boolean())
      return value->get<bool>();
    fault(join(pointer, key), "expected true or false, got " + describe(*value));
    return otherwise;
  }

  // "nodes" and "edges" of a graph or sub-graph.
  void read_body(const std::string &pointer, const Json &object, GraphSpec &graph) {
    (void)read_bool(pointer, object, "debug", true);
    if (const Json *nodes = member(object, "nodes"))
      read_nodes(pointer + "/nodes", *nodes, graph);
    else
      fault(pointer, "\"nodes\" is missing; expected an object of nodes by name");
    if (const Json *edges = member(object, "edges"))
      read_edges(pointer + "/edges", *edges, graph);
  }

  void check_name(
      const std::string &pointer, const std::string &name, const char *what, size_t max_bytes) {
    if (name.size() > max_bytes)
      fault_at_key(
          pointer,
          std::string(what) + " names have at most " + std::to_string(max_bytes) + " bytes, got " +
              std::to_string(name.size()),
          Reason::TooLarge);
    else if (name.empty())
      fault_at_key(pointer, std::string(what) + " names are not empty");
    else if (name.find('/') != std::string::npos)
      fault_at_key(pointer, std::string(what) + " names hold no \"/\", got " + quote(name));
    else if (std::any_of(name.begin(), name.end(), [](char c) { return c >= 0 && c < 0x20; }))
      fault_at_key(
          pointer, std::string(what) + " names hold no control characters, got " + quote(name));
  }

  void read_nodes(const std::string &pointer, const Json &nodes, GraphSpec &graph) {
    if (!check_object(pointer, nodes, "expected an object of nodes by name"))
      return;
    if (!check_count(pointer, nodes, max_graph_nodes, "nodes"))
      return;
    for (const auto &item : nodes.items()) {
      node_ = item.key();
      const std::string at = join(pointer, item.key());
      check_name(at, item.key(), "node", max_name_bytes);
      if (auto node = read_node(at, item.key(), item.value()))
        graph.nodes.push_back(*node);
      node_.clear();
    }
    if (source_ == nullptr)
      return;
    // JSON objects of this library are sorted by key; the author's order is that of the text.
    const auto place = [&](const NodeSpec &node) {
      const auto position = source_->find_key(node.pointer);
      return std::pair(position.line, position.column);
    };
    std::stable_sort(graph.nodes.begin(), graph.nodes.end(), [&](const auto &a, const auto &b) {
      return place(a) < place(b);
    });
  }

  std::optional<NodeSpec> read_node(
      const std::string &pointer, const std::string &name, const Json &object) {
    if (!check_object(pointer, object, "expected a node as {\"type\": \"Copy\", \"params\": {}}"))
      return std::nullopt;
    check_keys(pointer, object, {"type", "params", "debug", "description"});
    check_strings(pointer, object, {"description"});
    NodeSpec node{name, "", Json::object(), read_bool(pointer, object, "debug", true), pointer};
    const Json *type = member(object, "type");
    if (type == nullptr)
      fault(pointer, "\"type\" is missing; expected the name of a task type");
    else if (!type->is_string() || type->get_ref<const std::string &>().empty())
      fault(pointer + "/type", "expected the name of a task type, got " + describe(*type));
    else
      node.kind = type->get<std::string>();
    const Json *params = member(object, "params");
    if (params != nullptr && !params->is_null() &&
        check_object(pointer + "/params", *params, "expected an object of params by name"))
      node.settings = *params;
    if (node.kind.empty())
      return std::nullopt;
    return node;
  }

  void read_edges(const std::string &pointer, const Json &edges, GraphSpec &graph) {
    if (!edges.is_array()) {
      fault(pointer, "expected an array of edges, got " + describe(edges));
      return;
    }
    if (!check_count(pointer, edges, max_graph_edges, "edges"))
      return;
    for (size_t i = 0; i < edges.size(); ++i) {
      const std::string at = pointer + "/" + std::to_string(i);
      std::optional<EdgeSpec> edge;
      if (edges[i].is_string())
        edge = read_short_edge(at, edges[i].get_ref<const std::string &>());
      else if (check_object(at, edges[i], edge_forms))
        edge = read_edge(at, edges[i]);
      if (edge) {
        edge->pointer = at;
        graph.edges.push_back(std::move(*edge));
      }
    }
  }

  std::optional<EdgeSpec> read_edge(const std::string &pointer, const Json &object) {
    const size_t faults_before = faults_.total();
    check_keys(pointer, object, {"from", "to", "out", "in", "debug", "description"});
    check_strings(pointer, object, {"description"});
    (void)read_bool(pointer, object, "debug", true);
    EdgeSpec edge;
    edge.from = read_edge_node(pointer, object, "from");
    edge.to = read_edge_node(pointer, object, "to");
    edge.out_idx = read_slot(pointer, object, "out");
    edge.in_idx = read_slot(pointer, object, "in");
    if (faults_.total() != faults_before)
      return std::nullopt;
    return edge;
  }

  std::string read_edge_node(const std::string &pointer, const Json &object, const char *key) {
    const Json *value = member(object, key);
    if (value == nullptr)
      fault(pointer, "\"" + std::string(key) + "\" is missing; " + edge_forms);
    else if (!value->is_string() || value->get_ref<const std::string &>().empty())
      fault(join(pointer, key), "expected the name of a node, got " + describe(*value));
    else
      return value->get<std::string>();
    return "";
  }

  int read_slot(const std::string &pointer, const Json &object, const char *key) {
    const Json *value = member(object, key);
    if (value == nullptr)
      return 0;
    if (value->is_number_integer() && *value >= 0 && *value <= std::numeric_limits<int>::max())
      return value->get<int>();
    fault(join(pointer, key), "expected a slot, an integer of at least 0, got " + describe(*value));
    return 0;
  }

  std::optional<EdgeSpec> read_short_edge(const std::string &pointer, std::string_view text) {
    const size_t arrow = text.find("->");
    if (arrow == std::string_view::npos || text.find("->", arrow + 2) != std::string_view::npos) {
      fault(
          pointer, "expected one \"->\" between two nodes, got " + quote(text) + "; " + edge_forms);
      return std::nullopt;
    }
    const auto from = read_endpoint(pointer, text.substr(0, arrow));
    const auto to = read_endpoint(pointer, text.substr(arrow + 2));
    if (!from || !to)
      return std::nullopt;
    return EdgeSpec{from->node, from->slot, to->node, to->slot};
  }

  std::optional<Endpoint> read_endpoint(const std::string &pointer, std::string_view text) {
    text = trim(text);
    const size_t colon = text.find(':');
    const std::string_view name = trim(text.substr(0, colon));
    if (name.empty() || name.find_first_of(" \t") != std::string_view::npos) {
      fault(
          pointer,
          "expected node:slot, got " + quote(text) +
              "; names with a blank, \":\" or \"->\" need an edge object");
      return std::nullopt;
    }
    if (colon == std::string_view::npos)
      return Endpoint{std::string(name), 0};
    const std::string_view digits = trim(text.substr(colon + 1));
    int slot = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), slot);
    if (result.ec != std::errc() || result.ptr != digits.data() + digits.size() || slot < 0 ||
        digits.front() == '-') {
      fault(
          pointer,
          "expected a slot, an integer of at least 0, behind \":\", got " + quote(digits) +
              "; names with a blank, \":\" or \"->\" need an edge object");
      return std::nullopt;
    }
    return Endpoint{std::string(name), slot};
  }

  void read_graphs(const Json &graphs, GraphSpec &graph) {
    if (!check_object("/graphs", graphs, "expected an object of sub-graphs by name"))
      return;
    for (const auto &item : graphs.items()) {
      (void)read_sub_graph(item.key(), item.value());
      graph.graphs.emplace(item.key(), item.value());
    }
  }

  std::vector<SubGraphPort> read_ports(
      const std::string &pointer, const Json &object, const char *key) {
    std::vector<SubGraphPort> result;
    const Json *ports = member(object, key);
    if (ports == nullptr)
      return result;
    const std::string at = join(pointer, key);
    if (!ports->is_array()) {
      fault(at, "expected an array of \"node:slot\", got " + describe(*ports));
      return result;
    }
    if (!check_count(at, *ports, max_graph_edges, "ports"))
      return result;
    for (size_t i = 0; i < ports->size(); ++i) {
      const std::string at_port = at + "/" + std::to_string(i);
      if (!(*ports)[i].is_string())
        fault(at_port, "expected \"node:slot\", got " + describe((*ports)[i]));
      else if (auto port = read_endpoint(at_port, (*ports)[i].get_ref<const std::string &>()))
        result.push_back({std::move(port->node), port->slot, at_port});
    }
    return result;
  }

  std::string origin_;
  const SourceMap *source_;  // null where there is no text
  FaultList &faults_;
  std::string node_;  // the node being read, "" between nodes
};

}  // namespace

GraphText read_graph_json(std::string_view text, const std::string &origin) {
  GraphText result;
  if (text.size() > max_graph_bytes) {
    result.faults.add(graph_fault(
        origin, {}, "", "expected at most " + std::to_string(max_graph_bytes) + " bytes, got more",
        Reason::TooLarge));
    return result;
  }
  JsonReader reader(text, origin);
  Json root;
  bool complete = true;
  try {
    root = reader.read_document();
  } catch (const Error &fault) {
    reader.faults().add(fault);
    complete = false;
  }
  result.faults = std::move(reader.faults());
  // Shared by the copies of the graph; see GraphSpec::source.
  const auto source = std::make_shared<const SourceMap>(std::move(reader.source()));
  if (complete)
    result.graph = GraphReader(origin, source.get(), result.faults).read_file(root);
  result.graph.source = source;
  result.faults.sort([](const Error &a, const Error &b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return result;
}

GraphText read_parsed_graph(const nlohmann::json &json, const std::string &origin) {
  GraphText result;
  result.graph = GraphReader(origin, nullptr, result.faults).read_file(json);
  return result;
}

SubGraph read_sub_graph(
    const nlohmann::json &json, const std::string &name, const SourceMap *source,
    FaultList &faults) {
  return GraphReader("graph", source, faults).read_sub_graph(name, json);
}

GraphSpec GraphSpec::from_json(std::string_view text) {
  auto result = read_graph_json(text, "graph");
  if (!result.faults.empty())
    throw GraphError(std::move(result.faults));
  return std::move(result.graph);
}

GraphSpec GraphSpec::from_json(const nlohmann::json &json) {
  auto result = read_parsed_graph(json, "graph");
  if (!result.faults.empty())
    throw GraphError(std::move(result.faults));
  return std::move(result.graph);
}

}  // namespace holoflow::core
