// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 12: services for tasks.
#include <algorithm>

#include "holoflow/compiler/passes.hh"
#include "holoflow/core/logging.hh"

namespace holoflow::compiler {

void bind_task(
    core::ITask &task, const runtime::NodePlan &node, runtime::NodeStorageAdapter &adapter) {
  const auto any = [](const std::vector<bool> &mask) {
    return std::find(mask.begin(), mask.end(), true) != mask.end();
  };
  task.bind_logger(core::make_logger(node.spec.kind + "/" + node.spec.name));
  const bool owns = any(node.infer.owned_inputs) || any(node.infer.owned_outputs);
  task.bind_storage_access(owns ? &adapter : nullptr);
}

void bind_tasks(Plan &plan) {
  for (const auto &node : plan.graph.nodes)
    bind_task(*plan.tasks.at(node.spec.name), node, *plan.adapters.at(node.spec.name));
}

}  // namespace holoflow::compiler
