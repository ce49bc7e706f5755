// SPDX-License-Identifier: LGPL-2.1-or-later
// Builds the runtime side of a plan once, so that an iteration only walks vectors.
#include "holoflow/runtime/node_runtime.hh"

#include <algorithm>

namespace holoflow::runtime {

namespace {

std::vector<int> slots_of(const std::vector<bool> &mask) {
  std::vector<int> slots;
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i])
      slots.push_back(static_cast<int>(i));
  return slots;
}

}  // namespace

std::span<core::FrameRecord> NodeRuntime::first_input_records(size_t iteration) const {
  const auto &spans = input_records[iteration];
  return spans.empty() ? std::span<core::FrameRecord>() : spans.front();
}

std::span<core::FrameRecord> NodeRuntime::first_output_records(size_t iteration) const {
  const auto &spans = output_records[iteration];
  return spans.empty() ? std::span<core::FrameRecord>() : spans.front();
}

size_t NodeRuntime::frames_per_pop() const {
  return output_records.empty() || output_records.front().empty() ? 1
                                                                  : first_output_records(0).size();
}

size_t NodeRuntime::frames_taken_per_pop() const {
  const auto frames = frames_per_pop();
  return plan->infer.window ? std::min(frames, plan->infer.window->stride) : frames;
}

NodeRuntimes::NodeRuntimes(
    const GraphPlan &graph, const std::vector<Section> &sections, ExecResources &resources,
    holoflow_event::Router &router, std::deque<Waker> &wakers) {
  nodes_.reserve(graph.nodes.size());
  for (const auto &plan : graph.nodes)
    add_node(plan, resources, router);
  add_links(sections, wakers);
  add_records(sections, resources.tensor_descs.size());
}

void NodeRuntimes::add_node(
    const NodePlan &plan, ExecResources &resources, holoflow_event::Router &router) {
  auto node = std::make_unique<NodeRuntime>();
  node->plan = &plan;
  node->task = resources.tasks.at(plan.spec.name).get();
  node->output = dynamic_cast<IFrameOutput *>(node->task);
  node->observer = dynamic_cast<IRunObserver *>(node->task);
  node->lender = dynamic_cast<IInputLender *>(node->task);
  if (plan.infer.kind == core::TaskKind::Sync) {
    node->sync = dynamic_cast<core::ISyncTask *>(node->task);
    node->events =
        std::make_unique<holoflow_event::Router::NodeHandles>(router.bind_node(plan.spec.name));
  } else {
    node->async = dynamic_cast<core::IAsyncTask *>(node->task);
  }
  node->adapter = resources.node_storage_adapters.at(plan.spec.name).get();
  const auto add_views = [&](const std::vector<core::TDesc> &descs,
                             const std::vector<core::Storage *> &storages,
                             std::vector<core::TView> &views) {
    for (size_t i = 0; i < descs.size(); ++i) {
      views.push_back({descs[i], storages[i]});
      const bool device = descs[i].mem_loc == core::MemLoc::Device;
      node->touches_device = node->touches_device || device;
      (device ? node->device_bytes : node->host_bytes) += descs[i].num_bytes();
    }
  };
  add_views(plan.infer.input_descs, node->adapter->inputs, node->inputs);
  add_views(plan.infer.output_descs, node->adapter->outputs, node->outputs);
  const auto on = [](const std::vector<core::TView> &views, core::MemLoc loc) {
    return std::any_of(views.begin(), views.end(), [&](const core::TView &view) {
      return view.desc.mem_loc == loc;
    });
  };
  node->uploads = on(node->inputs, core::MemLoc::Host) && on(node->outputs, core::MemLoc::Device);
  node->downloads = on(node->inputs, core::MemLoc::Device) && on(node->outputs, core::MemLoc::Host);
  node->owned_inputs = slots_of(plan.infer.owned_inputs);
  node->owned_outputs = slots_of(plan.infer.owned_outputs);
  for (size_t out = 0; out < plan.out_records.size(); ++out)
    if (plan.out_records[out].source == RecordPlan::Source::Merged)
      node->merged_outputs.push_back(out);
  nodes_.push_back(std::move(node));
}

void NodeRuntimes::add_links(const std::vector<Section> &sections, std::deque<Waker> &wakers) {
  std::vector<Waker *> producers(nodes_.size(), nullptr), consumers(nodes_.size(), nullptr);
  for (size_t id = 0; id < sections.size(); ++id) {
    for (const auto node : sections[id].async_prod)
      producers[node] = &wakers[id];
    for (const auto node : sections[id].async_cons)
      consumers[node] = &wakers[id];
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    auto &node = *nodes_[i];
    if (node.async == nullptr)
      continue;
    bool carries = false;
    for (const auto &records : node.plan->out_records)
      carries = carries || records.source == RecordPlan::Source::Fifo;
    AsyncLink::Options options;
    options.carries_records = carries;
    options.polled = node.observer == nullptr;
    options.lends_output = !node.owned_outputs.empty();
    if (const auto &window = node.plan->infer.window; window && !options.polled)
      options.releases_per_wake = std::max<size_t>(window->capacity / window->stride / 2, 1);
    node.link = std::make_unique<AsyncLink>(*node.async, producers[i], consumers[i], options);
  }
}

void NodeRuntimes::add_records(const std::vector<Section> &sections, size_t tensor_count) {
  // Tensors that a section reads but no task writes have no records; set 0 stands for them.
  record_sets_.emplace_back();
  std::vector<size_t> set_of(tensor_count, 0);
  for (const auto &section : sections)
    add_records(section, set_of);
  // A side without a section never runs; its spans are there all the same.
  for (auto &node : nodes_) {
    if (node->input_records.empty())
      node->input_records.emplace_back();
    if (node->output_records.empty())
      node->output_records.emplace_back();
  }
}

// Every iteration in flight has records of its own.
void NodeRuntimes::add_records(const Section &section, std::vector<size_t> &set_of) {
  const auto add_sets = [&](const NodeRuntime &node) {
    for (size_t out = 0; out < node.plan->out_records.size(); ++out) {
      const auto tid = static_cast<size_t>(node.plan->out_tids[out]);
      const auto &records = node.plan->out_records[out];
      if (records.source == RecordPlan::Source::FirstInput) {
        set_of[tid] = set_of[static_cast<size_t>(node.plan->in_tids[0])];
        continue;
      }
      set_of[tid] = record_sets_.size();
      record_sets_.emplace_back(records.count);
    }
  };
  const auto add_spans = [&](const std::vector<int> &tids, std::vector<RecordSpans> &spans) {
    auto &added = spans.emplace_back();
    for (const auto tid : tids)
      added.emplace_back(record_sets_[set_of[static_cast<size_t>(tid)]]);
  };
  for (size_t iteration = 0; iteration <= section.lag; ++iteration) {
    for (const auto *nodes : {&section.async_cons, &section.sync_topo})
      for (const auto index : *nodes) {
        auto &node = *nodes_[index];
        add_sets(node);
        add_spans(node.plan->out_tids, node.output_records);
        if (node.sync != nullptr)
          add_spans(node.plan->in_tids, node.input_records);
      }
    for (const auto index : section.async_prod)
      add_spans(nodes_[index]->plan->in_tids, nodes_[index]->input_records);
  }
}

}  // namespace holoflow::runtime
