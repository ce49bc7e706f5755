// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 9: the order of nodes within a section, and of what it pushes to.
#include <algorithm>
#include <queue>

#include "holoflow/compiler/alias_forest.hh"
#include "holoflow/compiler/partition.hh"
#include "holoflow/core/graph_fault.hh"

namespace holoflow::compiler {

namespace {

/// Kahn's algorithm over the edges of a section and "readers before their overwriter". Ready nodes
/// leave in the order of the section's members.
class SectionOrder {
public:
  SectionOrder(Plan &plan, AliasForest &forest, const std::vector<Overwriter> &overwriters)
      : plan_(plan), forest_(forest), overwriters_(overwriters),
        given_up_(overwriters.size(), false), waiting_for_(plan.node_count()),
        held_by_(plan.node_count()), overwriter_of_(plan.node_count(), -1),
        position_(plan.node_count(), -1) {
    for (size_t i = 0; i < overwriters.size(); ++i) {
      for (const auto reader : overwriters[i].readers)
        held_by_[reader].push_back(i);
      outstanding_.push_back(overwriters[i].readers.size());
      // A node may overwrite several inputs; the list of one node is chained through next_.
      next_.push_back(overwriter_of_[overwriters[i].node]);
      overwriter_of_[overwriters[i].node] = static_cast<int>(i);
    }
  }

  std::vector<size_t> order(const std::vector<size_t> &members) {
    const auto section = plan_.section_of[members.front()];
    order_.clear();
    for (const auto node : members) {
      size_t inside = 0;
      for (const auto edge : plan_.in_edges[node])
        inside += plan_.section_of[plan_.graph.edges[edge].from] == section ? 1 : 0;
      waiting_for_[node] = inside;
    }
    held_ = {};
    for (const auto node : members)
      if (waiting_for_[node] == 0)
        producers_have_run(node);
    while (order_.size() < members.size()) {
      if (ready_.empty()) {
        give_one_up(members);
        continue;
      }
      const auto node = ready_.front();
      ready_.pop();
      leave(node, section);
    }
    return order_;
  }

  /// Says who waits for whom, now that it is settled.
  void explain() const {
    for (size_t i = 0; i < overwriters_.size(); ++i) {
      if (given_up_[i])
        continue;
      std::string readers;
      for (const auto reader : overwriters_[i].readers)
        readers += (readers.empty() ? "" : ", ") + core::quote(plan_.graph.nodes[reader].spec.name);
      const auto node = overwriters_[i].node;
      add_decision(
          plan_, runtime::Decision::Kind::Order, static_cast<int>(node),
          "node " + quoted(plan_.graph.nodes[node].spec) + " runs after " + readers +
              ", who read what it " + (overwriters_[i].alias >= 0 ? "overwrites" : "takes away"));
    }
  }

private:
  bool is_ready(size_t node) const {
    if (waiting_for_[node] > 0 || position_[node] >= 0)
      return false;
    for (auto i = overwriter_of_[node]; i >= 0; i = next_[static_cast<size_t>(i)])
      if (outstanding_[static_cast<size_t>(i)] > 0)
        return false;
    return true;
  }

  /// The node is ready, or waits for readers of what it overwrites only.
  void producers_have_run(size_t node) {
    if (is_ready(node)) {
      ready_.push(node);
      return;
    }
    for (auto i = overwriter_of_[node]; i >= 0; i = next_[static_cast<size_t>(i)])
      if (is_movable(i))
        held_.push(i);
  }

  void leave(size_t node, int section) {
    position_[node] = static_cast<int>(order_.size());
    order_.push_back(node);
    for (const auto edge : plan_.out_edges[node]) {
      const auto to = plan_.graph.edges[edge].to;
      if (plan_.section_of[to] == section && --waiting_for_[to] == 0)
        producers_have_run(to);
    }
    for (const auto i : held_by_[node]) {
      if (outstanding_[i] == 0)
        continue;  // given up
      const auto writer = overwriters_[i].node;
      if (--outstanding_[i] == 0 && is_ready(writer))
        ready_.push(writer);
    }
  }

  /// Nothing is ready, so some reader depends on what its overwriter makes. An overwriter whose
  /// producers have run and that can do without the memory is preferred.
  void give_one_up(const std::vector<size_t> &members) {
    int chosen = -1;
    for (; !held_.empty() && chosen < 0; held_.pop())
      if (is_outstanding(held_.front()))
        chosen = held_.front();
    if (chosen < 0)
      chosen = any_outstanding(members);
    const auto index = static_cast<size_t>(chosen);
    const auto &overwriter = overwriters_[index];
    const auto reader =
        std::find_if(overwriter.readers.begin(), overwriter.readers.end(), [&](size_t node) {
          return position_[node] < 0;
        });
    give_up_overwriting(
        plan_, forest_, overwriter,
        "is also read by " + core::quote(plan_.graph.nodes[*reader].spec.name) +
            ", which runs after " + core::quote(plan_.graph.nodes[overwriter.node].spec.name));
    outstanding_[index] = 0;
    given_up_[index] = true;
    if (is_ready(overwriter.node))
      ready_.push(overwriter.node);
  }

  bool is_outstanding(int index) const {
    return outstanding_[static_cast<size_t>(index)] > 0 &&
        position_[overwriters_[static_cast<size_t>(index)].node] < 0;
  }

