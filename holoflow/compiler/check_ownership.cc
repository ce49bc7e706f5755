// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 6: one owner for each storage.
//
//   owners on one storage ──► break an optional alias between two of them, nearest the consumer
//                         ──► else Input, then Output, then the last other yielding owner gives way
//                         ──► else refuse
#include <algorithm>

#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

namespace {

constexpr const char *pass = "ownership";

class Arbiter {
public:
  explicit Arbiter(Plan &plan) : plan_(plan) {}

  void settle() {
    collect_owners();
    collect_tensors();
    for (size_t sid = 0; sid < plan_.storage_count; ++sid)
      settle_storage(sid);
    plan_.storage_owner.assign(plan_.storage_count, -1);
    for (const auto &owners : owners_by_sid_)
      for (const auto owner : owners) {
        const auto sid = plan_.sid_of(tid_of(plan_.owners[owner]));
        plan_.storage_owner[static_cast<size_t>(sid)] = static_cast<int>(owner);
      }
  }

private:
  int tid_of(const Owner &owner) const {
    const auto &node = plan_.graph.nodes[owner.node];
    return (owner.is_input ? node.in_tids : node.out_tids)[static_cast<size_t>(owner.slot)];
  }

  void collect_owners() {
    owners_by_sid_.resize(plan_.storage_count);
    const auto collect = [&](size_t node, const std::vector<bool> &mask, bool is_input) {
      for (size_t slot = 0; slot < mask.size(); ++slot) {
        if (!mask[slot])
          continue;
        const Owner owner{node, is_input, static_cast<int>(slot)};
        owners_by_sid_[static_cast<size_t>(plan_.sid_of(tid_of(owner)))].push_back(
            plan_.owners.size());
        plan_.owners.push_back(owner);
      }
    };
    for (size_t i = 0; i < plan_.node_count(); ++i) {
      collect(i, plan_.graph.nodes[i].infer.owned_inputs, true);
      collect(i, plan_.graph.nodes[i].infer.owned_outputs, false);
    }
  }

  void collect_tensors() {
    aliases_by_sid_.resize(plan_.storage_count);
    for (size_t i = 0; i < plan_.aliases.size(); ++i) {
      const auto &alias = plan_.aliases[i];
      if (alias.broken)
        continue;
      aliases_by_sid_[static_cast<size_t>(plan_.sid_of(out_tid(alias)))].push_back(i);
    }
  }

  int in_tid(const Alias &alias) const {
    return plan_.graph.nodes[alias.node].in_tids[static_cast<size_t>(alias.in_idx)];
  }
  int out_tid(const Alias &alias) const {
    return plan_.graph.nodes[alias.node].out_tids[static_cast<size_t>(alias.out_idx)];
  }

  void settle_storage(size_t sid) {
    while (owners_by_sid_[sid].size() > 1) {
      if (break_alias(sid))
        continue;
      if (give_way(sid))
        continue;
      refuse(sid);
      owners_by_sid_[sid].resize(1);
    }
  }

  /// Breaks the optional alias nearest the consumer that has an owner on either side.
  bool break_alias(size_t sid) {
    auto &aliases = aliases_by_sid_[sid];
    std::sort(aliases.begin(), aliases.end(), [&](size_t a, size_t b) {
      return plan_.topo_rank[plan_.aliases[a].node] > plan_.topo_rank[plan_.aliases[b].node];
    });
    for (const auto index : aliases) {
      auto &alias = plan_.aliases[index];
      if (alias.required)
        continue;
      const auto below = tensors_behind(sid, alias);
      const auto is_below = [&](size_t owner) {
        return std::binary_search(below.begin(), below.end(), tid_of(plan_.owners[owner]));
      };
      auto &owners = owners_by_sid_[sid];
      const auto owners_below = std::count_if(owners.begin(), owners.end(), is_below);
      if (owners_below == 0 || owners_below == static_cast<long>(owners.size()))
        continue;
      split(sid, index, below);
      return true;
    }
    return false;
  }

