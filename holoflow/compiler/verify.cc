// SPDX-License-Identifier: LGPL-2.1-or-later
// What the passes promise each other and the scheduler, checked again from the finished plan.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

namespace {

class Verifier {
public:
  explicit Verifier(const Plan &plan) : plan_(plan) {}

  void verify_judged() {
    check_graph();
    check_contracts();
    check_tensors();
    check_storages();
    check_owners();
    check_sections();
    check_boundaries();
    check_overwriting();
    if (!plan_.block_of.empty())
      check_blocks();
  }

  void verify_made() {
    for (size_t sid = 0; sid < plan_.storage_count; ++sid) {
      const auto storage = plan_.storages.find(static_cast<int>(sid));
      require(
          storage != plan_.storages.end() && storage->second != nullptr, "storages exist",
          "storage " + std::to_string(sid) + " has no object");
      const auto block = plan_.block_of[sid];
      require(
          (storage->second->ptr == nullptr) == (block < 0), "storages are backed",
          "storage " + std::to_string(sid) +
              (block < 0 ? " of a task has memory already" : " has no memory"));
      require(
          block != static_cast<int>(sid) || plan_.blocks.contains(block), "storages are backed",
          "storage " + std::to_string(sid) + " has no block");
    }
    for (const auto &section : plan_.sections) {
      const auto stream = plan_.streams.find(section.id);
      require(
          stream != plan_.streams.end() && stream->second.get() == section.stream,
          "sections have streams", section.name + " has no stream of its own");
    }
    for (const auto &node : plan_.graph.nodes) {
      const auto task = plan_.tasks.find(node.spec.name);
      require(
          task != plan_.tasks.end() && task->second != nullptr, "nodes have tasks",
          "node " + quoted(node.spec) + " has none");
      const bool async = dynamic_cast<const core::IAsyncTask *>(task->second.get()) != nullptr;
      require(
          async == (node.infer.kind == core::TaskKind::Async), "tasks have their kind's interface",
          "node " + quoted(node.spec) + " has the other one");
      require(
          plan_.adapters.contains(node.spec.name), "nodes have adapters",
          "node " + quoted(node.spec) + " has none");
    }
  }

private:
  static void require(bool holds, const char *invariant, const std::string &detail) {
    if (!holds)
      throw std::logic_error(std::string("internal error: ") + invariant + ": " + detail);
  }
  std::string name(size_t node) const { return quoted(plan_.graph.nodes[node].spec); }

  void check_graph() const {
    const auto count = plan_.node_count();
    require(
        count == plan_.spec->nodes.size() && plan_.graph.edges.size() == plan_.spec->edges.size(),
        "the plan is the specification", "nodes or edges are missing");
    std::vector<bool> seen(count, false);
    for (const auto node : plan_.topo_order) {
      require(node < count && !seen[node], "nodes are ordered", "a node appears twice");
      seen[node] = true;
    }
    require(plan_.topo_order.size() == count, "nodes are ordered", "a node is missing");
    for (const auto &edge : plan_.graph.edges)
      require(
          plan_.topo_rank[edge.from] < plan_.topo_rank[edge.to], "the graph is acyclic",
          name(edge.from) + " does not come before " + name(edge.to));
  }

  void check_contracts() const {
    for (size_t i = 0; i < plan_.node_count(); ++i) {
      const auto &node = plan_.graph.nodes[i];
      const auto inputs = plan_.in_edges[i].size(), outputs = node.infer.output_descs.size();
      require(
          node.infer.input_descs.size() == inputs && node.infer.owned_inputs.size() == inputs &&
              node.in_tids.size() == inputs,
          "contracts are complete", "input vectors of " + name(i) + " disagree");
      require(
          node.infer.owned_outputs.size() == outputs &&
              node.infer.const_outputs.size() == outputs &&
              node.infer.optional_outputs.size() == outputs && node.out_tids.size() == outputs,
          "contracts are complete", "output vectors of " + name(i) + " disagree");
    }
  }

  void check_tensors() const {
    std::vector<bool> seen(plan_.tensor_descs.size(), false);
    for (size_t i = 0; i < plan_.node_count(); ++i)
      for (const auto tid : plan_.graph.nodes[i].out_tids) {
        const auto known = tid >= 0 && static_cast<size_t>(tid) < seen.size();
        require(
            known && !seen[static_cast<size_t>(tid)], "every output is one tensor",
            "tensor " + std::to_string(tid) + " of " + name(i));
        seen[static_cast<size_t>(tid)] = true;
      }
    require(
        std::find(seen.begin(), seen.end(), false) == seen.end(), "every output is one tensor",
        "a tensor has no producer");
    for (const auto &edge : plan_.graph.edges) {
      const auto out = static_cast<size_t>(edge.spec.out_idx);
      const auto in = static_cast<size_t>(edge.spec.in_idx);
      require(
          edge.tid == plan_.graph.nodes[edge.from].out_tids[out] &&
              edge.tid == plan_.graph.nodes[edge.to].in_tids[in],
          "an edge carries its producer's tensor",
          "between " + name(edge.from) + " and " + name(edge.to));
    }
  }

