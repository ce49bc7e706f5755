// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 11: one task for every node, new or updated from the previous compile.
#include <algorithm>
#include <unordered_map>

#include "holoflow/compiler/passes.hh"
#include "holoflow/compiler/task_maker.hh"

namespace holoflow::compiler {

namespace {

constexpr const char *pass = "task instantiation";

std::unordered_map<std::string, size_t> nodes_by_name(const runtime::GraphPlan &graph) {
  std::unordered_map<std::string, size_t> result;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    result.emplace(graph.nodes[i].spec.name, i);
  return result;
}

void trace_call(Plan &plan, size_t node, std::chrono::steady_clock::time_point begin) {
  if (plan.config->verbose_tracing)
    plan.spans.push_back(
        {"create " + plan.graph.nodes[node].spec.name, "factory", begin,
         std::chrono::steady_clock::now()});
}

/// Gives the tasks of a failed commit back to the previous output.
class Undo {
public:
  Undo(Plan &plan, runtime::CompilerOutput &previous)
      : previous_(previous), maker_(site_of(plan, previous)),
        nodes_(nodes_by_name(previous.graph)) {}

  /// The task of `name` as it was: `task` updated back, or a new one.
  void restore(const std::string &name, std::unique_ptr<core::ITask> task) {
    const auto node = nodes_.at(name);
    auto restored = maker_.make(node, std::move(task));
    bind_task(
        *restored, previous_.graph.nodes[node],
        *previous_.resources.node_storage_adapters.at(name));
    previous_.resources.tasks.emplace(name, std::move(restored));
  }

private:
  runtime::CompilerOutput &previous_;
  TaskMaker maker_;
  std::unordered_map<std::string, size_t> nodes_;
};

/// The tasks of the first `done` nodes go back, newest first; where the next node's update failed
/// it has consumed its task, which is made anew. Returns why that failed too, or "".
std::string restore_previous(
    Plan &plan, runtime::CompilerOutput &previous, size_t done, bool next_failed) {
  try {
    Undo undo(plan, previous);
    const auto name = [&](size_t i) { return plan.graph.nodes[plan.reuse.tasks[i]].spec.name; };
    if (next_failed)
      undo.restore(name(done), nullptr);
    for (size_t i = done; i-- > 0;)
      undo.restore(name(i), std::move(plan.tasks.extract(name(i)).mapped()));
    return {};
  } catch (const std::exception &error) {
    return error.what();
  } catch (...) {
    return "something that is no std::exception was thrown";
  }
}

/// The sentence about an exception in flight.
std::string what_was_thrown() {
  try {
    throw;
  } catch (const std::exception &error) {
    return error.what();
  } catch (...) {
    return "it threw something that is no std::exception";
  }
}

/// The section that runs a synchronous node, or -1.
int section_of(const runtime::CompilerOutput &output, size_t node) {
  for (const auto &section : output.sections)
    if (std::find(section.sync_topo.begin(), section.sync_topo.end(), node) !=
        section.sync_topo.end())
      return section.id;
  return -1;
}

/// Whether the previous task of a node is what would be made anew: its work depends on its
/// descriptors, settings and addresses alone, and of these nothing changed. `old` is its index in
/// the previous graph.
bool can_keep(const Plan &plan, size_t node, size_t old) {
  const auto &now = plan.graph.nodes[node];
  const auto &before = plan.previous->graph.nodes[old];
  return now.infer.capturable && before.infer.capturable &&
      now.spec.settings == before.spec.settings &&
      now.infer.input_descs == before.infer.input_descs &&
      now.infer.output_descs == before.infer.output_descs &&
      plan.previous->report.device_index == plan.report.device_index &&
      plan.section_of[node] == section_of(*plan.previous, old);
}

/// Whether the section of a kept task has the stream that the task knows.
bool has_its_stream(const Plan &plan, size_t node) {
  const auto &streams = plan.reuse.streams;
  return plan.sections[static_cast<size_t>(plan.section_of[node])].device < 0 ||
      std::find(streams.begin(), streams.end(), plan.section_of[node]) != streams.end();
}

void take_kept_tasks(Plan &plan, runtime::CompilerOutput &previous) {
  for (const auto node : plan.reuse.kept)
    plan.tasks.insert(previous.resources.tasks.extract(plan.graph.nodes[node].spec.name));
}

void give_kept_tasks_back(Plan &plan, runtime::CompilerOutput *previous) {
  for (const auto node : plan.reuse.kept)
    if (previous != nullptr)
      previous->resources.tasks.insert(plan.tasks.extract(plan.graph.nodes[node].spec.name));
}

}  // namespace

void find_updates(Plan &plan) {
  if (plan.previous == nullptr)
    return;
  const auto previous = nodes_by_name(plan.previous->graph);
  for (size_t i = 0; i < plan.node_count(); ++i) {
    const auto &node = plan.graph.nodes[i];
    const auto found = previous.find(node.spec.name);
    if (found == previous.end())
      continue;
    const auto &old = plan.previous->graph.nodes[found->second];
    if (old.spec.kind != node.spec.kind || old.infer.kind != node.infer.kind)
      continue;
    if (can_update(plan.registry->get(node.spec.kind)))
      plan.reuse.tasks.push_back(i);
    else if (can_keep(plan, i, found->second))
      plan.reuse.kept.push_back(i);
  }
}

void create_tasks(Plan &plan) {
  std::erase_if(plan.reuse.kept, [&](size_t node) { return !has_its_stream(plan, node); });
  std::vector<bool> updated(plan.node_count(), false);
  for (const auto *nodes : {&plan.reuse.tasks, &plan.reuse.kept})
    for (const auto node : *nodes)
      updated[node] = true;
  plan.report.updated_tasks = plan.reuse.tasks.size();
  plan.report.kept_tasks = plan.reuse.kept.size();
  TaskMaker maker(site_of(plan));
  for (size_t i = 0; i < plan.node_count(); ++i) {
    if (updated[i])
      continue;
    const auto begin = std::chrono::steady_clock::now();
    try {
      plan.tasks.emplace(plan.graph.nodes[i].spec.name, maker.make(i, nullptr));
      ++plan.report.created_tasks;
    } catch (const core::DeviceError &error) {
      throw_with_bill(
          plan, "node " + quoted(plan.graph.nodes[i].spec) + ": create failed: ", error);
    } catch (...) {
      add_fault(
          plan, {.pass = pass, .node = static_cast<int>(i)}, core::Reason::CreateFailed,
          "create failed: " + what_was_thrown());
    }
    trace_call(plan, i, begin);
  }
}

void update_tasks(Plan &plan, std::unique_ptr<runtime::CompilerOutput> &previous) {
  if (previous == nullptr)
    return;
  take_kept_tasks(plan, *previous);
  TaskMaker maker(site_of(plan));
  auto &old_tasks = previous->resources.tasks;
  for (size_t i = 0; i < plan.reuse.tasks.size(); ++i) {
    const auto index = plan.reuse.tasks[i];
    const auto &name = plan.graph.nodes[index].spec.name;
    try {
      plan.tasks.emplace(name, maker.make(index, std::move(old_tasks.extract(name).mapped())));
    } catch (...) {
      const auto what = what_was_thrown();
      give_kept_tasks_back(plan, previous.get());
      const auto failure = restore_previous(plan, *previous, i, true);
      if (!failure.empty())
        previous.reset();
      add_fault(
          plan, {.pass = pass, .node = static_cast<int>(index)}, core::Reason::CreateFailed,
          "update failed: " + what +
              (failure.empty()
                   ? "; the previous graph stays as it was"
                   : "; the previous graph could not be restored (" + failure + ") and is gone"));
      return;
    }
  }
}

void undo_updates(Plan &plan, std::unique_ptr<runtime::CompilerOutput> &previous) {
  give_kept_tasks_back(plan, previous.get());
  if (previous != nullptr &&
      !restore_previous(plan, *previous, plan.reuse.tasks.size(), false).empty())
    previous.reset();
}

}  // namespace holoflow::compiler
