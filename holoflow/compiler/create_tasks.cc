// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 11: one task for every node, new or updated from the previous compile.
#include <stdexcept>

#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

namespace {

bool is_async(const runtime::NodePlan &node) {
  return node.infer.kind == core::TaskKind::Async;
}

cudaStream_t stream_of(const Plan &plan, int section) {
  return section < 0 ? nullptr : plan.sections[static_cast<size_t>(section)].stream;
}

std::vector<size_t> owned_input_bytes(const Plan &plan, const runtime::NodePlan &node) {
  std::vector<size_t> bytes;
  for (const auto tid : node.in_tids)
    bytes.push_back(plan.storages.at(plan.sid_of(tid))->bytes);
  return bytes;
}

core::SyncCreateCtx sync_context(const Plan &plan, size_t index) {
  const auto &node = plan.graph.nodes[index];
  const auto &section = plan.sections[static_cast<size_t>(plan.section_of[index])];
  return {
      section.stream, section.device, node.infer.owned_inputs, node.infer.owned_outputs,
      owned_input_bytes(plan, node)};
}

core::AsyncCreateCtx async_context(const Plan &plan, size_t index) {
  const auto &node = plan.graph.nodes[index];
  const auto from = plan.producer_section[index], to = plan.consumer_section[index];
  const auto side = from >= 0 ? from : to;
  const int device = side < 0 ? -1 : plan.sections[static_cast<size_t>(side)].device;
  return {stream_of(plan, from),   stream_of(plan, to),      device,
          node.infer.owned_inputs, node.infer.owned_outputs, owned_input_bytes(plan, node)};
}

/// Work that a task enqueued while it was made has finished before the compile returns.
void settle(const Plan &plan, cudaStream_t stream) {
  if (stream != nullptr)
    plan.device->synchronize(stream);
}

/// A new task, or the old one brought up to date. Factories that take the compile's context make
/// their tasks anew: only their create knows it.
template <typename Contextual, typename Task, typename Factory, typename Context>
std::unique_ptr<Task> make_from(
    const Plan &plan, size_t index, const Factory &factory, const Context &context,
    std::unique_ptr<Task> old) {
  const auto &node = plan.graph.nodes[index];
  const auto &inputs = node.infer.input_descs;
  if (const auto *contextual = dynamic_cast<const Contextual *>(&factory)) {
    old.reset();
    return contextual->create_in(plan.context(index), inputs, node.spec.settings, context);
  }
  if (old != nullptr)
    return factory.update(std::move(old), inputs, node.spec.settings, context);
  return factory.create(inputs, node.spec.settings, context);
}

std::unique_ptr<core::ITask> make_sync(
    const Plan &plan, size_t index, std::unique_ptr<core::ISyncTask> old) {
  const auto context = sync_context(plan, index);
  auto task = make_from<tasks::IContextualSyncFactory>(
      plan, index, plan.registry->get_sync(plan.graph.nodes[index].spec.kind), context,
      std::move(old));
  settle(plan, context.stream);
  return task;
}

std::unique_ptr<core::ITask> make_async(
    const Plan &plan, size_t index, std::unique_ptr<core::IAsyncTask> old) {
  const auto context = async_context(plan, index);
  auto task = make_from<tasks::IContextualAsyncFactory>(
      plan, index, plan.registry->get_async(plan.graph.nodes[index].spec.kind), context,
      std::move(old));
  settle(plan, context.producer_stream);
  settle(plan, context.consumer_stream);
  return task;
}

/// `Task` out of `base` if it is one; otherwise base is destroyed.
template <typename Task> std::unique_ptr<Task> take_as(std::unique_ptr<core::ITask> base) {
  auto *task = dynamic_cast<Task *>(base.get());
  if (task != nullptr)
    (void)base.release();
  return std::unique_ptr<Task>(task);
}

void make_task(Plan &plan, size_t index, std::unique_ptr<core::ITask> old) {
  const auto &node = plan.graph.nodes[index];
  const char *phase = old == nullptr ? "create" : "update";
  std::unique_ptr<core::ITask> task;
  try {
    task = is_async(node) ? make_async(plan, index, take_as<core::IAsyncTask>(std::move(old)))
                          : make_sync(plan, index, take_as<core::ISyncTask>(std::move(old)));
  } catch (const core::DeviceError &) {
    throw;
  } catch (const std::exception &error) {
    add_fault(
        plan, {.pass = "task instantiation", .node = static_cast<int>(index)},
        std::string(phase) + " failed: " + error.what());
    return;
  }
  if (task == nullptr) {
    add_fault(
        plan, {.pass = "task instantiation", .node = static_cast<int>(index)},
        std::string("the factory of this type broke its contract: ") + phase + " returned null");
    return;
  }
  plan.tasks.emplace(node.spec.name, std::move(task));
}

/// Same name, same type, same interface.
bool has_previous(
    const Plan &plan, const std::map<std::string, std::string> &previous_kinds,
    const runtime::NodePlan &node) {
  const auto kind = previous_kinds.find(node.spec.name);
  if (kind == previous_kinds.end() || kind->second != node.spec.kind)
    return false;
  const auto task = plan.previous->resources.tasks.find(node.spec.name);
  if (task == plan.previous->resources.tasks.end())
    return false;
  const bool was_async = dynamic_cast<core::IAsyncTask *>(task->second.get()) != nullptr;
  return was_async == is_async(node);
}

}  // namespace

void create_tasks(Plan &plan) {
  std::map<std::string, std::string> previous_kinds;
  if (plan.previous != nullptr)
    for (const auto &node : plan.previous->graph.nodes)
      previous_kinds.emplace(node.spec.name, node.spec.kind);
  for (size_t i = 0; i < plan.node_count(); ++i) {
    if (has_previous(plan, previous_kinds, plan.graph.nodes[i])) {
      plan.reuse.tasks.push_back(i);
      ++plan.report.updated_tasks;
      continue;
    }
    make_task(plan, i, nullptr);
    ++plan.report.created_tasks;
  }
}

void update_tasks(Plan &plan, std::map<std::string, std::unique_ptr<core::ITask>> &previous_tasks) {
  for (const auto index : plan.reuse.tasks) {
    auto node = previous_tasks.extract(plan.graph.nodes[index].spec.name);
    make_task(plan, index, std::move(node.mapped()));
  }
}

}  // namespace holoflow::compiler
