// SPDX-License-Identifier: LGPL-2.1-or-later
// Lag: a section on a GPU does not wait for the results of an iteration before it enqueues the
// next. What only reads results on the host, and feeds nothing but itself, is its tail: the runner
// runs it when the iteration's device work has finished, up to `lag` iterations later.
//
//   iteration k      pop ─ enqueue ─ push ─ release            tail of k (reads on the host)
//   iteration k+1                          pop ─ enqueue ─ …   tail of k+1
//   memory between   piece k mod (lag+1) of each storage that both sides touch
//
// A node belongs to the tail if it touches Host memory only, reads what a device task or another
// tail node wrote, and all who read from it belong to the tail. It does not where its section
// overwrites what it reads before it would run, or hands that memory to a queue.
#include <algorithm>

#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

namespace {

constexpr int most_lag = 16;

using core::MemLoc;

class LagPlanner {
public:
  explicit LagPlanner(Plan &plan) : plan_(plan), in_tail_(plan.node_count(), false) {
    for (size_t i = 0; i < plan_.node_count(); ++i)
      on_device_.push_back(touches_device(plan_.graph.nodes[i]));
    for (const auto &alias : plan_.aliases)
      if (alias.writes && !alias.broken)
        overwrites_.push_back({alias.node, sid_of_output(alias.node, alias.out_idx)});
  }

  void plan_section(runtime::Section &section, size_t lag) {
    if (!hands_over_by_event(section))
      return;
    find_tail(section);
    while (drop_unsafe(section))
      keep_closed(section);
    for (const auto node : section.sync_topo)
      if (in_tail_[node])
        section.tail.push_back(node);
    if (section.tail.empty())
      return;
    section.lag = lag;
    // The tail runs last, in its old order.
    std::stable_partition(section.sync_topo.begin(), section.sync_topo.end(), [&](size_t node) {
      return !in_tail_[node];
    });
    repeat_storages(section);
  }

private:
  static bool touches_device(const runtime::NodePlan &node) {
    const auto on_device = [](const core::TDesc &desc) { return desc.mem_loc == MemLoc::Device; };
    return std::any_of(node.infer.input_descs.begin(), node.infer.input_descs.end(), on_device) ||
        std::any_of(node.infer.output_descs.begin(), node.infer.output_descs.end(), on_device);
  }

  size_t sid_of_output(size_t node, int slot) const {
    return static_cast<size_t>(
        plan_.sid_of(plan_.graph.nodes[node].out_tids[static_cast<size_t>(slot)]));
  }

  /// Slots that a task lends to several iterations at once: only tasks that order device work
  /// themselves can do that.
  bool hands_over_by_event(const runtime::Section &section) const {
    const auto lends = [&](size_t node, bool inputs, bool outputs) {
      const auto &infer = plan_.graph.nodes[node].infer;
      const auto any = [](const std::vector<bool> &mask) {
        return std::find(mask.begin(), mask.end(), true) != mask.end();
      };
      return !infer.hands_over_by_event &&
          ((inputs && any(infer.owned_inputs)) || (outputs && any(infer.owned_outputs)));
    };
    return std::none_of(
               section.sync_topo.begin(), section.sync_topo.end(),
               [&](size_t node) { return lends(node, true, true); }) &&
        std::none_of(
               section.async_prod.begin(), section.async_prod.end(),
               [&](size_t node) { return lends(node, true, false); }) &&
        std::none_of(section.async_cons.begin(), section.async_cons.end(), [&](size_t node) {
             return lends(node, false, true);
           });
  }

  bool is_candidate(const runtime::Section &section, size_t node) const {
    return !on_device_[node] &&
        std::any_of(plan_.in_edges[node].begin(), plan_.in_edges[node].end(), [&](size_t edge) {
          const auto from = plan_.graph.edges[edge].from;
          return plan_.section_of[from] == section.id && (on_device_[from] || in_tail_[from]);
        });
  }

  void find_tail(const runtime::Section &section) {
    for (const auto node : section.sync_topo)
      in_tail_[node] = is_candidate(section, node);
    keep_closed(section);
  }

