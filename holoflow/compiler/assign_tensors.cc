// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 4: tensor identities and the frame records beside them.
#include "holoflow/compiler/frame_axis.hh"
#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

namespace {

/// Records that a descriptor asks for by itself: shape[0] of rank 3 and more, else one.
size_t records_of(const core::TDesc &desc) {
  if (desc.media && desc.media->records)
    return *desc.media->records;
  return desc.rank() >= 3 ? desc.shape[0] : 1;
}

bool same_frame_axis(const core::TDesc &a, const core::TDesc &b) {
  if (a.rank() < 3 || b.rank() < 3)
    return a.rank() < 3 && b.rank() < 3;
  return a.shape[0] == b.shape[0];
}

runtime::RecordPlan plan_synchronous(const Plan &plan, const runtime::NodePlan &node, size_t out) {
  using Source = runtime::RecordPlan::Source;
  const auto &desc = node.infer.output_descs[out];
  if (node.infer.writes_records[out])
    return {Source::Task, records_of(desc)};
  if (node.in_tids.empty())
    return {Source::None, records_of(desc)};
  const auto first = static_cast<size_t>(node.in_tids[0]);
  const auto count = plan.record_count[first];
  const bool says_one = desc.media && desc.media->records == 1;
  // One record stands for all that came of its frame; nothing came of none.
  if (count <= 1 || (!says_one && same_frame_axis(plan.tensor_descs[first], desc)))
    return {Source::FirstInput, count};
  return {Source::Merged, 1, plan.frame_stride[first]};
}

runtime::RecordPlan plan_asynchronous(const runtime::NodePlan &node, size_t out) {
  using Source = runtime::RecordPlan::Source;
  const auto count = records_of(node.infer.output_descs[out]);
  return {node.infer.writes_records[out] ? Source::Task : Source::Fifo, count};
}

/// Frames by which the newest record of the output advances from one to the next.
size_t stride_of(const Plan &plan, const runtime::NodePlan &node, size_t out) {
  if (node.infer.window)
    return node.infer.window->stride;
  if (node.in_tids.empty())
    return records_of(node.infer.output_descs[out]);
  return plan.frame_stride[static_cast<size_t>(node.in_tids[0])];
}

/// A tensor with another number of records than frames says so to the tasks behind it.
void announce(core::TDesc &desc, size_t records) {
  if (records == records_of(desc))
    return;
  if (!desc.media)
    desc.media.emplace();
  desc.media->records = records;
}

void assign_outputs(Plan &plan, size_t index) {
  auto &node = plan.graph.nodes[index];
  const auto outputs = node.infer.output_descs.size();
  node.out_records.resize(outputs);
  for (size_t out = 0; out < outputs; ++out) {
    const bool async = node.infer.kind == core::TaskKind::Async;
    node.out_records[out] =
        async ? plan_asynchronous(node, out) : plan_synchronous(plan, node, out);
    announce(node.infer.output_descs[out], node.out_records[out].count);
    const auto tid = static_cast<size_t>(node.out_tids[out]);
    plan.tensor_descs[tid] = node.infer.output_descs[out];
    plan.record_count[tid] = node.out_records[out].count;
    plan.frame_stride[tid] = stride_of(plan, node, out);
  }
}

}  // namespace

void assign_tensors(Plan &plan) {
  int next = 0;
  for (size_t i = 0; i < plan.node_count(); ++i) {
    auto &node = plan.graph.nodes[i];
    node.in_tids.assign(plan.in_edges[i].size(), -1);
    for (size_t out = 0; out < node.infer.output_descs.size(); ++out) {
      node.out_tids.push_back(next++);
      plan.tensor_producer.emplace_back(i, static_cast<int>(out));
    }
  }
  const auto count = static_cast<size_t>(next);
  plan.tensor_descs.resize(count);
  plan.tensor_readers.assign(count, 0);
  plan.record_count.assign(count, 1);
  plan.frame_stride.assign(count, 1);
  for (auto &edge : plan.graph.edges) {
    edge.tid = plan.graph.nodes[edge.from].out_tids[static_cast<size_t>(edge.spec.out_idx)];
    plan.graph.nodes[edge.to].in_tids[static_cast<size_t>(edge.spec.in_idx)] = edge.tid;
    ++plan.tensor_readers[static_cast<size_t>(edge.tid)];
  }
  for (const auto node : plan.topo_order) {
    assign_outputs(plan, node);
    warn_about_frame_axis(plan, node);
  }
}

}  // namespace holoflow::compiler