  /// Whether it can be given up without refusing the graph.
  bool is_movable(int index) const {
    const auto &overwriter = overwriters_[static_cast<size_t>(index)];
    return overwriter.alias >= 0 ? !plan_.aliases[static_cast<size_t>(overwriter.alias)].required
                                 : plan_.graph.nodes[overwriter.node].infer.yields_ownership;
  }

  int any_outstanding(const std::vector<size_t> &members) const {
    int chosen = -1;
    for (const auto node : members)
      for (auto i = overwriter_of_[node]; i >= 0; i = next_[static_cast<size_t>(i)])
        if (is_outstanding(i) && (chosen < 0 || (is_movable(i) && !is_movable(chosen))))
          chosen = i;
    return chosen;
  }

  Plan &plan_;
  AliasForest &forest_;
  const std::vector<Overwriter> &overwriters_;
  std::vector<size_t> outstanding_;  // by overwriter: readers that have not run
  std::vector<bool> given_up_;  // by overwriter
  std::vector<int> next_;  // by overwriter: another one of the same node
  std::vector<size_t> waiting_for_;  // by node: producers of the section that have not run
  std::vector<std::vector<size_t>> held_by_;  // by node: overwriters that wait for it
  std::vector<int> overwriter_of_;  // by node
  std::vector<int> position_;  // by node, -1 until it has its place
  std::queue<size_t> ready_;
  std::queue<int> held_;  // movable overwriters whose producers have run
  std::vector<size_t> order_;
};

/// One section's pushes: readers of a tensor before the one who owns it.
class PushOrder {
public:
  PushOrder(Plan &plan, std::vector<size_t> &nodes) : plan_(plan), nodes_(nodes) {}

  void settle() {
    while (!try_to_order()) {
    }
  }

private:
  const core::InferResult &infer(size_t node) const { return plan_.graph.nodes[node].infer; }
  int storage_of(size_t node, size_t slot) const {
    return plan_.sid_of(plan_.graph.nodes[node].in_tids[slot]);
  }

  /// False where an owner gave way and the order has to be found again.
  bool try_to_order() {
    std::map<int, size_t> owner_of;  // sid → position in nodes_
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (size_t slot = 0; slot < infer(nodes_[i]).owned_inputs.size(); ++slot)
        if (infer(nodes_[i]).owned_inputs[slot])
          owner_of.emplace(storage_of(nodes_[i], slot), i);
    std::vector<std::vector<size_t>> before(nodes_.size());  // reader → owners that wait for it
    std::vector<size_t> waiting_for(nodes_.size(), 0);
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (size_t slot = 0; slot < infer(nodes_[i]).owned_inputs.size(); ++slot) {
        const auto owner = owner_of.find(storage_of(nodes_[i], slot));
        if (owner == owner_of.end() || owner->second == i)
          continue;
        before[i].push_back(owner->second);
        ++waiting_for[owner->second];
      }
    const auto later = [&](size_t a, size_t b) {
      const auto rank = [&](size_t i) {
        return std::pair(!infer(nodes_[i]).synchronizes_producer_stream, i);
      };
      return rank(a) > rank(b);
    };
    std::priority_queue<size_t, std::vector<size_t>, decltype(later)> ready(later);
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (waiting_for[i] == 0)
        ready.push(i);
    std::vector<size_t> order;
    while (!ready.empty()) {
      const auto i = ready.top();
      ready.pop();
      order.push_back(nodes_[i]);
      for (const auto owner : before[i])
        if (--waiting_for[owner] == 0)
          ready.push(owner);
    }
    if (order.size() == nodes_.size()) {
      nodes_ = std::move(order);
      return true;
    }
    return !break_circle(waiting_for);
  }

  /// Two nodes each own what the other one reads. True where one of them gave way.
  bool break_circle(const std::vector<size_t> &waiting_for) {
    size_t chosen = nodes_.size();
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (waiting_for[i] > 0 && (chosen == nodes_.size() || infer(nodes_[i]).yields_ownership))
        chosen = i;
    auto &node = plan_.graph.nodes[nodes_[chosen]];
    if (node.infer.yields_ownership) {
      std::fill(node.infer.owned_inputs.begin(), node.infer.owned_inputs.end(), false);
      add_decision(
          plan_, runtime::Decision::Kind::Copy, static_cast<int>(nodes_[chosen]),
          "node " + quoted(node.spec) +
              " copies: others read its inputs and own what it reads besides");
      return true;
    }
    add_fault(
        plan_, {.pass = partition_pass, .node = static_cast<int>(nodes_[chosen])},
        core::Reason::Ownership,
        "it owns an input that another asynchronous node reads, and reads one that the other owns, "
        "so neither can come first; put a \"Copy\" node before one of its inputs");
    return false;
  }

  Plan &plan_;
  std::vector<size_t> &nodes_;
};

}  // namespace

void order_sections(
    Plan &plan, const std::vector<std::vector<size_t>> &members,
    const std::vector<Overwriter> &overwriters) {
  AliasForest forest(plan);
  SectionOrder order(plan, forest, overwriters);
  for (size_t id = 0; id < members.size(); ++id)
    plan.sections[id].sync_topo = order.order(members[id]);
  order.explain();
}

void order_pushes(Plan &plan) {
  for (auto &section : plan.sections)
    PushOrder(plan, section.async_prod).settle();
}

}  // namespace holoflow::compiler