  void check_storages() const {
    std::vector<bool> used(plan_.storage_count, false);
    for (const auto sid : plan_.tid_to_sid) {
      require(
          sid >= 0 && static_cast<size_t>(sid) < used.size(), "every tensor has a storage",
          "storage " + std::to_string(sid));
      used[static_cast<size_t>(sid)] = true;
    }
    require(
        std::find(used.begin(), used.end(), false) == used.end(), "every storage has a tensor",
        "one has none");
    for (const auto &alias : plan_.aliases) {
      if (alias.broken)
        continue;
      const auto &node = plan_.graph.nodes[alias.node];
      const auto in = node.in_tids[static_cast<size_t>(alias.in_idx)];
      const auto out = node.out_tids[static_cast<size_t>(alias.out_idx)];
      require(plan_.sid_of(in) == plan_.sid_of(out), "aliases share a storage", name(alias.node));
      require(
          plan_.tensor_descs[static_cast<size_t>(in)].mem_loc ==
              plan_.tensor_descs[static_cast<size_t>(out)].mem_loc,
          "aliases share a location", name(alias.node));
    }
  }

  void check_owners() const {
    std::vector<int> owners(plan_.storage_count, 0);
    const auto count = [&](const std::vector<bool> &mask, const std::vector<int> &tids) {
      for (size_t slot = 0; slot < mask.size(); ++slot)
        if (mask[slot])
          ++owners[static_cast<size_t>(plan_.sid_of(tids[slot]))];
    };
    for (const auto &node : plan_.graph.nodes) {
      count(node.infer.owned_inputs, node.in_tids);
      count(node.infer.owned_outputs, node.out_tids);
    }
    for (size_t sid = 0; sid < owners.size(); ++sid)
      require(
          owners[sid] <= 1 && (owners[sid] == 1) == (plan_.storage_owner[sid] >= 0),
          "a storage has at most one owner", "storage " + std::to_string(sid));
  }

  void check_sections() const {
    std::vector<int> found(plan_.node_count(), -1);
    for (const auto &section : plan_.sections)
      for (const auto node : section.sync_topo) {
        require(
            found[node] < 0 && !plan_.is_async(node) && plan_.section_of[node] == section.id,
            "sections partition the synchronous nodes", name(node));
        found[node] = section.id;
      }
    for (size_t i = 0; i < plan_.node_count(); ++i)
      require(
          plan_.is_async(i) || found[i] >= 0, "sections partition the synchronous nodes",
          name(i) + " is in none");
    const auto position = positions();
    for (const auto &edge : plan_.graph.edges) {
      if (plan_.is_async(edge.from) || plan_.is_async(edge.to))
        continue;
      require(
          plan_.section_of[edge.from] == plan_.section_of[edge.to],
          "connected synchronous nodes share a section", name(edge.from) + " and " + name(edge.to));
      require(
          position[edge.from] < position[edge.to], "sections run producers first",
          name(edge.from) + " and " + name(edge.to));
    }
  }

  std::vector<size_t> positions() const {
    std::vector<size_t> position(plan_.node_count(), 0);
    for (const auto &section : plan_.sections)
      for (size_t i = 0; i < section.sync_topo.size(); ++i)
        position[section.sync_topo[i]] = i;
    return position;
  }

  void check_boundaries() const {
    const auto listed = [&](int section, std::vector<size_t> runtime::Section::*list, size_t node) {
      if (section < 0)
        return true;
      const auto &nodes = plan_.sections[static_cast<size_t>(section)].*list;
      return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    };
    for (const auto &edge : plan_.graph.edges) {
      require(
          !plan_.is_async(edge.from) || !plan_.is_async(edge.to),
          "asynchronous nodes are not neighbours", name(edge.from) + " and " + name(edge.to));
      if (plan_.is_async(edge.to))
        require(
            plan_.producer_section[edge.to] == plan_.section_of[edge.from],
            "boundaries are attached", name(edge.to) + " is pushed to by another section");
      if (plan_.is_async(edge.from))
        require(
            plan_.consumer_section[edge.from] == plan_.section_of[edge.to],
            "boundaries are attached", name(edge.from) + " is popped by another section");
    }
    for (size_t i = 0; i < plan_.node_count(); ++i)
      if (plan_.is_async(i))
        require(
            listed(plan_.producer_section[i], &runtime::Section::async_prod, i) &&
                listed(plan_.consumer_section[i], &runtime::Section::async_cons, i),
            "boundaries are attached", name(i) + " is not listed");
  }

