// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 9: sections, the pieces that one thread and one stream run.
#include <algorithm>
#include <numeric>

#include "holoflow/compiler/partition.hh"
#include "holoflow/compiler/passes.hh"
#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/near_name.hh"

namespace holoflow::compiler {

namespace {

constexpr const char *pass = partition_pass;

/// Disjoint sets with path halving and union by size.
class DisjointSets {
public:
  explicit DisjointSets(size_t count) : parent_(count), size_(count, 1) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  size_t find(size_t item) {
    while (parent_[item] != item)
      item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void unite(size_t a, size_t b) {
    a = find(a), b = find(b);
    if (a == b)
      return;
    if (size_[a] < size_[b])
      std::swap(a, b);
    parent_[b] = a;
    size_[a] += size_[b];
  }

private:
  std::vector<size_t> parent_, size_;
};

std::string name_of(const Plan &plan, size_t node) {
  return core::quote(plan.graph.nodes[node].spec.name);
}

void refuse_unpopped_outputs(Plan &plan) {
  for (size_t i = 0; i < plan.node_count(); ++i) {
    const auto &node = plan.graph.nodes[i];
    if (!plan.is_async(i) || node.out_tids.empty())
      continue;
    const Place place{.pass = pass, .node = static_cast<int>(i)};
    if (plan.out_edges[i].empty()) {
      add_fault(
          plan, place, core::Reason::UnreadOutput,
          "nobody reads its outputs, so it would fill up and stop the graph; "
          "connect an output or remove the node");
      continue;
    }
    for (size_t out = 0; out < node.out_tids.size(); ++out)
      if (plan.tensor_readers[static_cast<size_t>(node.out_tids[out])] == 0 &&
          !node.infer.optional_outputs[out])
        add_fault(
            plan, place, core::Reason::UnreadOutput,
            "output " + std::to_string(out) + " is read by nobody; connect it");
  }
}

/// Directly connected synchronous nodes, all producers of an asynchronous node and all its
/// consumers belong together.
DisjointSets join_nodes(const Plan &plan) {
  DisjointSets sets(plan.node_count());
  std::vector<int> producer(plan.node_count(), -1), consumer(plan.node_count(), -1);
  const auto join_side = [&](std::vector<int> &side, size_t async, size_t sync) {
    if (side[async] < 0)
      side[async] = static_cast<int>(sync);
    else
      sets.unite(static_cast<size_t>(side[async]), sync);
  };
  for (const auto &edge : plan.graph.edges) {
    const bool from_async = plan.is_async(edge.from), to_async = plan.is_async(edge.to);
    if (!from_async && !to_async)
      sets.unite(edge.from, edge.to);
    if (!from_async && to_async)
      join_side(producer, edge.to, edge.from);
    if (from_async && !to_async)
      join_side(consumer, edge.from, edge.to);
  }
  return sets;
}

/// The nodes of each section, producers first.
std::vector<std::vector<size_t>> make_sections(Plan &plan) {
  auto sets = join_nodes(plan);
  std::map<size_t, int> id_of_set;
  std::vector<std::vector<size_t>> members;
  plan.section_of.assign(plan.node_count(), -1);
  for (const auto node : plan.topo_order) {
    if (plan.is_async(node))
      continue;
    const auto [entry, fresh] =
        id_of_set.emplace(sets.find(node), static_cast<int>(members.size()));
    if (fresh)
      members.emplace_back();
    plan.section_of[node] = entry->second;
    members[static_cast<size_t>(entry->second)].push_back(node);
  }
  for (size_t id = 0; id < members.size(); ++id) {
    runtime::Section section;
    section.id = static_cast<int>(id);
    section.name = "section " + std::to_string(id);
    plan.sections.push_back(std::move(section));
  }
  return members;
}

void attach_async_nodes(Plan &plan) {
  plan.producer_section.assign(plan.node_count(), -1);
  plan.consumer_section.assign(plan.node_count(), -1);
  for (const auto node : plan.topo_order) {
    if (!plan.is_async(node))
      continue;
    for (const auto edge : plan.in_edges[node])
      plan.producer_section[node] = plan.section_of[plan.graph.edges[edge].from];
    for (const auto edge : plan.out_edges[node])
      plan.consumer_section[node] = plan.section_of[plan.graph.edges[edge].to];
    if (const auto id = plan.producer_section[node]; id >= 0)
      plan.sections[static_cast<size_t>(id)].async_prod.push_back(node);
    if (const auto id = plan.consumer_section[node]; id >= 0)
      plan.sections[static_cast<size_t>(id)].async_cons.push_back(node);
  }
}

/// A section downstream of itself through queues would wait for itself.
void refuse_section_cycles(Plan &plan, const std::vector<std::vector<size_t>> &members) {
  const auto count = plan.sections.size();
  std::vector<std::vector<size_t>> next(count);  // async nodes that lead on
  std::vector<size_t> in_degree(count, 0);
  for (size_t node = 0; node < plan.node_count(); ++node) {
    const auto from = plan.producer_section[node], to = plan.consumer_section[node];
    if (from < 0 || to < 0)
      continue;
    next[static_cast<size_t>(from)].push_back(node);
    ++in_degree[static_cast<size_t>(to)];
  }
  std::vector<size_t> done;
  for (size_t id = 0; id < count; ++id)
    if (in_degree[id] == 0)
      done.push_back(id);
  for (size_t i = 0; i < done.size(); ++i)
    for (const auto node : next[done[i]])
      if (--in_degree[static_cast<size_t>(plan.consumer_section[node])] == 0)
        done.push_back(static_cast<size_t>(plan.consumer_section[node]));
  if (done.size() == count)
    return;

  // Walk back along sections that wait until one comes again: that is the cycle.
  std::vector<int> queue_into(count, -1);
  for (size_t id = 0; id < count; ++id)
    for (const auto node : next[id])
      if (in_degree[id] > 0)
        queue_into[static_cast<size_t>(plan.consumer_section[node])] = static_cast<int>(node);
  size_t id = 0;
  while (in_degree[id] == 0)
    ++id;
  for (size_t step = 0; step < count; ++step)
    id = static_cast<size_t>(plan.producer_section[static_cast<size_t>(queue_into[id])]);
  std::vector<std::string> names;
  const auto first = id;
  do {
    const auto node = static_cast<size_t>(queue_into[id]);
    names.push_back(plan.graph.nodes[node].spec.name);
    id = static_cast<size_t>(plan.producer_section[node]);
  } while (id != first);
  std::reverse(names.begin(), names.end());
  add_fault(
      plan, {.pass = pass}, core::Reason::Cycle,
      "a cycle of sections: the nodes before and behind " + core::quoted_names(names) +
          " are also connected directly (around " + name_of(plan, members[first].front()) +
          "), so one thread would wait for itself; put a \"BatchQueue\" into the direct "
          "connection as well");
}

}  // namespace

void partition_sections(Plan &plan) {
  refuse_unpopped_outputs(plan);
  const auto members = make_sections(plan);
  attach_async_nodes(plan);
  if (plan.faults.empty())
    refuse_section_cycles(plan, members);
  const auto overwriters = find_overwriters(plan);
  order_sections(plan, members, overwriters);
  order_pushes(plan);
  record_owners(plan);
  if (plan.faults.empty())
    balance_rates(plan);
}

}  // namespace holoflow::compiler
