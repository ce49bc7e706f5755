// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 6: one owner for each storage.
//
//   owners on one storage ──► break an optional alias between two of them, nearest the consumer
//                         ──► else Input, then Output, then the last other yielding owner gives way
//                         ──► else refuse
#include <algorithm>

#include "holoflow/compiler/alias_forest.hh"
#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

namespace {

constexpr const char *pass = "ownership";

using runtime::Decision;

class Arbiter {
public:
  explicit Arbiter(Plan &plan)
      : plan_(plan), forest_(plan), owners_of_tid_(plan.tensor_descs.size()),
        owners_behind_(plan.tensor_descs.size()) {
    record_owners(plan);
    for (size_t i = 0; i < plan.owners.size(); ++i)
      owners_of_tid_[static_cast<size_t>(tid_of(plan.owners[i]))].push_back(i);
  }

  void settle() {
    // Cutting adds storages, which are settled in their turn.
    for (size_t sid = 0; sid < plan_.storage_count; ++sid) {
      cut_between_owners(static_cast<int>(sid));
      leave_one(static_cast<int>(sid));
    }
    record_owners(plan_);
  }

private:
  int tid_of(const Owner &owner) const {
    const auto &node = plan_.graph.nodes[owner.node];
    return (owner.is_input ? node.in_tids : node.out_tids)[static_cast<size_t>(owner.slot)];
  }

  size_t &behind(int tid) { return owners_behind_[static_cast<size_t>(tid)]; }
  const Alias &alias(int index) const { return plan_.aliases[static_cast<size_t>(index)]; }

  /// Breaks optional aliases with owners on both sides, nearest the consumer first.
  void cut_between_owners(int sid) {
    const auto tids = forest_.tensors(sid);
    if (tids.empty())
      return;
    for (const auto tid : tids)
      behind(tid) = owners_of_tid_[static_cast<size_t>(tid)].size();
    for (size_t i = tids.size(); i-- > 0;)
      if (const auto made_by = forest_.alias_of(tids[i]); made_by >= 0)
        behind(forest_.in_tid(alias(made_by))) += behind(tids[i]);
    const auto root = tids.front();
    for (size_t i = tids.size(); i-- > 0 && behind(root) > 1;) {
      const auto made_by = forest_.alias_of(tids[i]);
      if (made_by < 0 || alias(made_by).required)
        continue;
      const auto count = behind(tids[i]);
      if (count == 0 || count == behind(root))
        continue;
      for (auto up = made_by; up >= 0; up = forest_.alias_of(forest_.in_tid(alias(up))))
        behind(forest_.in_tid(alias(up))) -= count;
      forest_.cut(static_cast<size_t>(made_by));
      add_decision(
          plan_, Decision::Kind::Copy, static_cast<int>(alias(made_by).node),
          "node " + quoted(plan_.graph.nodes[alias(made_by).node].spec) +
              " copies: its input and its output have different owners");
    }
  }

  /// Makes all owners but one give way.
  void leave_one(int sid) {
    std::vector<size_t> owners;
    for (const auto tid : forest_.tensors(sid)) {
      const auto &here = owners_of_tid_[static_cast<size_t>(tid)];
      owners.insert(owners.end(), here.begin(), here.end());
    }
    if (owners.size() < 2)
      return;
    std::sort(owners.begin(), owners.end(), [&](size_t a, size_t b) {
      if (rank_of(a) != rank_of(b))
        return rank_of(a) < rank_of(b);
      // From the last to the first in graph order.
      if (plan_.owners[a].node != plan_.owners[b].node)
        return plan_.topo_rank[plan_.owners[a].node] > plan_.topo_rank[plan_.owners[b].node];
      return a > b;
    });
    const auto winner = owners.back();
    owners.pop_back();
    for (const auto loser : owners) {
      if (rank_of(loser) == firm) {
        refuse(winner, loser);
        return;
      }
      give_way(loser, winner);
    }
  }

  static constexpr int firm = 3;

  /// 0 Input, 1 Output, 2 any other yielding owner, 3 firm.
  int rank_of(size_t owner) const {
    const auto &node = plan_.graph.nodes[plan_.owners[owner].node];
    if (!node.infer.yields_ownership)
      return firm;
    return node.spec.kind == "Input" ? 0 : node.spec.kind == "Output" ? 1 : 2;
  }

  void give_way(size_t loser, size_t winner) {
    const auto owner = plan_.owners[loser];
    auto &node = plan_.graph.nodes[owner.node];
    auto &mask = owner.is_input ? node.infer.owned_inputs : node.infer.owned_outputs;
    mask[static_cast<size_t>(owner.slot)] = false;
    // What it copies out is not read again.
    if (!owner.is_input)
      node.infer.const_outputs[static_cast<size_t>(owner.slot)] = false;
    add_decision(
        plan_, Decision::Kind::Copy, static_cast<int>(owner.node),
        "node " + quoted(node.spec) + " copies: the memory of its " +
            (owner.is_input ? "input " : "output ") + std::to_string(owner.slot) + " belongs to " +
            describe(winner));
  }

  std::string describe(size_t owner) const {
    const auto &[node, is_input, slot] = plan_.owners[owner];
    return std::string(is_input ? "input " : "output ") + std::to_string(slot) + " of node " +
        quoted(plan_.graph.nodes[node].spec);
  }

  void refuse(size_t first, size_t second) {
    const auto &owner = plan_.owners[second];
    add_fault(
        plan_, {.pass = pass, .node = static_cast<int>(owner.node), .slot = owner.slot},
        core::Reason::Ownership,
        std::string(owner.is_input ? "input " : "output ") + std::to_string(owner.slot) + " and " +
            describe(first) +
            " both want to own the same memory; put a \"Copy\" node between them");
  }

  Plan &plan_;
  AliasForest forest_;
  std::vector<std::vector<size_t>> owners_of_tid_;  // indices into plan_.owners
  std::vector<size_t> owners_behind_;  // by tid: owners of it and of all made from it
};

}  // namespace

void check_ownership(Plan &plan) {
  Arbiter(plan).settle();
}

}  // namespace holoflow::compiler
