// SPDX-License-Identifier: LGPL-2.1-or-later
// Nodes of type Graph give way to the nodes of their sub-graph.
//
//   "pre" (Graph "soften")      graphs/soften: a → b, inputs ["a:0"], outputs ["b:0"]
//   x ─► pre ─► y        becomes        x ─► pre/a ─► pre/b ─► y
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/graph_json.hh"
#include "holoflow/core/near_name.hh"

namespace holoflow::core {

namespace {

struct Endpoint {
  std::string node;
  int slot = 0;
};

/// Where the slots of an expanded Graph node lead; nothing where a port is faulty.
struct Ports {
  std::vector<std::optional<Endpoint>> inputs, outputs;
  bool known = false;  ///< the sub-graph was found
};

/// Where a body stands in the whole.
struct Scope {
  std::string prefix;  ///< "outer/" in front of names
  std::string group;  ///< the Graph node, "" at the top
  std::string key;  ///< the param "key" of that node or of one around it
};

class Expander {
public:
  Expander(const GraphSpec &graph, FaultList &faults) : graph_(graph), faults_(faults) {
    for (const auto &[name, json] : graph.graphs)
      names_.push_back(name);
  }

  GraphSpec expand() {
    expand_body(graph_, {}, {}, {});
    if (too_large_) {  // what was cut off would only be blamed on others
      result_.nodes.clear();
      result_.edges.clear();
    }
    result_.source = graph_.source;
    return std::move(result_);
  }

private:
  using Definitions = std::map<std::string, SubGraph>;
  /// The first Graph node with a key, and what it stands for.
  struct KeyUser {
    std::string node, graph;
  };

  void fault(
      const std::string &node, const std::string &pointer, const std::string &message,
      Reason reason = Reason::BadGraph) {
    if (faults_.is_full())
      return faults_.add_unlisted();
    const auto position = graph_.source ? graph_.source->find(pointer) : SourceMap::Position{};
    auto fault = graph_fault("sub-graphs", position, pointer, message, reason);
    fault.pass = "sub-graphs";
    fault.node = cut(node, max_name_bytes);
    faults_.add(std::move(fault));
  }

  static std::string place_of(const std::string &name) {
    return "node " + quote(name) + " (Graph)";
  }

  static std::string pointer_of(const NodeSpec &node) {
    return node.pointer.empty() ? "/nodes/" + escape_pointer_token(node.name) : node.pointer;
  }

  /// False, said once, where the whole would become too large.
  bool fits(size_t count, size_t most, const std::string &what, const std::string &pointer) {
    if (too_large_)
      return false;
    if (count <= most)
      return true;
    too_large_ = true;
    fault(
        "", pointer,
        "expected at most " + std::to_string(most) + " " + what +
            " in the expanded graph, got more",
        Reason::TooLarge);
    return false;
  }

  bool node_fits(const NodeSpec &node, const std::string &name, const Scope &scope) {
    const auto pointer = pointer_of(node);
    return fits(result_.nodes.size() + 1, max_graph_nodes, "nodes", pointer) &&
        fits(name.size(), max_name_bytes, "bytes in a node's name", pointer) &&
        bytes_fit(
               name.size() + scope.group.size() + node.kind.size() + node.pointer.size() +
                   json_bytes(node.settings),
               pointer);
  }

  /// What is copied for each use of a sub-graph adds up.
  bool bytes_fit(size_t more, const std::string &pointer) {
    bytes_ += more;
    return fits(bytes_, max_expanded_bytes, "bytes of names, places and params", pointer);
  }

  /// Roughly what a copy of the value takes.
  static size_t json_bytes(const nlohmann::json &value) {
    size_t bytes = sizeof(value);
    if (value.is_string())
      bytes += value.get_ref<const std::string &>().size();
    for (auto item = value.begin(); value.is_structured() && item != value.end(); ++item)
      bytes += json_bytes(*item) + (value.is_object() ? item.key().size() + 64 : 0);
    return bytes;
  }

  Ports expand_body(
      const GraphSpec &body, const std::vector<SubGraphPort> &inputs,
      const std::vector<SubGraphPort> &outputs, const Scope &scope) {
    std::map<std::string, Ports> inner;  // by the name of each Graph node
    const auto times_used = count_names(body);
    for (const auto &node : body.nodes) {
      const auto name = scope.prefix + node.name;
      if (!node_fits(node, name, scope))
        return {};
      if (node.kind != graph_node_type) {
        result_.nodes.push_back(
            {name, node.kind, node.settings, node.debug, node.pointer,
             scope.group.empty() ? node.group : scope.group, scope.key});
        continue;
      }
      const bool taken = times_used.at(node.name) > 1;
      if (taken)
        fault(
            name, pointer_of(node),
            place_of(name) + ": the name is used twice; give each node a name of its own");
      else
        expand_or_keep(node, name, scope, inner);
    }
    for (size_t i = 0; i < body.edges.size(); ++i)
      expand_edge(body.edges[i], i, scope, inner);
    return {
        resolve_ports(inputs, true, body, scope, inner),
        resolve_ports(outputs, false, body, scope, inner), true};
  }

