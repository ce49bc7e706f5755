// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 8: each node's slots and their storages.
#include <stdexcept>

#include "holoflow/compiler/passes.hh"

namespace holoflow::runtime {

namespace {

core::Storage &owned_storage(
    const std::vector<core::Storage *> &storages, const std::vector<bool> &owned, size_t index,
    const char *side) {
  if (index >= storages.size() || !owned[index])
    throw std::out_of_range(
        std::string("this task owns no ") + side + " slot " + std::to_string(index));
  return *storages[index];
}

}  // namespace

core::Storage &NodeStorageAdapter::owned_input_storage(size_t index) {
  return owned_storage(inputs, owned_inputs, index, "input");
}

core::Storage &NodeStorageAdapter::owned_output_storage(size_t index) {
  return owned_storage(outputs, owned_outputs, index, "output");
}

}  // namespace holoflow::runtime

namespace holoflow::compiler {

void attach_adapters(Plan &plan) {
  for (const auto &node : plan.graph.nodes) {
    auto adapter = std::make_unique<runtime::NodeStorageAdapter>();
    for (const auto tid : node.in_tids)
      adapter->inputs.push_back(plan.storages.at(plan.sid_of(tid)).get());
    for (const auto tid : node.out_tids)
      adapter->outputs.push_back(plan.storages.at(plan.sid_of(tid)).get());
    adapter->owned_inputs = node.infer.owned_inputs;
    adapter->owned_outputs = node.infer.owned_outputs;
    plan.adapters.emplace(node.spec.name, std::move(adapter));
  }
}

}  // namespace holoflow::compiler
