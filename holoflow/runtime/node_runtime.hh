// SPDX-License-Identifier: LGPL-2.1-or-later
// A node as the section runner sees it: its task, its views, its records.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "holoflow/runtime/async_link.hh"
#include "holoflow/runtime/graph_exec.hh"
#include "holoflow/runtime/rim.hh"

namespace holoflow::runtime {

/// Counters of one node; written by the section threads, read by anyone.
struct NodeCounters {
  std::atomic<uint64_t> runs{0};
  std::atomic<uint64_t> duration_ns{0};
  std::atomic<uint64_t> waited_ns{0};  ///< the section waited for it
  std::atomic<uint64_t> device_ns{0}, device_samples{0};  ///< of the runs that were timed
  std::atomic<uint64_t> fill_sum{0}, fill_samples{0};  ///< frames held
  std::atomic<uint64_t> aborted_frames{0};  ///< given to an iteration that did not finish, this run
};

/// The records of a node's slots, in one iteration.
using RecordSpans = std::vector<std::span<core::FrameRecord>>;

struct NodeRuntime {
  const NodePlan *plan = nullptr;
  core::ITask *task = nullptr;
  core::ISyncTask *sync = nullptr;  ///< null for asynchronous nodes
  core::IAsyncTask *async = nullptr;  ///< null for synchronous nodes
  NodeStorageAdapter *adapter = nullptr;
  std::unique_ptr<AsyncLink> link;  ///< asynchronous nodes only
  IRunObserver *observer = nullptr;  ///< null where the task does not ask
  IFrameOutput *output = nullptr;  ///< null where frames do not leave the graph
  IInputLender *lender = nullptr;  ///< null where acquire_input has to be called
  std::vector<core::TView> inputs, outputs;
  /// By iteration in flight of the section that reads or writes them.
  std::vector<RecordSpans> input_records, output_records;
  std::vector<int> owned_inputs, owned_outputs;  ///< slot indices
  std::vector<size_t> merged_outputs;  ///< slots whose one record stands for those of input 0
  bool touches_device = false;  ///< a slot lies on the device
  bool uploads = false, downloads = false;  ///< from Host to Device, the other way round
  size_t host_bytes = 0, device_bytes = 0;  ///< of all slots, for the metrics
  std::unique_ptr<holoflow_event::Router::NodeHandles> events;  ///< synchronous nodes only
  NodeCounters counters;
  /// Launches that ran the task without calling it; null for a node that is not recorded.
  const std::atomic<uint64_t> *launches = nullptr;

  /// Times the task ran.
  [[nodiscard]] uint64_t runs() const { return counters.runs + (launches ? launches->load() : 0); }

  /// Makes the task lend memory for an owned input, if there is some.
  [[nodiscard]] bool acquire(int slot) {
    return lender != nullptr ? lender->lend_input(slot) : task->acquire_input(slot).has_value();
  }
  /// The records of input 0 or output 0, empty where there is none.
  [[nodiscard]] std::span<core::FrameRecord> first_input_records(size_t iteration) const;
  [[nodiscard]] std::span<core::FrameRecord> first_output_records(size_t iteration) const;
  /// Frames that one pop brings, for the end of foreign tasks.
  [[nodiscard]] size_t frames_per_pop() const;
  /// Frames that one pop takes out of the task: windows may overlap.
  [[nodiscard]] size_t frames_taken_per_pop() const;
};

/// All nodes of a graph and the records between them.
class NodeRuntimes {
public:
  /// `wakers` has one entry per section.
  NodeRuntimes(
      const GraphPlan &graph, const std::vector<Section> &sections, ExecResources &resources,
      holoflow_event::Router &router, std::deque<Waker> &wakers);

  [[nodiscard]] NodeRuntime &operator[](size_t index) { return *nodes_[index]; }
  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] auto begin() { return nodes_.begin(); }
  [[nodiscard]] auto end() { return nodes_.end(); }

private:
  void add_node(const NodePlan &plan, ExecResources &resources, holoflow_event::Router &router);
  void add_links(const std::vector<Section> &sections, std::deque<Waker> &wakers);
  void add_records(const std::vector<Section> &sections, size_t tensor_count);
  void add_records(const Section &section, std::vector<size_t> &set_of);

  std::vector<std::unique_ptr<NodeRuntime>> nodes_;
  std::vector<std::vector<core::FrameRecord>> record_sets_;  // spans point into the inner vectors
};

}  // namespace holoflow::runtime
