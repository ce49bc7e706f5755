// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls factories with the context of a compiled graph, the new one or the previous one.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "holoflow/compiler/plan.hh"

namespace holoflow::compiler {

/// The graph that tasks are made for. Everything must outlive the maker.
struct TaskSite {
  const core::Registry &registry;
  const runtime::GraphPlan &graph;
  const std::vector<runtime::Section> &sections;
  std::function<size_t(int tid)> storage_bytes;
  core::MemLoc compute_location;
  const std::map<std::string, core::TDesc> &inputs;
  runtime::Device &device;
};

[[nodiscard]] TaskSite site_of(const Plan &plan);
[[nodiscard]] TaskSite site_of(const Plan &plan, const runtime::CompilerOutput &previous);

class TaskMaker {
public:
  explicit TaskMaker(TaskSite site);

  /// A new task for the node, or `old` brought up to date; its streams have no work left from
  /// making it. Throws what the factory throws, std::logic_error where it returns null.
  [[nodiscard]] std::unique_ptr<core::ITask> make(size_t node, std::unique_ptr<core::ITask> old);

private:
  struct Sides {
    const runtime::Section *own = nullptr;  ///< of synchronous nodes
    const runtime::Section *from = nullptr, *to = nullptr;  ///< of asynchronous nodes
  };

  [[nodiscard]] core::SyncCreateCtx sync_context(size_t node) const;
  [[nodiscard]] core::AsyncCreateCtx async_context(size_t node) const;
  [[nodiscard]] std::vector<size_t> owned_input_bytes(size_t node) const;
  void settle(cudaStream_t stream) const;
  template <typename Contextual, typename Task, typename Factory, typename Context>
  std::unique_ptr<Task> call(
      size_t node, const Factory &factory, const Context &context, std::unique_ptr<Task> old) const;

  TaskSite site_;
  std::vector<Sides> sides_;  // by node
};

/// Whether the factory's tasks may be updated; those of this library are kept or made anew.
[[nodiscard]] bool can_update(const core::ITaskFactory &factory);

}  // namespace holoflow::compiler
