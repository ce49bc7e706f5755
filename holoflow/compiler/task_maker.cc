// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/compiler/task_maker.hh"

#include <stdexcept>

namespace holoflow::compiler {

namespace {

cudaStream_t stream_of(const runtime::Section *section) {
  return section == nullptr ? nullptr : section->stream;
}

/// `Task` out of `base` if it is one; otherwise base is destroyed.
template <typename Task> std::unique_ptr<Task> take_as(std::unique_ptr<core::ITask> base) {
  auto *task = dynamic_cast<Task *>(base.get());
  if (task != nullptr)
    (void)base.release();
  return std::unique_ptr<Task>(task);
}

}  // namespace

TaskSite site_of(const Plan &plan) {
  return {
      *plan.registry,
      plan.graph,
      plan.sections,
      [&plan](int tid) { return plan.storage_bytes[static_cast<size_t>(plan.sid_of(tid))]; },
      plan.compute_location,
      plan.config->inputs,
      *plan.device};
}

TaskSite site_of(const Plan &plan, const runtime::CompilerOutput &previous) {
  return {
      *plan.registry,
      previous.graph,
      previous.sections,
      [&previous](int tid) {
        const auto sid = previous.resources.tid_to_sid[static_cast<size_t>(tid)];
        return previous.resources.storages.at(sid)->bytes;
      },
      previous.compute_location,
      previous.inputs,
      previous.report.device_index < 0 ? runtime::host_device()
                                       : runtime::cuda_device(previous.report.device_index)};
}

bool can_update(const core::ITaskFactory &factory) {
  return dynamic_cast<const tasks::IContextualFactory *>(&factory) == nullptr;
}

TaskMaker::TaskMaker(TaskSite site) : site_(std::move(site)), sides_(site_.graph.nodes.size()) {
  for (const auto &section : site_.sections) {
    for (const auto node : section.sync_topo)
      sides_[node].own = &section;
    for (const auto node : section.async_prod)
      sides_[node].from = &section;
    for (const auto node : section.async_cons)
      sides_[node].to = &section;
  }
}

std::vector<size_t> TaskMaker::owned_input_bytes(size_t node) const {
  std::vector<size_t> bytes;
  for (const auto tid : site_.graph.nodes[node].in_tids)
    bytes.push_back(site_.storage_bytes(tid));
  return bytes;
}

core::SyncCreateCtx TaskMaker::sync_context(size_t index) const {
  const auto &node = site_.graph.nodes[index];
  const auto &section = *sides_[index].own;
  return {
      section.stream, section.device, node.infer.owned_inputs, node.infer.owned_outputs,
      owned_input_bytes(index)};
}

core::AsyncCreateCtx TaskMaker::async_context(size_t index) const {
  const auto &node = site_.graph.nodes[index];
  const auto &[own, from, to] = sides_[index];
  const auto *side = from != nullptr ? from : to;
  return {
      stream_of(from),
      stream_of(to),
      side == nullptr ? -1 : side->device,
      node.infer.owned_inputs,
      node.infer.owned_outputs,
      owned_input_bytes(index),
      node.min_slots};
}

void TaskMaker::settle(cudaStream_t stream) const {
  if (stream != nullptr)
    site_.device.synchronize(stream);
}

template <typename Contextual, typename Task, typename Factory, typename Context>
std::unique_ptr<Task> TaskMaker::call(
    size_t index, const Factory &factory, const Context &context, std::unique_ptr<Task> old) const {
  const auto &node = site_.graph.nodes[index];
  const auto &inputs = node.infer.input_descs;
  if (const auto *contextual = dynamic_cast<const Contextual *>(&factory)) {
    old.reset();
    const tasks::InferContext infer_context{
        site_.compute_location, node.spec.name, &site_.inputs, node.min_slots};
    return contextual->create_in(infer_context, inputs, node.spec.settings, context);
  }
  if (old != nullptr)
    return factory.update(std::move(old), inputs, node.spec.settings, context);
  return factory.create(inputs, node.spec.settings, context);
}

std::unique_ptr<core::ITask> TaskMaker::make(size_t index, std::unique_ptr<core::ITask> old) {
  const auto &node = site_.graph.nodes[index];
  const char *phase = old == nullptr ? "create" : "update";
  std::unique_ptr<core::ITask> task;
  if (node.infer.kind == core::TaskKind::Async) {
    const auto context = async_context(index);
    task = call<tasks::IContextualAsyncFactory>(
        index, site_.registry.get_async(node.spec.kind), context,
        take_as<core::IAsyncTask>(std::move(old)));
    settle(context.producer_stream);
    settle(context.consumer_stream);
  } else {
    const auto context = sync_context(index);
    task = call<tasks::IContextualSyncFactory>(
        index, site_.registry.get_sync(node.spec.kind), context,
        take_as<core::ISyncTask>(std::move(old)));
    settle(context.stream);
  }
  if (task == nullptr)
    throw std::logic_error(
        std::string("the factory of this type broke its contract: ") + phase + " returned null");
  return task;
}

}  // namespace holoflow::compiler