  /// Of bodies with Graph nodes only: the other names are checked after the expansion.
  static std::map<std::string, size_t> count_names(const GraphSpec &body) {
    std::map<std::string, size_t> times_used;
    const bool has_sub_graphs =
        std::any_of(body.nodes.begin(), body.nodes.end(), [](const NodeSpec &node) {
          return node.kind == graph_node_type;
        });
    if (has_sub_graphs)
      for (const auto &node : body.nodes)
        ++times_used[node.name];
    return times_used;
  }

  /// A Graph node that cannot be expanded stays, so that the nodes behind it are not blamed.
  void expand_or_keep(
      const NodeSpec &node, const std::string &name, const Scope &scope,
      std::map<std::string, Ports> &inner) {
    auto ports = expand_node(node, name, scope);
    if (ports.known)
      inner.emplace(node.name, std::move(ports));
    else if (!too_large_)
      result_.nodes.push_back(
          {name, node.kind, node.settings, node.debug, node.pointer, scope.group});
  }

  Ports expand_node(const NodeSpec &node, const std::string &name, const Scope &scope) {
    const auto wanted = sub_graph_of(node, name);
    if (!wanted)
      return {};
    const bool recursive = std::find(path_.begin(), path_.end(), *wanted) != path_.end();
    if (recursive) {
      auto circle = path_;
      circle.push_back(*wanted);
      fault(
          name, pointer_of(node),
          place_of(name) + ": sub-graphs contain each other: " + quoted_names(circle, " -> ") +
              "; a sub-graph must not use itself",
          Reason::Cycle);
      return {};
    }
    if (path_.size() >= static_cast<size_t>(max_graph_depth)) {
      fault(
          name, pointer_of(node),
          place_of(name) + ": expected at most " + std::to_string(max_graph_depth) +
              " sub-graphs within each other, got more",
          Reason::TooLarge);
      return {};
    }
    // Sub-graphs without nodes cost time too.
    if (!fits(++expanded_, max_graph_nodes, "Graph nodes", pointer_of(node)))
      return {};
    const auto &definition = definition_of(*wanted);
    path_.push_back(*wanted);
    auto ports = expand_body(
        definition.body, definition.inputs, definition.outputs,
        {name + "/", name, key_of(node, name, *wanted, scope)});
    path_.pop_back();
    return ports;
  }

  /// One key stands for one definition: the same nodes, edges and params.
  std::string key_of(
      const NodeSpec &node, const std::string &name, const std::string &wanted,
      const Scope &scope) {
    const auto param = node.settings.find("key");
    const auto key = param == node.settings.end() || !param->is_string()
        ? std::string()
        : param->get<std::string>();
    if (key.empty())
      return scope.key;
    const auto [known, is_first] = keys_.emplace(key, KeyUser{name, wanted});
    if (!is_first && graph_.graphs.at(known->second.graph) != graph_.graphs.at(wanted))
      fault(
          name, pointer_of(node) + "/params/key",
          place_of(name) + ": the key " + quote(key) + " is that of node " +
              quote(known->second.node) + ", whose sub-graph " + quote(known->second.graph) +
              " has other nodes, edges or params than " + quote(wanted) +
              "; give each definition a key of its own, or none",
          Reason::BadParam);
    return key;
  }

  /// The name in the node's params; nothing, with a fault, where they are not as they should be.
  std::optional<std::string> sub_graph_of(const NodeSpec &node, const std::string &name) {
    const auto at = pointer_of(node);
    const auto say = [&](const std::string &below, const std::string &text) {
      fault(name, at + below, place_of(name) + ": " + text, Reason::BadParam);
    };
    std::optional<std::string> wanted;
    if (!node.settings.is_object() && !node.settings.is_null()) {
      say("/params", "expected an object of params by name, got " + describe(node.settings));
      return std::nullopt;
    }
    for (const auto &item : node.settings.items()) {
      const auto &key = item.key();
      const bool known = key == "graph" || key == "key";
      if (!known && faults_.is_full()) {
        faults_.add_unlisted();
        continue;
      }
      const auto below = "/params/" + escape_pointer_token(key);
      if (!known)
        say(below,
            "unknown param " + quote(key) + suggestion(key, {"graph", "key"}) +
                "; params are \"graph\" and \"key\"");
      else if (!item.value().is_string())
        say(below, quote(key) + ": expected a string, got " + describe(item.value()));
      else if (key == "graph")
        wanted = item.value().get<std::string>();
    }
    if (!wanted) {
      if (!node.settings.contains("graph"))
        say("", "param \"graph\" is missing; expected the name of a sub-graph");
      return std::nullopt;
    }
    if (graph_.graphs.contains(*wanted))
      return wanted;
    say("/params/graph",
        "there is no sub-graph " + quote(*wanted) + suggestion(*wanted, names_) +
            (names_.empty() ? "; define it under \"graphs\"" : ""));
    return std::nullopt;
  }

