// SPDX-License-Identifier: LGPL-2.1-or-later
// What a section does in each iteration and what each step touches: plain data, made once.
#pragma once

#include <cstddef>
#include <vector>

#include "holoflow/runtime/graph_exec.hh"

namespace holoflow::runtime {

struct NodeRuntime;
class RunRecording;

/// Storages that a step touches, as SectionSteps numbers them.
struct Access {
  std::vector<size_t> reads;
  std::vector<size_t> writes;
};

/// One node of a section, or a run of nodes that is recorded, and what it touches.
struct Step {
  size_t index = 0;  ///< into GraphPlan::nodes; of a run, its first node
  NodeRuntime *node = nullptr;  ///< the same node while it runs; the section's runner sets it
  Access host;  ///< on the thread
  Access stream;  ///< by work that it enqueues
  Access released;  ///< owned outputs: no one may touch them any more when they go back
  std::vector<size_t> renewed;  ///< owned storages: other memory in each iteration
  bool enqueues = false;
  bool in_tail = false;
  bool may_wait = false;  ///< for something outside of the graph: a source, a sink
  bool released_by_tail = false;  ///< the tail reads what it owns

  std::vector<Step> members;  ///< of a run, in order; they own no slot
  std::vector<int> moving;  ///< of a run: storage ids whose memory differs between iterations
  std::vector<int> fixed;  ///< the other storage ids of a run
  RunRecording *recording = nullptr;  ///< of a run; the section's runner sets it, as the next
  std::vector<NodeRuntime *> merging;  ///< members that write merged records

  [[nodiscard]] bool is_run() const noexcept { return !members.empty(); }
};

/// The steps of one section, in the order in which an iteration takes them. On the CPU nothing is
/// enqueued, so no step has an access.
struct SectionSteps {
  std::vector<Step> consumers;  ///< popped
  std::vector<Step> nodes;  ///< executed
  std::vector<Step> producers;  ///< pushed
  std::vector<Step> tail;  ///< executed once the stream has come so far

  std::vector<int> storages;  ///< storage ids; an Access names them by their position here
  std::vector<size_t> lagged;  ///< numbers of the storages in Section::lagged
  std::vector<int> tail_storages;  ///< storage ids that the tail touches, or releases
  bool has_sink = false;  ///< a synchronous node without outputs
  bool waits_before_push = false;  ///< a producer that knows no events
};

[[nodiscard]] SectionSteps make_section_steps(
    const GraphPlan &graph, const Section &section, const std::vector<int> &tid_to_sid);

}  // namespace holoflow::runtime