  /// Whoever reads a tensor that shares bytes with an overwritten one has run before.
  void check_overwriting() const {
    // Versions of bytes: a view shows its input's version, everything else begins one.
    std::vector<int> version(plan_.tensor_descs.size());
    for (size_t tid = 0; tid < version.size(); ++tid)
      version[tid] = static_cast<int>(tid);
    for (const auto node : plan_.topo_order)
      for (const auto alias : aliases_of(node)) {
        if (!plan_.aliases[alias].broken && !plan_.aliases[alias].writes)
          version[tid_at(plan_.aliases[alias], false)] =
              version[tid_at(plan_.aliases[alias], true)];
      }
    std::vector<std::vector<size_t>> readers(version.size());
    for (size_t edge = 0; edge < plan_.graph.edges.size(); ++edge)
      readers[static_cast<size_t>(version[static_cast<size_t>(plan_.graph.edges[edge].tid)])]
          .push_back(plan_.graph.edges[edge].to);
    std::vector<bool> is_const(version.size(), false);
    for (size_t tid = 0; tid < version.size(); ++tid) {
      const auto &[producer, slot] = plan_.tensor_producer[tid];
      if (plan_.graph.nodes[producer].infer.const_outputs[static_cast<size_t>(slot)])
        is_const[static_cast<size_t>(version[tid])] = true;
    }
    const auto position = positions();
    for (const auto &alias : plan_.aliases) {
      if (alias.broken || !alias.writes)
        continue;
      const auto written = version[tid_at(alias, true)];
      require(
          !is_const[static_cast<size_t>(written)], "nothing is overwritten that is read again",
          name(alias.node));
      for (const auto reader : readers[static_cast<size_t>(written)])
        require(
            reader == alias.node ||
                (!plan_.is_async(reader) &&
                 plan_.section_of[reader] == plan_.section_of[alias.node] &&
                 position[reader] < position[alias.node]),
            "nothing is overwritten before its readers have run",
            name(alias.node) + " overwrites what " + name(reader) + " reads");
    }
  }

  size_t tid_at(const Alias &alias, bool input) const {
    const auto &node = plan_.graph.nodes[alias.node];
    return static_cast<size_t>(
        input ? node.in_tids[static_cast<size_t>(alias.in_idx)]
              : node.out_tids[static_cast<size_t>(alias.out_idx)]);
  }

  const std::vector<size_t> &aliases_of(size_t node) const {
    if (aliases_of_.empty()) {
      aliases_of_.resize(plan_.node_count());
      for (size_t i = 0; i < plan_.aliases.size(); ++i)
        aliases_of_[plan_.aliases[i].node].push_back(i);
    }
    return aliases_of_[node];
  }

  void check_blocks() const {
    // Lives of the storages of each block, by position in their section.
    struct Life {
      size_t first = 0, last = 0;
      int section = -1;
      bool used = false;
      bool private_to_section = true;
    };
    std::vector<Life> lives(plan_.storage_count);
    const auto position = positions();
    for (size_t i = 0; i < plan_.node_count(); ++i)
      for (const auto *tids : {&plan_.graph.nodes[i].in_tids, &plan_.graph.nodes[i].out_tids})
        for (const auto tid : *tids) {
          auto &life = lives[static_cast<size_t>(plan_.sid_of(tid))];
          life.first = life.used ? std::min(life.first, position[i]) : position[i];
          life.last = std::max(life.last, position[i]);
          life.private_to_section = life.private_to_section && !plan_.is_async(i) &&
              (!life.used || life.section == plan_.section_of[i]);
          life.section = plan_.section_of[i];
          life.used = true;
        }
    std::map<int, std::vector<size_t>> tenants;
    for (size_t sid = 0; sid < plan_.storage_count; ++sid) {
      const auto block = plan_.block_of[sid];
      require(
          (block < 0) == (plan_.storage_owner[sid] >= 0), "storages are backed",
          "storage " + std::to_string(sid));
      if (block < 0)
        continue;
      require(
          plan_.block_bytes[static_cast<size_t>(block)] >= plan_.storage_bytes[sid] &&
              plan_.storage_location[static_cast<size_t>(block)] == plan_.storage_location[sid],
          "blocks are large enough and in the right place", "storage " + std::to_string(sid));
      tenants[block].push_back(sid);
    }
    for (auto &[block, sids] : tenants) {
      std::sort(sids.begin(), sids.end(), [&](size_t a, size_t b) {
        return lives[a].first < lives[b].first;
      });
      for (size_t i = 1; i < sids.size(); ++i)
        require(
            lives[sids[i - 1]].last < lives[sids[i]].first &&
                lives[sids[i - 1]].private_to_section && lives[sids[i]].private_to_section &&
                lives[sids[i - 1]].section == lives[sids[i]].section,
            "storages take turns in a shared block",
            "storages " + std::to_string(sids[i - 1]) + " and " + std::to_string(sids[i]));
    }
  }

  const Plan &plan_;
  mutable std::vector<std::vector<size_t>> aliases_of_;  // by node, filled on first use
};

}  // namespace

void verify(const Plan &plan, bool made) {
  Verifier verifier(plan);
  verifier.verify_judged();
  if (made)
    verifier.verify_made();
}

}  // namespace holoflow::compiler
