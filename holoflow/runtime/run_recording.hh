// SPDX-License-Identifier: LGPL-2.1-or-later
// A run of tasks that is recorded once and launched as one after that.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "holoflow/compiler/run_executables.hh"
#include "holoflow/runtime/graph_exec.hh"
#include "holoflow/runtime/running_place.hh"

namespace holoflow::runtime {

/// Enqueues the work of a run of tasks in each iteration, the cheapest way there is:
///
///   replay    a recording exists that fits: one launch
///   record    none fits: the tasks are called while the stream records, twice; the recording is
///             launched, because recorded work has not run
///   one by one   the tasks enqueue their work themselves
///
/// Recordings follow memory that moves from iteration to iteration (slots of queues, lagged
/// storages): the first iteration in which it has moved records again and compares, which shows the
/// addresses to change before each later launch. Where parameters cannot be changed, each
/// combination of addresses has a recording of its own, up to max_executables.
///
/// Where anything fails, that iteration calls the tasks one by one, and the reason is kept and
/// logged once. Another attempt follows 1, 16, 256, … iterations later: nothing is given up for
/// good.
///
/// Threads: execute() on the section's; replays() and stats() on any.
class RunRecording {
public:
  static constexpr size_t max_executables = 16;

  /// Storages of a run whose memory is another one in each iteration, and the others.
  struct Memory {
    std::vector<core::Storage *> moving, fixed;
  };

  /// Goes on with `executables` where they were recorded for the same stream and memory.
  RunRecording(
      const Section &section, const RecordedRun &run, Device &device, Memory memory,
      std::shared_ptr<RunExecutables> executables, const RunningPlace &place);

  /// Both call execute() of each task in order and return the first result that is not Ok:
  /// `record_tasks` while the stream records, perhaps several times, `call_tasks` otherwise.
  template <typename RecordTasks, typename CallTasks>
  core::OpResult execute(const RecordTasks &record_tasks, const CallTasks &call_tasks) {
    read_addresses();
    if (replay())
      return core::OpResult::Ok;
    ++misses_;
    if (may_record())
      if (const auto result = record(record_tasks))
        return *result;
    count_fallback(reason_);
    return call_tasks();
  }

  /// Calls the tasks one by one, for the times of each.
  template <typename CallTasks> core::OpResult sample(const CallTasks &call_tasks) {
    ++misses_;
    count_fallback("sampled for the metrics");
    return call_tasks();
  }

  /// A new run of the scheduler: what failed in the last one may be tried again.
  void begin_run();

  /// Iterations in which the tasks themselves were not called.
  [[nodiscard]] const std::atomic<uint64_t> &launches() const noexcept { return launches_; }
  void add_device_time(uint64_t nanoseconds) noexcept {
    device_ns_ += nanoseconds;
    ++device_samples_;
  }
  [[nodiscard]] ReplayStats stats() const;
  /// For traces: the first and the last node, and all of them. Live as long as this.
  [[nodiscard]] const char *label() const noexcept { return label_.c_str(); }
  [[nodiscard]] const char *node_names() const noexcept { return node_names_.c_str(); }

private:
  using Tasks = std::function<core::OpResult()>;

  void read_addresses();
  bool replay();
  [[nodiscard]] bool may_record();
  std::optional<core::OpResult> record(const Tasks &record_tasks);
  [[nodiscard]] bool teach(const RecordedWork &work);
  [[nodiscard]] std::unique_ptr<RecordedWork> capture(const Tasks &record_tasks);
  void add(std::unique_ptr<RecordedWork> work, const Tasks &record_tasks);
  void launch(size_t index);
  void note_failure(const std::string &reason);
  void count_fallback(const std::string &reason);

  const std::string section_;
  const cudaStream_t stream_;
  const std::string key_;
  const std::vector<std::string> nodes_;
  const std::string label_, node_names_;
  Device &device_;
  const std::vector<core::Storage *> moving_;
  const RunningPlace &place_;  // of the section, for the node that failed

  std::vector<std::byte *> addresses_;  // in this iteration
  const std::shared_ptr<RunExecutables> recorded_;  // with the compiled graph
  std::vector<std::unique_ptr<RecordedWork>> &executables_;
  core::OpResult refused_ = core::OpResult::Ok;  // what a task answered while the stream recorded
  uint64_t skip_ = 0;  // iterations until the next attempt
  uint64_t next_skip_ = 1;

  std::atomic<uint64_t> hits_{0}, misses_{0}, records_{0}, re_records_{0}, launches_{0};
  std::atomic<uint64_t> device_ns_{0}, device_samples_{0};
  std::atomic<size_t> operations_{0}, prepared_operations_{0};
  std::string reason_;  // of the last failure; the section's
  mutable std::mutex mutex_;  // guards fallbacks_; never held while a task runs
  std::map<std::string, uint64_t> fallbacks_;
};

}  // namespace holoflow::runtime
