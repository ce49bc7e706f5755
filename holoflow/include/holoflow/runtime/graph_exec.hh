// SPDX-License-Identifier: LGPL-2.1-or-later
// What the compiler makes and the scheduler runs: the plan of a graph, its sections, its resources.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/tasks.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/device_rates.hh"
#include "holoflow_event/router.hh"

namespace holoflow::runtime {

/// How an output gets its frame records.
struct RecordPlan {
  enum class Source {
    FirstInput,  ///< the very records of input 0, aliased
    Task,  ///< the task writes them
    Merged,  ///< one record: newest pts of input 0, duration times `stride`
    Fifo,  ///< a foreign asynchronous task: the scheduler carries them past it
    None,  ///< no input and the task writes none: records stay unknown
  };
  Source source = Source::None;
  size_t count = 1;  ///< records of the output
  size_t stride = 1;  ///< Merged: frames by which the newest record advances
};

struct NodePlan {
  core::NodeSpec spec;
  core::InferResult infer;  ///< ownership masks hold the outcome, after owners gave way
  std::vector<int> in_tids;  ///< tensor id of each input slot
  std::vector<int> out_tids;  ///< tensor id of each output slot
  std::string group;  ///< the Graph node it was expanded from, "" for none
  std::vector<RecordPlan> out_records = {};
  size_t min_slots = 0;  ///< frames an asynchronous node must hold because paths meet; 0 = its own
};

struct EdgePlan {
  core::EdgeSpec spec;
  core::TDesc desc;
  int tid = -1;
  size_t from = 0;  ///< index into GraphPlan::nodes
  size_t to = 0;
};

/// Nodes in the order of the specification.
struct GraphPlan {
  std::vector<NodePlan> nodes;
  std::vector<EdgePlan> edges;
};

/// A Host storage with one piece of memory for each iteration in flight, `stride` bytes apart.
struct LaggedStorage {
  int sid = 0;
  size_t stride = 0;
};

/// Synchronous nodes of a section that follow each other and are launched as one: recorded when
/// they first run, replayed after.
struct RecordedRun {
  size_t first = 0;  ///< position in Section::sync_topo
  size_t count = 0;
  std::string key;  ///< of its definition: the same for the same work
  std::string label;  ///< the first and the last node, for people
};

/// Nodes that one thread and one stream run in order. Indices point into GraphPlan::nodes.
struct Section {
  int id = 0;
  std::string name;
  cudaStream_t stream = nullptr;
  std::vector<size_t> sync_topo;
  std::vector<size_t> async_cons;  ///< popped before the synchronous nodes
  std::vector<size_t> async_prod;  ///< pushed after them
  int device = -1;
  size_t lag = 0;  ///< iterations whose tail may be outstanding when the next one begins
  std::vector<size_t> tail = {};  ///< the last of sync_topo: what only reads results on the host
  std::vector<LaggedStorage> lagged = {};  ///< between the other nodes and the tail
  bool overlap = true;  ///< false: the stream is waited for in every iteration
  std::vector<RecordedRun> runs = {};  ///< in the order of sync_topo, none of the tail
};

/// Resolves a node's slots to storages; owned slots only are reachable through IOStorageAccess.
class NodeStorageAdapter final : public core::IOStorageAccess {
public:
  std::vector<core::Storage *> inputs;
  std::vector<core::Storage *> outputs;
  std::vector<bool> owned_inputs;
  std::vector<bool> owned_outputs;

