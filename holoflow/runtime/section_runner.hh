// SPDX-License-Identifier: LGPL-2.1-or-later
// One section's thread: its loop, one iteration in six steps, its end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "holoflow/runtime/graph_exec.hh"
#include "holoflow/runtime/node_runtime.hh"
#include "holoflow/runtime/run_state.hh"

namespace holoflow::runtime {

/// What one pass through a section has in hand. A value, so that several can be in flight.
struct Iteration {
  struct Acquired {
    NodeRuntime *node;
    int slot;
  };
  std::vector<Acquired> acquired;  ///< lent inputs that nobody has consumed yet
  std::vector<NodeRuntime *> finished;  ///< nodes that returned Ok, in order

  void clear() {
    acquired.clear();
    finished.clear();
  }
};

/// Runs the section until its sources end, the run is stopped or a task fails.
///
///   acquire → pop → execute → wait for the device → push → release ─┐
///      ▲                                                            │ Ok
///      └────────────────────────────────────────────────────────────┘
///   Eof: tell the queues behind that their input ended, the queues before that nobody pops.
///
/// Threads: run() on the section's thread; nothing else may be called meanwhile.
class SectionRunner {
public:
  SectionRunner(
      const Section &section, NodeRuntimes &nodes, Waker &waker, RunState &state,
      ExecResources &resources);

  /// Never throws: a failure goes to RunState::fail with its place.
  void run() noexcept;

private:
  core::OpResult loop();
  core::OpResult iterate();
  void end(core::OpResult reason);
  void count_aborted_frames();

  core::OpResult acquire_inputs();
  core::OpResult pop_consumers();
  core::OpResult execute_nodes();
  void wait_before_push();
  core::OpResult push_producers();
  void release_outputs();

  core::OpResult acquire(NodeRuntime &node, int slot);
  core::OpResult pop(NodeRuntime &node);
  core::OpResult execute(NodeRuntime &node);
  core::OpResult push(NodeRuntime &node);
  core::OpResult check_sync_result(const NodeRuntime &node, core::OpResult result) const;

  void give_back(NodeRuntime &node, int slot);
  void discard(NodeRuntime &node);
  void lend_discard_memory(NodeRuntime &node, int slot);
  void consumed_inputs(const NodeRuntime &node);
  void write_records(NodeRuntime &node);
  void wait_for_device();
  [[nodiscard]] bool everyone_behind_has_ended() const;

  /// Sleeps until something changed since `epoch`, until the deadline, or, where a task must be
  /// polled, for a time that doubles with each call.
  void sleep(
      uint64_t epoch, bool polled, std::optional<Waker::Clock::time_point> deadline = std::nullopt);

  void enter(const NodeRuntime &node, const char *phase) {
    current_node_ = &node;
    current_phase_ = phase;
  }
  [[nodiscard]] std::exception_ptr describe_failure() const;

  const Section &section_;
  Waker &waker_;
  RunState &state_;
  Device *device_ = nullptr;  // null on the CPU
  std::vector<NodeRuntime *> consumers_, nodes_, producers_;
  bool has_sink_ = false;  // a synchronous node without outputs
  Event event_;  // marks the stream's end for waits that do not spin
  bool device_is_behind_ = false;  // stream work was enqueued since the last wait

  Iteration iteration_;
  std::chrono::microseconds back_off_{50};
  std::map<const core::Storage *, MemoryBlock> discard_memory_;  // behind it nobody reads any more

  const NodeRuntime *current_node_ = nullptr;  // for error messages
  const char *current_phase_ = "";
};

}  // namespace holoflow::runtime
