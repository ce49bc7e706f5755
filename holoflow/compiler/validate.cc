// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 1: the specification by itself.
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "holoflow/compiler/passes.hh"
#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/graph_json.hh"
#include "holoflow/core/near_name.hh"

namespace holoflow::compiler {

namespace {

constexpr const char *pass = "validate";

void check_node(Plan &plan, size_t index) {
  const auto &node = plan.spec->nodes[index];
  const Place place{.pass = pass, .node = static_cast<int>(index)};
  if (node.name.empty()) {
    add_fault(plan, place, core::Reason::BadGraph, "a node needs a name, got an empty one");
    plan.node_faulty[index] = true;
  }
  if (!plan.node_index.emplace(node.name, index).second) {
    add_fault(
        plan, place, core::Reason::BadGraph,
        "the name is used twice; give each node a name of its own");
    plan.node_faulty[index] = true;
  }
  if (node.kind == core::graph_node_type) {
    plan.node_faulty[index] = true;  // why it could not be expanded has been reported
    return;
  }
  if (!plan.registry->is_registered(node.kind)) {
    plan.node_faulty[index] = true;
    if (plan.faults.is_full())
      return plan.faults.add_unlisted();
    const auto known = plan.registry->keys();
    add_fault(
        plan, place, core::Reason::UnknownType,
        "unknown type " + core::quote(node.kind) + core::type_suggestion(node.kind, known));
    return;
  }
  const auto *spec = tasks::find_spec(*plan.registry, node.kind);
  if (spec == nullptr)
    return;
  const auto faults = tasks::check_params(*spec, node.settings);
  for (const auto &fault : faults) {
    auto at = place;
    at.pointer = fault.pointer;
    add_fault(plan, at, fault.reason, fault.what());
    plan.node_faulty[index] = true;
  }
  plan.faults.add_unlisted(faults.unlisted());
}

class EdgeChecker {
public:
  explicit EdgeChecker(Plan &plan) : plan_(plan) {
    names_.reserve(plan.spec->nodes.size());
    for (const auto &node : plan.spec->nodes) {
      const bool known = plan.registry->is_registered(node.kind);
      names_.push_back(node.name);
      specs_.push_back(known ? tasks::find_spec(*plan.registry, node.kind) : nullptr);
      is_async_.push_back(known && plan.registry->is_async_registered(node.kind));
    }
  }

  void check(size_t index) {
    const auto &edge = plan_.spec->edges[index];
    const auto from = find_node(edge.from, index);
    const auto to = find_node(edge.to, index);
    const bool output_is_sound = check_slot(edge.out_idx, false, from, edge.from, index);
    const bool input_is_sound = check_slot(edge.in_idx, true, to, edge.to, index);
    if (from < 0 || to < 0 || !output_is_sound || !input_is_sound) {
      plan_.edge_faulty[index] = true;
      // A node with a broken connection cannot be judged.
      if (to >= 0)
        plan_.node_faulty[static_cast<size_t>(to)] = true;
    }
    if (to >= 0 && input_is_sound)
      check_single_producer(static_cast<size_t>(to), index);
    if (from >= 0 && to >= 0)
      check_kinds(static_cast<size_t>(from), static_cast<size_t>(to), index);
  }

private:
  int find_node(const std::string &name, size_t edge) {
    const auto found = plan_.node_index.find(name);
    if (found != plan_.node_index.end())
      return static_cast<int>(found->second);
    if (plan_.faults.is_full())
      plan_.faults.add_unlisted();
    else
      add_fault(
          plan_, {.pass = pass, .edge = static_cast<int>(edge)}, core::Reason::BadEdge,
          "edge " + describe(edge) + ": there is no node " + core::quote(name) +
              core::suggestion(name, names_));
    return -1;
  }