  [[nodiscard]] core::Storage &owned_input_storage(size_t index) override;
  [[nodiscard]] core::Storage &owned_output_storage(size_t index) override;
};

struct RunExecutables;

/// Everything a compiled graph owns. Recordings and tasks die first, streams and memory last.
struct ExecResources {
  std::map<int, MemoryBlock> memory_blocks;  ///< by storage id, compiler-owned only
  std::map<int, Stream> streams;  ///< by section id
  std::map<int, std::unique_ptr<core::Storage>> storages;  ///< by storage id
  std::vector<core::TDesc> tensor_descs;  ///< by tensor id
  std::vector<int> tid_to_sid;  ///< tensor id → storage id
  std::map<std::string, std::unique_ptr<NodeStorageAdapter>> node_storage_adapters;
  std::map<std::string, std::unique_ptr<core::ITask>> tasks;
  /// By the first node of each run; shared with the scheduler that runs the graph, made by it.
  std::map<std::string, std::shared_ptr<RunExecutables>> recordings = {};
};
using ExecResouces = ExecResources;  // the reference's spelling

struct NodeMetrics {
  double average_duration_ms = 0.0;
  double runs_per_second = 0.0;
  double host_throughput_bytes_per_second = 0.0;
  double device_throughput_bytes_per_second = 0.0;
  uint64_t sample_count = 0;
  /// On the device, by its own events, mean of the runs that were sampled; 0 where none was.
  double average_device_duration_ms = 0.0;
  /// Part of the time in which a section waited for this node: a source without frames, a queue
  /// that was empty or full, a device that was not done.
  double waiting_share = 0.0;
  /// Asynchronous nodes: frames held, mean of what pushes and pops found.
  double average_fill = 0.0;
};

/// Where a section's time went in the last interval. Shares are parts of that interval.
struct SectionMetrics {
  double iterations_per_second = 0.0;
  double host_share = 0.0;  ///< the thread ran tasks
  double upstream_share = 0.0;  ///< it waited for a source or an empty queue
  double downstream_share = 0.0;  ///< it waited for a full queue
  double device_share = 0.0;  ///< it waited for its stream
  double upload_share = 0.0;  ///< the stream copied Host to Device, by sampled events
  double compute_share = 0.0;  ///< the stream ran anything else
  double download_share = 0.0;  ///< the stream copied Device to Host
  double upload_bytes_per_second = 0.0;
  double download_bytes_per_second = 0.0;
  double device_bytes_per_second = 0.0;  ///< read and written by its tasks
  // Of what the device can do at most; 0 without set_device_rates().
  double to_device_rate_share = 0.0;  ///< upload_bytes_per_second over DeviceRates::to_device
  double to_host_rate_share = 0.0;  ///< download_bytes_per_second over DeviceRates::to_host
  double memory_rate_share = 0.0;  ///< device_bytes_per_second over DeviceRates::memory
  /// upload, compute, download, host, upstream or downstream: the largest share; "" before the
  /// first interval.
  std::string limiter = {};
};

/// What became of one recorded run since the scheduler was made.
struct ReplayStats {
  std::string section;
  std::vector<std::string> nodes;  ///< in order
  std::string key;  ///< of its definition
  uint64_t hits = 0;  ///< iterations that launched what an earlier one had recorded
  uint64_t misses = 0;  ///< iterations that recorded, or called the tasks one by one
  uint64_t records = 0;  ///< recordings that were made ready to launch
  /// Recordings made only to learn which of their addresses follow memory that moves.
  uint64_t re_records = 0;
  std::map<std::string, uint64_t> fallbacks = {};  ///< iterations one by one, by reason
  size_t operations = 0;  ///< kernels, copies and fills in a recording
  size_t bytes = 0;  ///< Device memory that the recordings take, estimated
  double average_device_duration_ms = 0.0;  ///< of the launches that were sampled, 0 for none
};

/// Device memory that a recording takes for each of its operations. Measured on an H200 with CUDA
/// 13.0: 64 recordings of 32 kernels took 2 MiB, of 128 kernels 16 MiB.
inline constexpr size_t recorded_bytes_per_operation = 2048;

/// Frames of one Input, asynchronous node or Output: entered = left + dropped + skipped + failed +
/// held, each frame counted once.
struct NodeLedger {
  uint64_t entered = 0;
  uint64_t left = 0;
  std::map<std::string, uint64_t> dropped = {};  ///< by reason
  uint64_t skipped = 0;  ///< by a queue's stride
  uint64_t failed = 0;
  uint64_t held = 0;
  /// Of a node with a window: frames that have to come before the next window leaves. Exact while
  /// nothing runs.
  std::optional<uint64_t> awaited = {};
};

/// Runs a compiled graph: one thread per section. The three arguments must outlive it.
///
/// Threads: start, wait and the destructor belong to one thread; request_stop, is_running,
/// stop_requested, the metrics, ledger, stats and the events may be called from any.
/// Errors: the first exception of a task ends the run; the first wait() rethrows it as TaskError
/// with node, type, phase and section, later calls return.
class Scheduler {
public:
  Scheduler(
      const GraphPlan &graph, const std::vector<Section> &sections, ExecResources &resources,
      std::chrono::milliseconds metrics_interval = std::chrono::milliseconds(1000));
  ~Scheduler();  ///< stops and waits
  Scheduler(const Scheduler &) = delete;
  Scheduler &operator=(const Scheduler &) = delete;

  /// Starts the sections; a second call while they run does nothing. After wait() it starts anew.
  /// Every task's begin_run() is called before; where one throws, nothing starts and this throws
  /// TaskError with its node.
  void start();
  /// The same after a run that came to the end of its sources: it goes on. Tasks are called
  /// continue_run() instead, so windows keep the frames that they share with those to come, and
  /// frames are numbered on. After another end, start().
  void resume();
  /// Asks every section to stop within its current iteration. Does not wait; nothing happens where
  /// nothing runs.
  void request_stop();
  /// Until every section has ended: by itself (end of all sources) or stopped.
  void wait();

  /// False once the last section has ended.
  [[nodiscard]] bool is_running() const;
  [[nodiscard]] bool stop_requested() const;

  void set_metrics_interval(std::chrono::milliseconds interval);
  /// By node name; the rates of the last complete interval, totals in sample_count.
  [[nodiscard]] std::map<std::string, NodeMetrics> metrics() const;
  /// By section name; as metrics().
  [[nodiscard]] std::map<std::string, SectionMetrics> section_metrics() const;
  /// Measures no more, at no cost, until metrics() or section_metrics() is called again; rates then
  /// count from that call on.
  void stop_metrics();
  /// What section_metrics() compares with, from measure_device_rates().
  void set_device_rates(const DeviceRates &rates);

  /// Keeps the last `spans` spans of each section from the next start() on; 0 keeps none.
  void set_trace(size_t spans);
  /// What the sections did, as Chrome's trace format: host spans and, where they were sampled,
  /// device spans on one clock, in microseconds since `origin`, by default the first span. Nothing
  /// while sections run. Names of nodes may be no UTF-8: dump it with error_handler_t::replace.
  [[nodiscard]] nlohmann::json trace(
      std::optional<std::chrono::steady_clock::time_point> origin = std::nullopt) const;

  [[nodiscard]] bool ui_try_send(const std::string &node_id, nlohmann::json &&data) noexcept;
  [[nodiscard]] std::optional<holoflow_event::Event> ui_try_receive() noexcept;

  /// What was recorded and replayed, a run after the other. Cheap; counts go on from run to run.
  [[nodiscard]] std::vector<ReplayStats> replays() const;

  /// By node name.
  [[nodiscard]] std::map<std::string, NodeLedger> ledger() const;
  /// Run state, ledger and event counters as one JSON object.
  [[nodiscard]] nlohmann::json stats() const;

  /// Called on the last section's thread when the run is over, with the first error or null. Set it
  /// before start(); it must not call wait() or destroy the scheduler.
  void set_on_finished(std::function<void(std::exception_ptr)> callback);

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holoflow::runtime
