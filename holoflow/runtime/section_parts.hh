// SPDX-License-Identifier: LGPL-2.1-or-later
// What the loop and the end of a section work on.
#pragma once

#include <deque>

#include "holoflow/runtime/iteration_ring.hh"
#include "holoflow/runtime/lending.hh"
#include "holoflow/runtime/probe.hh"
#include "holoflow/runtime/run_recording.hh"
#include "holoflow/runtime/run_state.hh"
#include "holoflow/runtime/running_place.hh"
#include "holoflow/runtime/section_steps.hh"
#include "holoflow/runtime/section_waits.hh"
#include "holoflow/runtime/stream_order.hh"

namespace holoflow::runtime {

/// Threads: the section's only, but for the probe's counters.
struct SectionParts {
  SectionParts(
      const GraphPlan &graph, const Section &section, NodeRuntimes &nodes, Waker &waker,
      RunState &run_state, ExecResources &resources);

  const Section &section;
  RunState &state;
  Device *const device;  ///< null on the CPU
  SectionSteps steps;
  IterationRing ring;
  StreamOrder order;
  Probe probe;
  RunningPlace place;
  SectionWaits waits;
  Lending lending;
  std::deque<RunRecording> recordings;  ///< of the steps that are runs, in order

private:
  void bind_nodes(NodeRuntimes &nodes);
  void make_recording(Step &run, const RecordedRun &plan, ExecResources &resources);
};

/// How the loop of a section ended.
struct LoopEnd {
  core::OpResult reason = core::OpResult::Cancelled;
  bool failed = false;  ///< an exception, which the run knows
  bool in_tail = false;  ///< a tail ended it: the oldest iteration is the one that was interrupted
};

/// The end of a section, whatever failed: what it still waits for, what goes back to whom, who has
/// to be told. Each step is attempted even where another one fails; the first error is the run's.
void end_section(SectionParts &parts, LoopEnd end);

}  // namespace holoflow::runtime
