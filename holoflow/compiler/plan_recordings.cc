// SPDX-License-Identifier: LGPL-2.1-or-later
// Recordings: nodes of a section that follow each other on a GPU are launched as one (see
// runtime/run_recording.hh). A run is as long as can be, up to max_run nodes; it ends at a node
// that cannot be recorded and where a Graph node begins or ends, which is a unit of its own.
//
//   section   Input  Upload  Affine  blur/a  blur/b  Sqrt  Foreign  Clip  Sqrt  Output
//   run              ╰─────────────╯ ╰────────────╯ (one)           ╰────────╯
//
// The identity of a run is a text: kinds, params and edges of its nodes, the descriptors of its
// slots, and which of these share memory. Names count for nothing.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

#include "holoflow/compiler/passes.hh"
#include "holoflow/compiler/run_executables.hh"
#include "holoflow/core/graph_fault.hh"

namespace holoflow::compiler {

namespace {

constexpr const char *pass = "recordings";
/// So that one launch stays small enough for others to get between.
constexpr size_t max_run = 100;

using Replay = runtime::CompilerConfig::Replay;
using runtime::Decision;

/// FNV-1a, 64 bits (Fowler, Noll, Vo): short, the same everywhere.
std::string hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (int shift = 60; shift >= 0; shift -= 4)
    result += digits[(hash >> shift) & 15];
  return result;
}

class RecordingPlanner {
public:
  RecordingPlanner(Plan &plan, Replay replay) : plan_(plan), replay_(replay) {}

  void plan_section(runtime::Section &section) {
    const auto count = section.sync_topo.size() - section.tail.size();
    for (size_t first = 0; first < count;) {
      const auto node = section.sync_topo[first];
      if (const auto why = why_not(node); !why.empty()) {
        if (touches_device(node))
          leave(node, why);
        ++first;
        continue;
      }
      auto end = first + 1;
      while (end < count && why_not(section.sync_topo[end]).empty() &&
             group(section.sync_topo[end]) == group(node))
        ++end;
      cut(section, first, end);
      first = end;
    }
  }

private:
  const runtime::NodePlan &node_at(size_t node) const { return plan_.graph.nodes[node]; }
  const std::string &group(size_t node) const { return node_at(node).group; }

  bool touches_device(size_t node) const {
    const auto on_device = [](const core::TDesc &desc) {
      return desc.mem_loc == core::MemLoc::Device;
    };
    const auto &infer = node_at(node).infer;
    return std::any_of(infer.input_descs.begin(), infer.input_descs.end(), on_device) ||
        std::any_of(infer.output_descs.begin(), infer.output_descs.end(), on_device);
  }

  /// Why the node cannot be part of a run; "" where it can.
  std::string why_not(size_t node) const {
    const auto &infer = node_at(node).infer;
    const auto any = [](const std::vector<bool> &mask) {
      return std::find(mask.begin(), mask.end(), true) != mask.end();
    };
    if (!touches_device(node))
      return "it runs on the host";
    if (infer.input_descs.empty() || infer.output_descs.empty())
      return "sources and sinks may wait for something outside of the graph";
    if (any(infer.owned_inputs) || any(infer.owned_outputs))
      return "it owns a slot, which it has to publish in each iteration";
    if (!infer.capturable)
      return "its task does not promise (InferResult::capturable) that it only enqueues";
    return {};
  }

  void leave(size_t node, const std::string &why) {
    const auto text = "node " + quoted(node_at(node).spec) + " is not recorded: " + why;
    add_decision(plan_, Decision::Kind::Replay, static_cast<int>(node), text);
    if (replay_ == Replay::Require)
      add_fault(
          plan_, {.pass = pass, .node = static_cast<int>(node)}, core::Reason::NotRecorded,
          "cannot be recorded, but replay is required: " + why +
              "; use replay = auto, or another task");
  }

  /// Long runs in pieces of nearly the same length.
  void cut(runtime::Section &section, size_t first, size_t end) {
    const auto pieces = (end - first + max_run - 1) / max_run;
    for (size_t i = 0; i < pieces; ++i) {
      const auto from = first + (end - first) * i / pieces;
      const auto to = first + (end - first) * (i + 1) / pieces;
      if (to - from == 1)
        explain_single(section.sync_topo[from]);
      else
        add_run(section, from, to - from);
    }
  }

  // One launch is one launch.
  void explain_single(size_t node) {
    add_decision(
        plan_, Decision::Kind::Replay, static_cast<int>(node),
        "node " + quoted(node_at(node).spec) +
            " is launched by itself: a run of one task gains nothing by a recording");
  }

  void add_run(runtime::Section &section, size_t first, size_t count) {
    const std::vector<size_t> nodes(
        section.sync_topo.begin() + static_cast<std::ptrdiff_t>(first),
        section.sync_topo.begin() + static_cast<std::ptrdiff_t>(first + count));
    const auto identity = identity_of(nodes);
    const auto found = definitions_.find(identity);
    if (found == definitions_.end() && plan_.recordings.size() >= plan_.config->max_recordings) {
      for (const auto node : nodes)
        leave(
            node,
            "cache full: " + std::to_string(plan_.recordings.size()) +
                " different pieces of work are recorded already (max_recordings)");
      return;
    }
    size_t definition = plan_.recordings.size();
    if (found != definitions_.end()) {
      definition = found->second;
    } else {
      definitions_.emplace(identity, definition);
      plan_.recordings.push_back({hash_of(identity), count, 0});
    }
    auto &known = plan_.recordings[definition];
    ++known.occurrences;
    runtime::RecordedRun run;
    run.first = first;
    run.count = count;
    run.key = known.key;
    run.label = node_at(nodes.front()).spec.name + " … " + node_at(nodes.back()).spec.name;
    explain_run(section, run, nodes);
    section.runs.push_back(std::move(run));
  }