  /// Removes who feeds others, and then who has no reason to wait any more.
  void keep_closed(const runtime::Section &section) {
    const auto feeds_others = [&](size_t node) {
      const auto &edges = plan_.out_edges[node];
      return std::any_of(edges.begin(), edges.end(), [&](size_t edge) {
        return !in_tail_[plan_.graph.edges[edge].to];
      });
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (auto node = section.sync_topo.rbegin(); node != section.sync_topo.rend(); ++node)
        if (in_tail_[*node] && (feeds_others(*node) || !is_candidate(section, *node))) {
          in_tail_[*node] = false;
          changed = true;
        }
    }
  }

  std::vector<size_t> storages_of(size_t node) const {
    std::vector<size_t> sids;
    for (const auto *tids : {&plan_.graph.nodes[node].in_tids, &plan_.graph.nodes[node].out_tids})
      for (const auto tid : *tids)
        sids.push_back(static_cast<size_t>(plan_.sid_of(tid)));
    return sids;
  }

  /// Whether `node` changes what lies in the storage, or gives it away.
  bool takes(size_t node, size_t sid) const {
    const auto overwrite = std::pair(node, sid);
    if (std::find(overwrites_.begin(), overwrites_.end(), overwrite) != overwrites_.end())
      return true;
    const auto owner = plan_.storage_owner[sid];
    return owner >= 0 && plan_.owners[static_cast<size_t>(owner)].node == node &&
        plan_.owners[static_cast<size_t>(owner)].is_input;
  }

  bool touches(size_t node, size_t sid) const {
    const auto sids = storages_of(node);
    return std::find(sids.begin(), sids.end(), sid) != sids.end();
  }

  /// Removes one tail node whose turn relative to the others matters; false where there is none.
  bool drop_unsafe(const runtime::Section &section) {
    const auto &order = section.sync_topo;
    for (auto node = order.begin(); node != order.end(); ++node) {
      if (!in_tail_[*node])
        continue;
      for (const auto sid : storages_of(*node)) {
        const bool taken = takes(*node, sid);
        const auto conflicts = [&](size_t other) {
          return !in_tail_[other] && (takes(other, sid) || (taken && touches(other, sid)));
        };
        if (std::any_of(node + 1, order.end(), conflicts) ||
            std::any_of(section.async_prod.begin(), section.async_prod.end(), conflicts)) {
          in_tail_[*node] = false;
          return true;
        }
      }
    }
    return false;
  }

  /// What both the tail and the other nodes touch gets a piece for each iteration.
  void repeat_storages(runtime::Section &section) {
    std::vector<bool> others(plan_.storage_count, false), seen(plan_.storage_count, false);
    for (const auto *nodes : {&section.sync_topo, &section.async_cons, &section.async_prod})
      for (const auto node : *nodes)
        if (!in_tail_[node])
          for (const auto sid : storages_of(node))
            others[sid] = true;
    for (const auto node : section.tail)
      for (const auto sid : storages_of(node)) {
        if (!others[sid] || plan_.storage_owner[sid] >= 0 || seen[sid])
          continue;
        seen[sid] = true;
        section.lagged.push_back({static_cast<int>(sid)});
        plan_.storage_copies[sid] = section.lag + 1;
      }
  }

  Plan &plan_;
  std::vector<bool> on_device_;  // by node
  std::vector<bool> in_tail_;  // by node
  std::vector<std::pair<size_t, size_t>> overwrites_;  // node, sid
};

bool has_device_tensors(const Plan &plan) {
  return std::any_of(
      plan.tensor_descs.begin(), plan.tensor_descs.end(),
      [](const core::TDesc &desc) { return desc.mem_loc == MemLoc::Device; });
}

}  // namespace

void plan_lag(Plan &plan) {
  plan.storage_copies.assign(plan.storage_count, 1);
  const int lag = plan.config->lag;
  if (lag < 0 || lag > most_lag)
    return add_fault(
        plan, {.pass = "lag"}, core::Reason::BadConfig,
        "expected Config::lag from 0 to " + std::to_string(most_lag) + ", got " +
            std::to_string(lag));
  for (auto &section : plan.sections)
    section.overlap = plan.config->overlap;
  if (lag == 0 || !plan.config->overlap || !has_device_tensors(plan))
    return;
  LagPlanner planner(plan);
  for (auto &section : plan.sections)
    planner.plan_section(section, static_cast<size_t>(lag));
}

}  // namespace holoflow::compiler