  const SubGraph &definition_of(const std::string &name) {
    const auto known = definitions_.find(name);
    if (known != definitions_.end())
      return known->second;
    // A text's faults were reported when it was read.
    FaultList unreported;
    auto &faults = graph_.source ? unreported : faults_;
    return definitions_
        .emplace(name, read_sub_graph(graph_.graphs.at(name), name, graph_.source.get(), faults))
        .first->second;
  }

  void expand_edge(
      const EdgeSpec &edge, size_t index, const Scope &scope,
      const std::map<std::string, Ports> &inner) {
    const auto pointer = edge.pointer.empty() ? "/edges/" + std::to_string(index) : edge.pointer;
    // Edges that lead nowhere cost time too.
    if (!fits(++edges_, max_graph_edges, "edges", pointer))
      return;
    const auto from = resolve(edge.from, edge.out_idx, false, pointer, scope, inner);
    const auto to = resolve(edge.to, edge.in_idx, true, pointer, scope, inner);
    if (from && to && bytes_fit(from->node.size() + to->node.size() + edge.pointer.size(), pointer))
      result_.edges.push_back({from->node, from->slot, to->node, to->slot, edge.pointer});
  }

  /// The real node behind a slot of this body.
  std::optional<Endpoint> resolve(
      const std::string &node, int slot, bool is_input, const std::string &pointer,
      const Scope &scope, const std::map<std::string, Ports> &inner) {
    const auto name = scope.prefix + node;
    const auto found = inner.find(node);
    if (found == inner.end())
      return Endpoint{name, slot};
    const auto &ports = is_input ? found->second.inputs : found->second.outputs;
    const std::string side = is_input ? "input" : "output";
    if (slot >= 0 && static_cast<size_t>(slot) < ports.size())
      return ports[static_cast<size_t>(slot)];
    fault(
        name, pointer,
        place_of(name) + ", " + side + " " + std::to_string(slot) +
            " is out of range: its sub-graph lists " + std::to_string(ports.size()) + " " + side +
            (ports.size() == 1 ? "" : "s"),
        Reason::BadEdge);
    if (is_input)
      return std::nullopt;
    // The nodes behind are not to blame: they see a Graph node that could not be expanded.
    if (kept_.insert(name).second)
      result_.nodes.push_back({name, graph_node_type, nullptr, true, pointer, scope.group});
    return Endpoint{name, 0};
  }

  std::vector<std::optional<Endpoint>> resolve_ports(
      const std::vector<SubGraphPort> &ports, bool are_inputs, const GraphSpec &body,
      const Scope &scope, const std::map<std::string, Ports> &inner) {
    std::vector<std::optional<Endpoint>> result;
    std::vector<std::string> names;
    for (size_t i = 0; !ports.empty() && i < body.nodes.size(); ++i)
      names.push_back(body.nodes[i].name);
    const std::set<std::string_view> known(names.begin(), names.end());
    for (const auto &port : ports) {
      if (!fits(++ports_, max_graph_edges, "ports of sub-graphs", port.pointer))
        return result;
      if (known.contains(port.node)) {
        result.push_back(resolve(port.node, port.slot, are_inputs, port.pointer, scope, inner));
        continue;
      }
      result.emplace_back();
      if (!reported_ports_.insert(port.pointer).second)
        continue;  // the sub-graph is used several times
      if (faults_.is_full())
        faults_.add_unlisted();
      else
        fault(
            "", port.pointer,
            "there is no node " + quote(port.node) + " in the sub-graph" +
                suggestion(port.node, names),
            Reason::BadEdge);
    }
    return result;
  }

  const GraphSpec &graph_;
  FaultList &faults_;
  GraphSpec result_;
  Definitions definitions_;
  std::map<std::string, KeyUser> keys_;
  std::vector<std::string> names_;
  std::set<std::string> reported_ports_;
  std::set<std::string> kept_;  // Graph nodes with an edge from a slot that does not exist
  std::vector<std::string> path_;  // sub-graphs being expanded, outermost first
  size_t expanded_ = 0;  // Graph nodes
  size_t edges_ = 0, ports_ = 0, bytes_ = 0;  // of all bodies, as often as they are used
  bool too_large_ = false;
};

}  // namespace

GraphSpec expand_graph(const GraphSpec &graph, FaultList &faults) {
  return Expander(graph, faults).expand();
}

GraphSpec GraphSpec::expanded() const {
  FaultList faults;
  auto result = expand_graph(*this, faults);
  if (!faults.empty())
    throw GraphError(std::move(faults));
  return result;
}

}  // namespace holoflow::core