  void explain_run(
      const runtime::Section &section, const runtime::RecordedRun &run,
      const std::vector<size_t> &nodes) {
    std::string names;
    for (const auto node : nodes)
      names += (names.empty() ? "" : ", ") + quoted(node_at(node).spec);
    add_decision(
        plan_, Decision::Kind::Replay, static_cast<int>(nodes.front()),
        "section " + std::to_string(section.id) + " records " + std::to_string(nodes.size()) +
            " tasks and launches them as one: " + names + "; definition " + run.key);
  }

  std::string identity_of(const std::vector<size_t> &nodes) const {
    auto list = nlohmann::json::array();
    std::map<int, size_t> tensors, storages;  // numbered as they come
    const auto slots = [&](const std::vector<int> &tids, const std::vector<core::TDesc> &descs) {
      auto result = nlohmann::json::array();
      for (size_t i = 0; i < tids.size(); ++i) {
        const auto tensor = tensors.emplace(tids[i], tensors.size()).first->second;
        const auto storage = storages.emplace(plan_.sid_of(tids[i]), storages.size()).first->second;
        result.push_back({tensor, storage, descs[i]});
      }
      return result;
    };
    for (const auto index : nodes) {
      const auto &node = node_at(index);
      list.push_back(
          {node.spec.kind,
           node.spec.settings.is_null() ? nlohmann::json::object() : node.spec.settings,
           slots(node.in_tids, node.infer.input_descs),
           slots(node.out_tids, node.infer.output_descs)});
    }
    return nlohmann::json{node_at(nodes.front()).spec.key, std::move(list)}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  Plan &plan_;
  const Replay replay_;
  std::map<std::string, size_t> definitions_;  // identity → index into plan.recordings
};

/// The configured way, or the environment's where that is Auto; Auto, with a fault, where the
/// environment says something else.
Replay replay_of(Plan &plan) {
  const auto *wish = std::getenv("HOLOFLOW_REPLAY");
  if (plan.config->replay != Replay::Auto || wish == nullptr || *wish == '\0')
    return plan.config->replay;
  const std::string_view value = wish;
  if (value == "off")
    return Replay::Off;
  if (value == "require")
    return Replay::Require;
  if (value != "auto")
    add_fault(
        plan, {.pass = pass}, core::Reason::BadConfig,
        "environment variable HOLOFLOW_REPLAY: expected off, auto or require, got " +
            core::quote(value));
  return Replay::Auto;
}

}  // namespace

std::map<std::string, std::shared_ptr<runtime::RunExecutables>> keep_recordings(
    const Plan &plan, runtime::ExecResources &previous) {
  std::map<std::string, std::shared_ptr<runtime::RunExecutables>> kept;
  std::vector<bool> goes_on(plan.node_count(), false);
  for (const auto node : plan.reuse.kept)
    goes_on[node] = true;
  for (const auto &section : plan.sections)
    for (const auto &run : section.runs) {
      std::vector<std::string> names;
      bool all_go_on = true;
      for (size_t i = run.first; i < run.first + run.count; ++i) {
        const auto node = section.sync_topo[i];
        all_go_on = all_go_on && goes_on[node];
        names.push_back(plan.graph.nodes[node].spec.name);
      }
      const auto found = previous.recordings.find(names.front());
      if (all_go_on && found != previous.recordings.end() && found->second->nodes == names &&
          found->second->key == run.key)
        kept.emplace(names.front(), std::move(found->second));
    }
  return kept;
}

void plan_recordings(Plan &plan) {
  const auto replay = replay_of(plan);
  if (replay == Replay::Off) {
    if (plan.compute_location == core::MemLoc::Device)
      add_decision(plan, Decision::Kind::Replay, -1, "nothing is recorded: replay is off");
    return;
  }
  const bool on_device =
      std::any_of(plan.tensor_descs.begin(), plan.tensor_descs.end(), [](const core::TDesc &desc) {
        return desc.mem_loc == core::MemLoc::Device;
      });
  if (!on_device) {
    // A plan without a device says nothing of the one that Auto finds later.
    const bool is_known =
        plan.device != nullptr || plan.config->device != runtime::CompilerConfig::Device::Auto;
    if (replay == Replay::Require && is_known)
      add_fault(
          plan, {.pass = pass}, core::Reason::NotRecorded,
          "replay is required, but the graph runs on the CPU, where there is nothing to record; "
          "use replay = auto, or a graph and a device that compute on a GPU");
    return;
  }
  RecordingPlanner planner(plan, replay);
  for (auto &section : plan.sections)
    planner.plan_section(section);
}

}  // namespace holoflow::compiler
