// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 5: which tensors share memory.
#include "holoflow/compiler/passes.hh"

#include <algorithm>

namespace holoflow::compiler {

namespace {

constexpr const char *pass = "storage mapping";

size_t extent_end(const core::TDesc &desc) {
  return desc.offset + desc.num_bytes();
}

/// What is known of a storage while it is mapped, producers first.
struct StorageState {
  bool is_const = false;  ///< a producer needs it unchanged
  size_t bytes = 0;  ///< largest extent so far
};

class Mapper {
public:
  explicit Mapper(Plan &plan) : plan_(plan) {}

  void map_node(size_t index) {
    const auto &node = plan_.graph.nodes[index];
    for (size_t out = 0; out < node.out_tids.size(); ++out) {
      const auto tid = static_cast<size_t>(node.out_tids[out]);
      int sid = -1;
      for (const auto &in_place : node.infer.in_place)
        if (in_place.out_idx == static_cast<int>(out))
          sid = try_alias(index, in_place);
      if (sid < 0) {
        sid = static_cast<int>(states_.size());
        states_.emplace_back();
      }
      plan_.tid_to_sid[tid] = sid;
      auto &state = states_[static_cast<size_t>(sid)];
      state.is_const = state.is_const || node.infer.const_outputs[out];
      state.bytes = std::max(state.bytes, extent_end(plan_.tensor_descs[tid]));
    }
  }

  [[nodiscard]] size_t storage_count() const { return states_.size(); }

private:
  /// The shared storage id, or -1 where the output gets its own.
  int try_alias(size_t index, const core::InPlace &in_place) {
    const auto &node = plan_.graph.nodes[index];
    const auto in_tid = static_cast<size_t>(node.in_tids[static_cast<size_t>(in_place.in_idx)]);
    const auto out_tid = static_cast<size_t>(node.out_tids[static_cast<size_t>(in_place.out_idx)]);
    Alias alias{index, in_place.in_idx, in_place.out_idx, in_place.required, in_place.writes};
    const auto sid = plan_.tid_to_sid[in_tid];
    const auto reason = objection(index, static_cast<size_t>(sid), in_place, in_tid, out_tid);
    alias.broken = !reason.empty();
    plan_.aliases.push_back(alias);
    if (!alias.broken)
      return sid;
    if (in_place.required) {
      add_fault(
          plan_, {.pass = pass, .node = static_cast<int>(index), .slot = in_place.in_idx},
          core::Reason::Overwrite,
          "input " + std::to_string(in_place.in_idx) + " " + reason +
              "; put a \"Copy\" node before it");
    } else {
      add_decision(
          plan_, runtime::Decision::Kind::Copy, static_cast<int>(index),
          "node " + quoted(node.spec) + ": output " + std::to_string(in_place.out_idx) +
              " gets memory of its own, input " + std::to_string(in_place.in_idx) + " " + reason);
    }
    return -1;
  }

  /// Why the output may not live in the input's storage; empty if it may.
  std::string objection(
      size_t node, size_t sid, const core::InPlace &in_place, size_t in_tid, size_t out_tid) const {
    const auto &in = plan_.tensor_descs[in_tid];
    const auto &out = plan_.tensor_descs[out_tid];
    const auto &state = states_[sid];
    if (plan_.is_async(node))
      return "cannot become an output of an asynchronous node: two threads would share it";
    if (in.mem_loc != out.mem_loc)
      return "is in another memory location than the output";
    if (in_place.writes && state.is_const)
      return "would be overwritten in place, but its producer reads it again";
    // A view may look beyond its input's own extent, not beyond the storage.
    if (extent_end(out) > state.bytes)
      return "holds " + std::to_string(state.bytes) + " bytes, too few for the output's " +
          std::to_string(extent_end(out)) + " bytes in its place";
    return {};
  }

  Plan &plan_;
  std::vector<StorageState> states_;
};

}  // namespace

void map_storage(Plan &plan) {
  plan.tid_to_sid.assign(plan.tensor_descs.size(), -1);
  Mapper mapper(plan);
  for (const auto node : plan.topo_order)
    mapper.map_node(node);
  plan.storage_count = mapper.storage_count();
}

}  // namespace holoflow::compiler