  /// The alias's output and everything that shares memory with it further on, sorted.
  std::vector<int> tensors_behind(size_t sid, const Alias &root) const {
    std::vector<int> tids{out_tid(root)};
    for (size_t next = 0; next < tids.size(); ++next)
      for (const auto index : aliases_by_sid_[sid])
        if (in_tid(plan_.aliases[index]) == tids[next])
          tids.push_back(out_tid(plan_.aliases[index]));
    std::sort(tids.begin(), tids.end());
    return tids;
  }

  void split(size_t sid, size_t index, const std::vector<int> &below) {
    auto &alias = plan_.aliases[index];
    alias.broken = true;
    const auto fresh = plan_.storage_count++;
    owners_by_sid_.emplace_back();
    aliases_by_sid_.emplace_back();
    for (const auto tid : below)
      plan_.tid_to_sid[static_cast<size_t>(tid)] = static_cast<int>(fresh);
    const auto move = [&](auto &from, auto &to, auto belongs) {
      std::copy_if(from.begin(), from.end(), std::back_inserter(to), belongs);
      std::erase_if(from, belongs);
    };
    const auto moved_tid = [&](int tid) {
      return std::binary_search(below.begin(), below.end(), tid);
    };
    move(owners_by_sid_[sid], owners_by_sid_[fresh], [&](size_t owner) {
      return moved_tid(tid_of(plan_.owners[owner]));
    });
    move(aliases_by_sid_[sid], aliases_by_sid_[fresh], [&](size_t other) {
      return other != index && moved_tid(out_tid(plan_.aliases[other]));
    });
    std::erase(aliases_by_sid_[sid], index);
    plan_.notes.push_back(
        "node " + quoted(plan_.graph.nodes[alias.node].spec) +
        " copies: its input and its output have different owners");
  }

  /// 0 Input, 1 Output, 2 any other yielding owner, 3 firm.
  int rank_of(size_t owner) const {
    const auto &node = plan_.graph.nodes[plan_.owners[owner].node];
    if (!node.infer.yields_ownership)
      return 3;
    return node.spec.kind == "Input" ? 0 : node.spec.kind == "Output" ? 1 : 2;
  }

  bool give_way(size_t sid) {
    auto &owners = owners_by_sid_[sid];
    const auto loser = std::min_element(owners.begin(), owners.end(), [&](size_t a, size_t b) {
      if (rank_of(a) != rank_of(b))
        return rank_of(a) < rank_of(b);
      // From the last to the first in graph order.
      return plan_.topo_rank[plan_.owners[a].node] > plan_.topo_rank[plan_.owners[b].node];
    });
    if (rank_of(*loser) == 3)
      return false;
    const auto owner = plan_.owners[*loser];
    auto &node = plan_.graph.nodes[owner.node];
    auto &mask = owner.is_input ? node.infer.owned_inputs : node.infer.owned_outputs;
    mask[static_cast<size_t>(owner.slot)] = false;
    owners.erase(loser);
    plan_.notes.push_back(
        "node " + quoted(node.spec) + " copies: the memory of its " +
        (owner.is_input ? "input " : "output ") + std::to_string(owner.slot) + " belongs to " +
        describe(owners.front()));
    return true;
  }

  std::string describe(size_t owner) const {
    const auto &[node, is_input, slot] = plan_.owners[owner];
    return std::string(is_input ? "input " : "output ") + std::to_string(slot) + " of node " +
        quoted(plan_.graph.nodes[node].spec);
  }

  void refuse(size_t sid) {
    const auto &owners = owners_by_sid_[sid];
    const auto &second = plan_.owners[owners[1]];
    add_fault(
        plan_, {.pass = pass, .node = static_cast<int>(second.node), .slot = second.slot},
        std::string(second.is_input ? "input " : "output ") + std::to_string(second.slot) +
            " and " + describe(owners[0]) +
            " both want to own the same memory; put a \"Copy\" node between them");
  }

  Plan &plan_;
  std::vector<std::vector<size_t>> owners_by_sid_;  // indices into plan_.owners
  std::vector<std::vector<size_t>> aliases_by_sid_;  // indices into plan_.aliases
};

}  // namespace

void check_ownership(Plan &plan) {
  Arbiter(plan).settle();
}

}  // namespace holoflow::compiler
