// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 9: who overwrites what others still have to read.
//
// The tensors of a storage fall into versions: a view shows the bytes of its input's version, an
// in-place write begins a new one. Within a version at most one node may write in place or take the
// memory away, everyone else who reads the version has to run before it.
//
//   A.0 ──► S = Slice (view) ──► R reads        version 1: A.0, S.0
//    └────► W writes in place ──► W.0 ──► …     version 2: W.0        so R runs before W
#include <algorithm>

#include "holoflow/compiler/alias_forest.hh"
#include "holoflow/compiler/partition.hh"

namespace holoflow::compiler {

namespace {

using runtime::Decision;

/// An edge's end.
struct Reader {
  size_t node = 0;
  int slot = 0;
};

class Finder {
public:
  explicit Finder(Plan &plan)
      : plan_(plan), forest_(plan), readers_(plan.tensor_descs.size()),
        writers_(plan.tensor_descs.size()) {
    for (const auto &edge : plan.graph.edges)
      readers_[static_cast<size_t>(edge.tid)].push_back({edge.to, edge.spec.in_idx});
    for (size_t i = 0; i < plan.aliases.size(); ++i) {
      const auto &alias = plan.aliases[i];
      if (!alias.broken && alias.writes)
        writers_[static_cast<size_t>(forest_.in_tid(alias))].push_back(i);
    }
  }

  std::vector<Overwriter> find() {
    const auto storages =
        plan_.storage_count;  // what is cut off was judged with the storage it left
    for (size_t sid = 0; sid < storages; ++sid)
      judge_storage(static_cast<int>(sid));
    return std::move(found_);
  }

private:
  const Alias &alias(int index) const { return plan_.aliases[static_cast<size_t>(index)]; }

  /// Groups a storage's tensors into versions and judges each.
  void judge_storage(int sid) {
    const auto tids = forest_.tensors(sid);
    if (tids.empty())
      return;
    std::vector<std::vector<int>> versions;
    std::map<int, size_t> version_of;
    for (const auto tid : tids) {
      const auto made_by = forest_.alias_of(tid);
      const bool is_view = made_by >= 0 && !alias(made_by).writes;
      const auto version =
          is_view ? version_of.at(forest_.in_tid(alias(made_by))) : versions.size();
      if (!is_view)
        versions.emplace_back();
      version_of.emplace(tid, version);
      versions[version].push_back(tid);
    }
    for (const auto &version : versions)
      judge_version(version);
  }

  void judge_version(const std::vector<int> &tids) {
    auto candidates = overwriters_of(tids);
    if (candidates.empty())
      return;
    if (const auto keeper = constant_producer(tids); keeper >= 0) {
      for (const auto &candidate : candidates)
        give_up(candidate, "is read again by \"" + name(static_cast<size_t>(keeper)) + "\"");
      return;
    }
    // The one that is hardest to move stays: firm before optional, then the last in the graph.
    std::stable_sort(candidates.begin(), candidates.end(), [&](const auto &a, const auto &b) {
      if (is_firm(a) != is_firm(b))
        return is_firm(b);
      return plan_.topo_rank[a.node] < plan_.topo_rank[b.node];
    });
    auto last = std::move(candidates.back());
    candidates.pop_back();
    for (const auto &candidate : candidates)
      give_up(candidate, "is also overwritten or taken away by \"" + name(last.node) + "\"");
    if (const auto reason = collect_readers(last, tids); !reason.empty())
      give_up(last, reason);
    else if (!last.readers.empty())
      found_.push_back(std::move(last));
  }

  std::vector<Overwriter> overwriters_of(const std::vector<int> &tids) const {
    std::vector<Overwriter> result;
    for (const auto tid : tids) {
      for (const auto index : writers_[static_cast<size_t>(tid)]) {
        const auto &writer = plan_.aliases[index];
        if (!writer.broken)
          result.push_back({writer.node, writer.in_idx, static_cast<int>(index)});
      }
      for (const auto &[node, slot] : readers_[static_cast<size_t>(tid)])
        if (!plan_.is_async(node) &&
            plan_.graph.nodes[node].infer.owned_inputs[static_cast<size_t>(slot)])
          result.push_back({node, slot});
    }
    return result;
  }

  /// A node that needs one of the tensors unchanged, or -1.
  int constant_producer(const std::vector<int> &tids) const {
    for (const auto tid : tids) {
      const auto &[node, slot] = plan_.tensor_producer[static_cast<size_t>(tid)];
      if (plan_.graph.nodes[node].infer.const_outputs[static_cast<size_t>(slot)])
        return static_cast<int>(node);
    }
    return -1;
  }

  /// Fills `readers`; returns why no order helps, or "".
  std::string collect_readers(Overwriter &overwriter, const std::vector<int> &tids) const {
    for (const auto tid : tids)
      for (const auto &[node, slot] : readers_[static_cast<size_t>(tid)]) {
        if (node == overwriter.node) {
          if (slot != overwriter.slot)
            return "is also its input " + std::to_string(slot);
          continue;
        }
        if (plan_.is_async(node))
          return "is also read by \"" + name(node) + "\", which takes it later";
        overwriter.readers.push_back(node);
      }
    return {};
  }

  bool is_firm(const Overwriter &overwriter) const {
    return overwriter.alias >= 0 ? alias(overwriter.alias).required
                                 : !plan_.graph.nodes[overwriter.node].infer.yields_ownership;
  }

  void give_up(const Overwriter &overwriter, const std::string &reason) {
    give_up_overwriting(plan_, forest_, overwriter, reason);
  }

  std::string name(size_t node) const { return plan_.graph.nodes[node].spec.name; }

  Plan &plan_;
  AliasForest forest_;
  std::vector<std::vector<Reader>> readers_;  // by tid
  std::vector<std::vector<size_t>> writers_;  // by tid, aliases that overwrite it
  std::vector<Overwriter> found_;
};

}  // namespace

void give_up_overwriting(
    Plan &plan, AliasForest &forest, const Overwriter &overwriter, const std::string &reason) {
  auto &node = plan.graph.nodes[overwriter.node];
  const auto slot = std::to_string(overwriter.slot);
  const bool in_place = overwriter.alias >= 0;
  const auto index = static_cast<size_t>(in_place ? overwriter.alias : 0);
  if (in_place && !plan.aliases[index].required) {
    forest.cut(index);
    add_decision(
        plan, Decision::Kind::Copy, static_cast<int>(overwriter.node),
        "node " + quoted(node.spec) + ": output " + std::to_string(plan.aliases[index].out_idx) +
            " gets memory of its own, input " + slot + " " + reason);
  } else if (!in_place && node.infer.yields_ownership) {
    node.infer.owned_inputs[static_cast<size_t>(overwriter.slot)] = false;
    add_decision(
        plan, Decision::Kind::Copy, static_cast<int>(overwriter.node),
        "node " + quoted(node.spec) + " copies: its input " + slot + " " + reason);
  } else {
    const auto tid = node.in_tids[static_cast<size_t>(overwriter.slot)];
    const auto &[producer, output] = plan.tensor_producer[static_cast<size_t>(tid)];
    add_fault(
        plan,
        {.pass = partition_pass,
         .node = static_cast<int>(overwriter.node),
         .slot = overwriter.slot},
        core::Reason::Overwrite,
        "input " + slot + (in_place ? " is overwritten in place, but " : " is taken away, but ") +
            output_name(plan, producer, output) + " " + reason +
            "; put a \"Copy\" node before input " + slot);
  }
}

std::vector<Overwriter> find_overwriters(Plan &plan) {
  return Finder(plan).find();
}

}  // namespace holoflow::compiler
