// SPDX-License-Identifier: LGPL-2.1-or-later
// What a section's time goes into: host time of its nodes, waits, and, sampled, device time.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/node_runtime.hh"
#include "holoflow/runtime/run_recording.hh"
#include "holoflow/runtime/trace.hh"

namespace holoflow::runtime {

/// Written by the section's thread, read by anyone. Nanoseconds since the scheduler was made.
struct SectionCounters {
  std::atomic<uint64_t> iterations{0};
  std::atomic<uint64_t> host_ns{0}, upstream_ns{0}, downstream_ns{0}, device_wait_ns{0};
  // Of the iterations whose device work was timed.
  std::atomic<uint64_t> sampled_iterations{0};
  std::atomic<uint64_t> upload_ns{0}, compute_ns{0}, download_ns{0};
};

/// Takes the times of one section. Everything is skipped while nobody measures: a test of one flag,
/// which is read once an iteration. Waits are timed always; calls of tasks in every iteration that
/// takes long or is traced, else in one of sixteen, which then counts for all of them.
///
/// Device time: in one of many iterations a timed event is recorded before the first and behind
/// every node that enqueues work. They are read when the last of them has fired, without waiting.
/// A run that is launched as one has one time.
/// What a stream waits for in pops and acquires lies before the first event. Where the host is
/// slower than the device, gaps between the nodes count as their time.
///
/// Calls of tasks on a GPU are named for the vendor's profiler where one is attached: the one of
/// NVIDIA says so in the environment variable NVTX_INJECTION64_PATH.
///
/// Threads: the section's only, but for the counters.
class Probe {
public:
  using Clock = std::chrono::steady_clock;
  enum class Wait { Upstream, Downstream, Device };

  Probe(Device *device, cudaStream_t stream) : device_(device), stream_(stream) {}

  /// Names a call of a task until it dies.
  class Range {
  public:
    /// `device` is null where nobody listens.
    Range(Device *device, const char *name) : device_(device) {
      if (device_ != nullptr)
        device_->begin_range(name);
    }
    ~Range() {
      if (device_ != nullptr)
        device_->end_range();
    }
    Range(const Range &) = delete;
    Range &operator=(const Range &) = delete;

  private:
    Device *const device_;
  };

  /// `trace` may be null; it is then not written.
  void begin_run(SectionTrace *trace);
  void end_run();

  void begin_iteration(bool measuring) {
    const bool was_measuring = std::exchange(measuring_, measuring || trace_ != nullptr);
    if (measuring_ && !was_measuring)
      forget();
    if (measuring_)
      start_iteration();
    else
      on_ = false;
  }
  void end_iteration() {
    if (measuring_)
      finish_iteration();
  }
  [[nodiscard]] bool is_measuring() const noexcept { return measuring_; }
  /// Whether the nodes of a run are to be called one by one in this iteration, so that each has a
  /// device time of its own: in the first sample and in one of many after it, in none of a trace.
  [[nodiscard]] bool samples_members() const noexcept {
    return sample_ != nullptr && trace_ == nullptr && taken_ % samples_per_members == 1;
  }
  /// Whether the calls of this iteration are timed.
  [[nodiscard]] bool is_on() const noexcept { return on_; }

  [[nodiscard]] Range range(const NodeRuntime &node) const {
    return {profiled_, node.plan->spec.name.c_str()};
  }
  [[nodiscard]] Range range(const RunRecording &run) const { return {profiled_, run.label()}; }

  /// When the last thing ended: everything is told apart by one reading of the clock, and nothing
  /// between two things is left out.
  [[nodiscard]] Clock::time_point now() const { return last_; }
  /// The same before a wait, which is timed in every iteration.
  [[nodiscard]] Clock::time_point begin_wait() const {
    return on_ || !measuring_ ? last_ : Clock::now();
  }
  /// A call of a task that began at `begin`.
  void ran(NodeRuntime &node, const char *phase, Clock::time_point begin) {
    // A full queue of the application is no work, and counts in every iteration.
    const auto waited =
        node.output != nullptr ? node.output->take_waiting_time() : std::chrono::nanoseconds(0);
    if (measuring_ && waited.count() > 0)
      add_wait(Wait::Downstream, &node, waited);
    if (on_)
      add_run(node, phase, begin, waited);
  }
  /// A run of nodes was launched as one.
  void launched(const RunRecording &run, Clock::time_point begin) {
    if (on_)
      add_launch(run, begin);
  }
  /// The thread waited for something that `node` is about, null for the section's stream.
  void waited(Wait wait, NodeRuntime *node, Clock::time_point begin) {
    if (measuring_)
      end_wait(wait, node, begin);
  }
  /// The node has enqueued work in this iteration.
  void enqueued(NodeRuntime &node) {
    if (sample_ != nullptr)
      mark(&node, nullptr);
  }
  void enqueued(RunRecording &run) {
    if (sample_ != nullptr)
      mark(nullptr, &run);
  }
  /// Before the first node of an iteration that may enqueue work.
  void before_nodes() {
    if (sample_ != nullptr)
      mark(nullptr, nullptr);
  }

  SectionCounters counters;

private:
  struct Mark {
    NodeRuntime *node = nullptr;  // whose work ends here
    RunRecording *run = nullptr;  // the same for a launch; both are null at the beginning
    Event event;
  };
  /// The marks of one iteration.
  struct Sample {
    std::vector<Mark> marks;
    size_t used = 0;
  };
  static constexpr std::chrono::milliseconds sampling_interval{5};
  static constexpr size_t most_samples = 8;
  static constexpr uint64_t samples_per_members = 64;
  // Short iterations are timed now and then, and stand for those between.
  static constexpr std::chrono::microseconds long_iteration{100};
  static constexpr unsigned short_iterations_skipped = 15;

  void forget();
  void meet_clocks();
  void start_iteration();
  void finish_iteration();
  void start_sample();
  void add_run(
      NodeRuntime &node, const char *phase, Clock::time_point begin,
      std::chrono::nanoseconds waited);
  void add_launch(const RunRecording &run, Clock::time_point begin);
  void end_wait(Wait wait, NodeRuntime *node, Clock::time_point begin);
  void add_wait(Wait wait, NodeRuntime *node, std::chrono::nanoseconds duration);
  void mark(NodeRuntime *node, RunRecording *run);
  void read_finished(bool wait);
  void read(Sample &sample);
  void add_device_time(NodeRuntime &node, uint64_t duration);
  void add_device_time(RunRecording &run, uint64_t duration);

  Device *const device_;  // null on the CPU
  const cudaStream_t stream_;
  Device *profiled_ = nullptr;  // the device where a profiler listens to this run
  SectionTrace *trace_ = nullptr;
  bool measuring_ = false;
  bool on_ = false;
  unsigned to_skip_ = 0, skipped_ = 0;  // iterations whose calls are not timed
  unsigned weight_ = 1;  // iterations that this one stands for
  Clock::time_point last_ = {}, iteration_begin_ = {};

  std::array<Sample, most_samples> samples_;  // a ring: [read_, taken_) are under way
  uint64_t taken_ = 0, read_ = 0;
  Sample *sample_ = nullptr;  // of this iteration
  Clock::time_point next_sample_ = {};
  Event base_;  // fired right behind base_time_
  Clock::time_point base_time_ = {};
};

}  // namespace holoflow::runtime
