// SPDX-License-Identifier: LGPL-2.1-or-later
// One section's thread: its loop, one iteration in six steps, the tail that follows, its end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "holoflow/runtime/graph_exec.hh"
#include "holoflow/runtime/node_runtime.hh"
#include "holoflow/runtime/probe.hh"
#include "holoflow/runtime/run_state.hh"
#include "holoflow/runtime/stream_order.hh"

namespace holoflow::runtime {

/// One node of a section, and what it touches.
struct Step {
  NodeRuntime *node = nullptr;
  Access host;  ///< on the thread
  Access stream;  ///< by work that it enqueues
  Access released;  ///< owned outputs: nobody may touch them any more when they go back
  std::vector<size_t> renewed;  ///< owned storages: other memory in each iteration
  bool enqueues = false;
  bool in_tail = false;
  bool may_wait = false;  ///< for something outside of the graph: a source, a sink
  bool released_by_tail = false;  ///< the tail reads what it owns
};

/// What one pass through a section has in hand. A value: up to 1 + lag of them are in flight.
struct Iteration {
  struct Acquired {
    NodeRuntime *node;
    int slot;
  };
  std::vector<Acquired> acquired;  ///< lent inputs that nobody has consumed yet
  std::vector<Step *> finished;  ///< nodes that returned Ok, in order

  // While its tail is outstanding:
  uint64_t work = 0;  ///< the stream's last work of this iteration
  std::vector<std::byte *> pointers;  ///< of the storages that the tail touches

  void clear() {
    acquired.clear();
    finished.clear();
  }
};

/// Runs the section until its sources end, the run is stopped or a task fails.
///
///   acquire → pop → execute → wait for the device → push → release ─┐
///      ▲                                                            │ Ok
///      └──────────── tail of the oldest, if more than lag wait ◄────┘
///   Eof: outstanding tails, then tell the queues behind that their input ended, the queues before
///   that nobody pops.
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
      const Section &section, NodeRuntimes &nodes, Waker &waker, RunState &state,
      ExecResources &resources);

  /// Never throws: a failure goes to RunState::fail with its place.
  void run() noexcept;

  [[nodiscard]] const SectionCounters &counters() const { return probe_.counters; }
  /// For trace(), while the section does not run.
  SectionTrace trace;

private:
  core::OpResult loop();
  core::OpResult iterate();
  void begin_iteration();
  void end(core::OpResult reason, bool failed);

  core::OpResult acquire_inputs();
  core::OpResult pop_consumers();
  core::OpResult execute_nodes();
  void wait_before_push();
  core::OpResult push_producers();
  void release_outputs(Iteration &iteration, bool of_tail);

  core::OpResult acquire(Step &step, int slot);
  core::OpResult pop(Step &step);
  core::OpResult execute(Step &step, Iteration &iteration, size_t slot);
  core::OpResult push(Step &step);

  // The tail.
  [[nodiscard]] Iteration &current() { return iterations_[begun_ % iterations_.size()]; }
  [[nodiscard]] size_t current_slot() const { return begun_ % iterations_.size(); }
  [[nodiscard]] bool has_outstanding() const { return outstanding_ != begun_; }
  void collect_tail_storages(ExecResources &resources);
  core::OpResult defer_tail();
  core::OpResult finish_oldest();
  core::OpResult run_tail(Iteration &iteration, size_t slot);
  core::OpResult finish_all();

  void make_steps(const Section &section, NodeRuntimes &nodes, const ExecResources &resources);
  Step make_step(NodeRuntime &node, bool producer_side, const ExecResources &resources);

  void give_back(NodeRuntime &node, int slot);
  void discard(NodeRuntime &node);
  void lend_discard_memory(NodeRuntime &node, int slot);
  static void consumed_inputs(Iteration &iteration, const NodeRuntime &node);
  static void write_records(NodeRuntime &node, size_t slot);
  [[nodiscard]] std::vector<Iteration *> open_iterations();
  void count_aborted_frames(const Iteration &iteration);
  [[nodiscard]] bool everyone_behind_has_ended() const;
  template <typename Function> void attempt(const Function &function);
  void enqueued(const Step &step);
  void before_host(const Access &access);
  void wait_until(uint64_t work);
  void announce_room();
  void count_fill(NodeRuntime &node);

  /// Sleeps until something changed since `epoch`, until the deadline, or, where a task must be
  /// polled, for a time that doubles with each call. `node` is what it waits for.
  void sleep(
      NodeRuntime &node, Probe::Wait wait, uint64_t epoch, bool polled,
      std::optional<Waker::Clock::time_point> deadline = std::nullopt);

  void enter(const NodeRuntime &node, const char *phase) {
    current_node_ = &node;
    current_phase_ = phase;
  }
  [[nodiscard]] std::exception_ptr describe_failure() const;

  const Section &section_;
  Waker &waker_;
  RunState &state_;
  Device *device_ = nullptr;  // null on the CPU
  StreamOrder order_;
  Probe probe_;
  std::vector<Step> consumers_, nodes_, producers_, tail_;
  bool has_sink_ = false;  // a synchronous node without outputs
  bool waits_before_push_ = false;  // an ordinary producer

  std::vector<Iteration> iterations_;  // a ring of 1 + lag
  uint64_t begun_ = 0, outstanding_ = 0;  // numbers of the current and the oldest iteration
  bool in_progress_ = false;  // the current iteration is neither finished nor outstanding
  bool tail_ended_ = false;  // a tail returned something else than Ok
  struct Repeated {
    core::Storage *storage;
    std::byte *first;
    size_t stride;
    size_t number;  // of order_
  };
  std::vector<Repeated> repeated_;  // storages with a piece for each iteration
  std::vector<core::Storage *> tail_storages_;

  std::chrono::microseconds back_off_{50};
  std::map<const core::Storage *, MemoryBlock> discard_memory_;  // behind it nobody reads any more

  const NodeRuntime *current_node_ = nullptr;  // for error messages
  const char *current_phase_ = "";
};

}  // namespace holoflow::runtime
