// SPDX-License-Identifier: LGPL-2.1-or-later
// The compiler's state: one plain struct that the passes fill in order. Each field says which pass
// fills it; a pass reads only what an earlier one wrote.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/registry.hh"
#include "holoflow/runtime/compiler.hh"
#include "holoflow/runtime/graph_exec.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::compiler {

/// An output that shares its input's storage.
struct Alias {
  size_t node = 0;
  int in_idx = 0;
  int out_idx = 0;
  bool required = true;
  bool writes = true;
  bool broken = false;  ///< an optional alias that was given up; the output has its own storage
};

/// A slot that controls the memory of a storage.
struct Owner {
  size_t node = 0;
  bool is_input = false;
  int slot = 0;
};

/// What recompilation takes over from the previous output.
struct Reuse {
  std::map<int, int> blocks;  ///< new storage id → previous storage id
  std::vector<int> streams;  ///< section ids whose stream is the previous one of that id
  std::vector<size_t> tasks;  ///< nodes whose previous task is updated
  std::vector<size_t> kept;  ///< nodes whose previous task goes on as it is
};

struct Plan {
  // Given by the driver.
  const core::GraphSpec *spec = nullptr;
  core::Registry *registry = nullptr;
  const runtime::CompilerConfig *config = nullptr;
  core::MemLoc compute_location = core::MemLoc::Host;  ///< where Upload brings tensors
  runtime::Device *device = nullptr;  ///< from pass 7 on
  const runtime::CompilerOutput *previous = nullptr;  ///< read only until it is committed
  bool beside_previous = false;  ///< the scheduler of `previous` may be running

  // Written by any pass.
  core::FaultList faults;
  std::vector<runtime::Decision> decisions;
  std::vector<runtime::CompileSpan> spans;  ///< passes, and calls of factories where wanted

  // Pass 1, validate.
  std::unordered_map<std::string_view, size_t> node_index;  ///< name → index into spec->nodes
  std::vector<bool> node_faulty;  ///< not worth inferring
  std::vector<bool> edge_faulty;  ///< left out of the plan

  // Pass 2, build_plan.
  runtime::GraphPlan graph;
  std::vector<size_t> edge_spec_index;  ///< plan edge → index into spec->edges
  std::vector<std::vector<size_t>> in_edges;  ///< by node, edges into it
  std::vector<std::vector<size_t>> out_edges;  ///< by node, edges out of it

  // Pass 3, infer_types.
  std::vector<size_t> topo_order;  ///< every node, producers first
  std::vector<size_t> topo_rank;  ///< node → position in topo_order
  std::vector<bool> inferred;  ///< inference succeeded

  // Pass 4, assign_tensors.
  std::vector<core::TDesc> tensor_descs;
  std::vector<std::pair<size_t, int>> tensor_producer;  ///< tid → node, output slot
  std::vector<size_t> tensor_readers;  ///< tid → number of edges that carry it
  std::vector<size_t> record_count;  ///< tid → frame records beside it
  std::vector<size_t> frame_stride;  ///< tid → stride of the nearest queue upstream

  // Pass 5, map_storage.
  std::vector<int> tid_to_sid;
  std::vector<Alias> aliases;
  size_t storage_count = 0;

  // Pass 6, check_ownership. The outcome is also in each node's infer.owned_inputs/owned_outputs.
  std::vector<int> storage_owner;  ///< sid → index into owners, -1 for compiler-owned
  std::vector<Owner> owners;

  // Lag, between 9 and the memory plan. Also the sections' lag, tail and lagged storages.
  std::vector<size_t> storage_copies;  ///< by sid: iterations that have their own piece of it

  // Recordings, between lag and the memory plan. Also the sections' runs.
  std::vector<runtime::RecordingDefinition> recordings;

  // Memory plan, between recordings and 7.
  std::vector<size_t> storage_bytes;  ///< by sid
  std::vector<core::MemLoc> storage_location;  ///< by sid
  std::vector<int> block_of;  ///< sid → sid under which its block is kept, -1 where a task owns it
  std::vector<size_t> block_bytes;  ///< by the sid that keeps the block, else 0
  runtime::MemoryBill bill;

  // Pass 7, allocate.
  std::map<int, std::unique_ptr<core::Storage>> storages;
  std::map<int, runtime::MemoryBlock> blocks;

  // Pass 8, attach_adapters.
  std::map<std::string, std::unique_ptr<runtime::NodeStorageAdapter>> adapters;

  // Pass 9, partition_sections.
  std::vector<runtime::Section> sections;
  std::vector<int> section_of;  ///< node → section id, -1 for asynchronous nodes
  std::vector<int> producer_section;  ///< asynchronous node → section that pushes, -1 for none
  std::vector<int> consumer_section;  ///< asynchronous node → section that pops, -1 for none

  // Pass 10, assign_streams.
  std::map<int, runtime::Stream> streams;

  // Pass 11, create_tasks.
  std::map<std::string, std::unique_ptr<core::ITask>> tasks;

  // Commit.
  std::map<std::string, std::shared_ptr<runtime::RunExecutables>> kept_recordings;

  // Passes 7, 10 and 11.
  Reuse reuse;
  runtime::CompileReport report;

  [[nodiscard]] size_t node_count() const { return graph.nodes.size(); }
  [[nodiscard]] tasks::InferContext context(size_t node) const {
    return {compute_location, graph.nodes[node].spec.name, &config->inputs};
  }
  [[nodiscard]] bool is_async(size_t node) const {
    return graph.nodes[node].infer.kind == core::TaskKind::Async;
  }
  [[nodiscard]] int sid_of(int tid) const { return tid_to_sid[static_cast<size_t>(tid)]; }
};

/// `"name" (Kind)`, cut as foreign text is.
[[nodiscard]] std::string quoted(const core::NodeSpec &node);

/// `"a:0"`, cut as foreign text is.
[[nodiscard]] std::string slot_name(const std::string &node, int slot);

/// Where an edge comes from, `"a:0"`.
[[nodiscard]] std::string output_name(const Plan &plan, size_t node, int slot);

/// Adds a decision; `node` is an index into spec->nodes or -1 for the whole graph.
void add_decision(Plan &plan, runtime::Decision::Kind kind, int node, std::string text);

/// Throws the error again with a place in front and the memory bill behind: what failed is most
/// often an allocation.
[[noreturn]] void throw_with_bill(
    const Plan &plan, const std::string &place, const core::DeviceError &error);

/// Where a fault is.
struct Place {
  const char *pass = "";
  int node = -1;  ///< index into spec->nodes, -1 for none
  int slot = -1;  ///< for the error's `slot` member
  int edge = -1;  ///< index into spec->edges, -1 for none
  std::string pointer = {};  ///< below the node's params ("/axis"), for param faults
};

/// Adds a fault: "pass: node "name" (Kind), text [pointer, line, column]". `text` beginning with
/// "input " or "output " is joined by a comma, anything else by a colon.
/// Names within `text` are the caller's to quote with core::quote(). A full list only counts it.
void add_fault(Plan &plan, const Place &place, core::Reason reason, const std::string &text);

}  // namespace holoflow::compiler
