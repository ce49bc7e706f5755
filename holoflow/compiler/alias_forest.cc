// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/compiler/alias_forest.hh"

#include <algorithm>

namespace holoflow::compiler {

AliasForest::AliasForest(Plan &plan)
    : plan_(plan), tensors_(plan.storage_count), alias_of_(plan.tensor_descs.size(), -1),
      made_from_(plan.tensor_descs.size()) {
  for (size_t i = 0; i < plan.aliases.size(); ++i) {
    const auto &alias = plan.aliases[i];
    if (alias.broken)
      continue;
    alias_of_[static_cast<size_t>(out_tid(alias))] = static_cast<int>(i);
    made_from_[static_cast<size_t>(in_tid(alias))].push_back(out_tid(alias));
  }
  for (const auto node : plan.topo_order)
    for (const auto tid : plan.graph.nodes[node].out_tids)
      tensors_[static_cast<size_t>(plan.sid_of(tid))].push_back(tid);
}

int AliasForest::in_tid(const Alias &alias) const {
  return plan_.graph.nodes[alias.node].in_tids[static_cast<size_t>(alias.in_idx)];
}

int AliasForest::out_tid(const Alias &alias) const {
  return plan_.graph.nodes[alias.node].out_tids[static_cast<size_t>(alias.out_idx)];
}

const std::vector<int> &AliasForest::tensors(int sid) {
  auto &listed = tensors_[static_cast<size_t>(sid)];
  std::erase_if(listed, [&](int tid) { return plan_.sid_of(tid) != sid; });
  return listed;
}

int AliasForest::cut(size_t index) {
  auto &alias = plan_.aliases[index];
  const auto root = out_tid(alias);
  const auto new_sid = static_cast<int>(plan_.storage_count++);
  alias.broken = true;
  alias_of_[static_cast<size_t>(root)] = -1;
  std::vector<int> moved{root};
  for (size_t next = 0; next < moved.size(); ++next) {
    const auto tid = static_cast<size_t>(moved[next]);
    plan_.tid_to_sid[tid] = new_sid;
    for (const auto made : made_from_[tid])
      if (alias_of(made) >= 0)  // else it was cut off earlier
        moved.push_back(made);
  }
  std::sort(moved.begin(), moved.end(), [&](int a, int b) {
    const auto rank = [&](int tid) {
      return plan_.topo_rank[plan_.tensor_producer[static_cast<size_t>(tid)].first];
    };
    return std::pair(rank(a), a) < std::pair(rank(b), b);
  });
  tensors_.push_back(std::move(moved));
  return new_sid;
}

void record_owners(Plan &plan) {
  plan.owners.clear();
  plan.storage_owner.assign(plan.storage_count, -1);
  const auto record = [&](size_t node, const std::vector<bool> &mask, bool is_input) {
    const auto &tids = is_input ? plan.graph.nodes[node].in_tids : plan.graph.nodes[node].out_tids;
    for (size_t slot = 0; slot < mask.size(); ++slot) {
      if (!mask[slot])
        continue;
      plan.storage_owner[static_cast<size_t>(plan.sid_of(tids[slot]))] =
          static_cast<int>(plan.owners.size());
      plan.owners.push_back({node, is_input, static_cast<int>(slot)});
    }
  };
  for (size_t i = 0; i < plan.node_count(); ++i) {
    record(i, plan.graph.nodes[i].infer.owned_inputs, true);
    record(i, plan.graph.nodes[i].infer.owned_outputs, false);
  }
}

}  // namespace holoflow::compiler