  bool check_slot(int slot, bool is_input, int node, const std::string &name, size_t edge) {
    const std::string side = is_input ? "input" : "output";
    std::string why;
    if (slot < 0)
      why = "slots count from 0";
    else if (const auto *spec = node < 0 ? nullptr : specs_[static_cast<size_t>(node)])
      if (const auto count = (is_input ? spec->inputs : spec->outputs).size();
          static_cast<size_t>(slot) >= count)
        why = spec->type + " has " + (count == 0 ? "no" : std::to_string(count)) + " " + side +
            (count == 1 ? "" : "s");
    if (why.empty())
      return true;
    add_fault(
        plan_, {.pass = pass, .slot = slot, .edge = static_cast<int>(edge)}, core::Reason::BadEdge,
        "edge " + describe(edge) + ": " + side + " " + std::to_string(slot) + " of " +
            core::quote(name) + " is out of range: " + why);
    return false;
  }

  void check_single_producer(size_t to, size_t index) {
    const auto &edge = plan_.spec->edges[index];
    auto &slots = producers_[to];
    const auto [first, fresh] = slots.emplace(edge.in_idx, index);
    if (fresh)
      return;
    const auto &other = plan_.spec->edges[first->second];
    plan_.edge_faulty[index] = true;
    add_fault(
        plan_, {.pass = pass, .slot = edge.in_idx, .edge = static_cast<int>(index)},
        core::Reason::BadEdge,
        "input " + slot_name(edge.to, edge.in_idx) + " has two producers, " +
            slot_name(other.from, other.out_idx) + " and " + slot_name(edge.from, edge.out_idx) +
            "; remove one edge or use another input");
  }

  /// Known from the types alone, so it is said even where inference fails elsewhere.
  void check_kinds(size_t from, size_t to, size_t index) {
    if (is_async_[from] && is_async_[to])
      add_fault(
          plan_, {.pass = pass, .edge = static_cast<int>(index)}, core::Reason::AsyncNeighbours,
          "consecutive asynchronous nodes " + core::quote(plan_.spec->nodes[from].name) + " and " +
              core::quote(plan_.spec->nodes[to].name) + "; put a \"Copy\" node between them");
  }

  std::string describe(size_t index) const {
    const auto &edge = plan_.spec->edges[index];
    return '"' + core::printable(edge.from) + ":" + std::to_string(edge.out_idx) + " -> " +
        core::printable(edge.to) + ":" + std::to_string(edge.in_idx) + '"';
  }

  Plan &plan_;
  std::vector<std::string> names_;  // by node
  std::vector<const tasks::TaskSpec *>
      specs_;  // by node; null for types that are not of this library
  std::vector<bool> is_async_;  // by node
  std::unordered_map<size_t, std::unordered_map<int, size_t>> producers_;
};

void check_config_inputs(Plan &plan) {
  std::vector<std::string> inputs;
  for (const auto &node : plan.spec->nodes) {
    if (node.kind == core::graph_node_type)
      return;  // a sub-graph that could not be expanded may hold them
    if (node.kind == "Input")
      inputs.push_back(node.name);
  }
  const std::unordered_set<std::string_view> known(inputs.begin(), inputs.end());
  for (const auto &[name, tensor] : plan.config->inputs)
    if (!known.contains(name))
      add_fault(
          plan, {.pass = pass}, core::Reason::BadConfig,
          "Config::inputs: there is no Input node " + core::quote(name) +
              core::suggestion_or_names(name, inputs, "the graph has"));
}

}  // namespace

void validate(Plan &plan) {
  plan.node_faulty.assign(plan.spec->nodes.size(), false);
  plan.edge_faulty.assign(plan.spec->edges.size(), false);
  plan.node_index.reserve(plan.spec->nodes.size());
  for (size_t i = 0; i < plan.spec->nodes.size(); ++i)
    check_node(plan, i);
  EdgeChecker edges(plan);
  for (size_t i = 0; i < plan.spec->edges.size(); ++i)
    edges.check(i);
  check_config_inputs(plan);
}

}  // namespace holoflow::compiler
