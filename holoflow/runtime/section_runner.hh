// SPDX-License-Identifier: LGPL-2.1-or-later
// One section's thread: its loop, one iteration in six steps, and the tail that follows.
#pragma once

#include "holoflow/runtime/section_parts.hh"

namespace holoflow::runtime {

/// Runs the section until its sources end, the run is stopped or a task fails.
///
///   acquire → pop → execute → wait for the device → push → release ─┐
///      ▲                                                            │ Ok
///      └──────────── tail of the oldest, if more than lag wait ◄────┘
///   Eof: outstanding tails, then the end of the section (section_end.cc).
///
/// Outstanding tails also run, oldest first, where this thread would sleep: nothing can be popped
/// or acquired, or a source is not ready.
///
/// The thread waits for its stream only where it is about to touch memory that enqueued work
/// touches (StreamOrder), and, for tasks that order no device work themselves, before they are
/// pushed and before their slots go back.
///
/// Threads: run() on the section's thread; nothing else may be called meanwhile.
class SectionRunner {
public:
  SectionRunner(
      const GraphPlan &graph, const Section &section, NodeRuntimes &nodes, Waker &waker,
      RunState &state, ExecResources &resources)
      : parts_(graph, section, nodes, waker, state, resources) {}

  /// Never throws: a failure goes to RunState::fail with its place.
  void run() noexcept;

  [[nodiscard]] const SectionCounters &counters() const { return parts_.probe.counters; }
  [[nodiscard]] const std::deque<RunRecording> &recordings() const { return parts_.recordings; }
  /// For trace(), while the section does not run.
  SectionTrace trace;

private:
  void begin_run();
  core::OpResult loop();
  core::OpResult iterate();
  void begin_iteration();

  // The six steps.
  core::OpResult acquire_inputs();
  core::OpResult pop_consumers();
  core::OpResult execute_nodes();
  void wait_before_push();
  core::OpResult push_producers();
  void release_outputs();

  core::OpResult acquire(const Step &step, int slot);
  core::OpResult pop(const Step &step);
  core::OpResult execute(const Step &step, Iteration &iteration, size_t slot);
  core::OpResult execute_run(const Step &run, size_t slot);
  core::OpResult record_members(const Step &run, size_t slot);
  core::OpResult call_members(const Step &run, size_t slot);
  core::OpResult call(const Step &step, size_t slot);
  core::OpResult push(const Step &step);

  // The tail.
  core::OpResult end_iteration();
  core::OpResult finish_oldest();
  core::OpResult finish_all();

  void enqueued(const Step &step);
  void count_fill(NodeRuntime &node);
  [[nodiscard]] bool everyone_behind_has_ended() const;

  SectionParts parts_;
  bool tail_ended_ = false;  // a tail returned something else than Ok, or threw
};

}  // namespace holoflow::runtime
