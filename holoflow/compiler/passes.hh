// SPDX-License-Identifier: LGPL-2.1-or-later
// The twelve passes. Each is a function on the plan that can be called alone in a test.
// Faults of the graph are collected in plan.faults; a device that fails throws core::DeviceError.
#pragma once

#include "holoflow/compiler/plan.hh"

namespace holoflow::compiler {

/// 1. Names are unique, types registered, params known and of the right type, edges join existing
/// nodes, no input has two producers, no two asynchronous nodes are neighbours, Config::inputs
/// names Input nodes.
/// Reads: spec, registry, config.  Writes: node_index, node_faulty, edge_faulty.
void validate(Plan &plan);

/// 2. Copies nodes and sound edges into the plan and links them.
/// Reads: spec, edge_faulty.  Writes: graph, edge_spec_index, in_edges, out_edges.
void build_plan(Plan &plan);

/// 3. Orders the nodes, producers first, and asks each factory for its contract, which is checked
/// on the spot. Fails on cycles, sparse inputs, slots out of range, refusals and broken factories.
/// Nodes behind a fault are reported as not checked. Reads: graph, edges.  Writes: topo_order,
/// topo_rank, inferred, node infer, edge desc.
void infer_types(Plan &plan);

/// 4. Gives every output a tensor id and plans the frame records beside it.
/// Reads: node infer, edges.  Writes: node and edge tids, tensor_*, record_count, frame_stride, the
/// nodes' out_records and the record counts in the media of their output descriptors.
void assign_tensors(Plan &plan);

/// 5. Gives every tensor a storage; an in-place output shares its input's. Refused are aliases that
/// do not fit, sit elsewhere or would overwrite what their producer reads again: an optional one
/// gets its own storage, a required one is a fault. Other readers are judged by pass 9.
/// Reads: tids, in_place, const_outputs.  Writes: tid_to_sid, aliases, storage_count.
void map_storage(Plan &plan);

/// 6. Leaves each storage at most one owner: breaks optional aliases between owners, lets yielding
/// owners give way, refuses two firm ones.
/// Reads: ownership masks, aliases.  Writes: storage_owner, owners, ownership masks, tid_to_sid,
/// aliases, storage_count, const_outputs of those who gave way.
void check_ownership(Plan &plan);

/// Between 9 and the memory plan: which nodes at the end of a section on a GPU only read results on
/// the host, so that they may be run behind the iterations that are enqueued, and which storages
/// therefore need a piece for each iteration in flight.
/// Reads: sections, tid_to_sid, storage_owner, infer, config.  Writes: sections' lag, tail, lagged,
/// overlap; storage_copies.
void plan_lag(Plan &plan);

/// Between lag and the memory plan: which nodes of a section on a GPU are recorded and launched as
/// one. Fails where replay is required and a device task would be launched by itself.
/// Reads: sections with their tails, infer, tid_to_sid, tensor_descs, compute_location, config.
/// Writes: the sections' runs, recordings, decisions.
void plan_recordings(Plan &plan);

/// Between recordings and 7: sizes, blocks that storages share, the bill; refuses what exceeds the
/// budget. Reads: tensor_descs, tid_to_sid, storage_owner, sections, storage_copies.  Writes: the
/// sections' lagged strides, storage_bytes, storage_location, block_of, block_bytes, bill.
void plan_memory(Plan &plan);

/// Recordings of `previous` whose run is the same and whose tasks all go on, by first node. Whether
/// the memory is the same too is looked at by who launches them.
/// Reads: sections' runs, reuse.kept.
[[nodiscard]] std::map<std::string, std::shared_ptr<runtime::RunExecutables>> keep_recordings(
    const Plan &plan, runtime::ExecResources &previous);

/// 7. Makes the storage objects and the memory of those that no task owns; reuses previous blocks
/// of equal location and size. Reads: the memory plan, device.  Writes: storages, blocks,
/// reuse.blocks.
void allocate(Plan &plan);

/// 8. Resolves each node's slots to storages.
/// Reads: tids, storages.  Writes: adapters.
void attach_adapters(Plan &plan);

/// 9. Cuts the graph into sections at its asynchronous nodes and orders each, readers before those
/// who overwrite. Fails on sections downstream of themselves, outputs that nobody pops, overwriting
/// that no order makes safe, frame rates that disagree. Reads: kinds, edges, topo_order, aliases,
/// ownership, windows.  Writes: sections, section_of,
/// *_section, owners, storage_owner, min_slots with the window and own_memory of deeper queues;
/// where an alias is broken or an owner gives way also tid_to_sid, storage_count, aliases,
/// ownership masks. The mapping is final afterwards.
void partition_sections(Plan &plan);

/// 10. Gives every section a stream (null on the CPU); previous ones are reused by position.
/// Reads: sections, device.  Writes: streams, section stream and device, reuse.streams.
void assign_streams(Plan &plan);

/// Which nodes keep their previous task: same name, type and interface, and a factory whose tasks
/// can be updated; or a task that keeps nothing and of which nothing changed. Called by the driver
/// before pass 10.
/// Reads: graph, section_of, previous.  Writes: reuse.tasks, reuse.kept.
void find_updates(Plan &plan);

/// 11. Creates the tasks of all other nodes.
/// Reads: everything above.  Writes: tasks.
void create_tasks(Plan &plan);

/// Second half of pass 11, when the previous output may be changed: updates its tasks. Where one
/// update fails, all are undone and a fault is added; `previous` is reset where that fails too.
/// Moves nothing else out of `previous`.
void update_tasks(Plan &plan, std::unique_ptr<runtime::CompilerOutput> &previous);
/// Gives all updated tasks back, for a failure behind update_tasks.
void undo_updates(Plan &plan, std::unique_ptr<runtime::CompilerOutput> &previous);

/// 12. Gives tasks their logger and, where they own a slot, access to its storage.
/// Reads: tasks, adapters.
void bind_tasks(Plan &plan);
/// The same for one task.
void bind_task(
    core::ITask &task, const runtime::NodePlan &node, runtime::NodeStorageAdapter &adapter);

/// Checks what the passes promise each other; throws std::logic_error "internal error: <invariant>:
/// …". Behind the judging passes and, with `made`, behind pass 12. Debug builds run it after every
/// compile.
void verify(const Plan &plan, bool made);

/// Says why boundaries, aliases, owners and shared blocks are as they are. Reads everything up to
/// the memory plan.  Writes: decisions.
void explain(Plan &plan);

}  // namespace holoflow::compiler
