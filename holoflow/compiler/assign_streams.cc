// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 10: a stream for every section.
#include <algorithm>

#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

namespace {

/// Sections in which a task is made anew: making it puts work on their stream.
std::vector<bool> sections_with_new_tasks(const Plan &plan) {
  std::vector<bool> updated(plan.node_count(), false), result(plan.sections.size(), false);
  for (const auto *nodes : {&plan.reuse.tasks, &plan.reuse.kept})
    for (const auto node : *nodes)
      updated[node] = true;
  for (const auto &section : plan.sections)
    for (const auto *nodes : {&section.sync_topo, &section.async_prod, &section.async_cons})
      for (const auto node : *nodes)
        if (!updated[node])
          result[static_cast<size_t>(section.id)] = true;
  return result;
}

}  // namespace

void assign_streams(Plan &plan) {
  const bool on_gpu = plan.device->is_gpu() &&
      std::any_of(plan.tensor_descs.begin(), plan.tensor_descs.end(),
                  [](const core::TDesc &desc) { return desc.mem_loc == core::MemLoc::Device; });
  const auto has_new_tasks = sections_with_new_tasks(plan);
  for (auto &section : plan.sections) {
    section.device = on_gpu ? plan.device->index() : -1;
    if (!on_gpu) {
      plan.streams.emplace(section.id, runtime::Stream());
      continue;
    }
    const auto *previous = plan.previous == nullptr ? nullptr : &plan.previous->resources.streams;
    const bool reusable = previous != nullptr && previous->contains(section.id) &&
        previous->at(section.id).get() != nullptr &&
        previous->at(section.id).device() == plan.device &&
        !(plan.beside_previous && has_new_tasks[static_cast<size_t>(section.id)]);
    if (reusable) {
      section.stream = previous->at(section.id).get();
      plan.reuse.streams.push_back(section.id);
      ++plan.report.reused_streams;
    } else {
      runtime::Stream stream(*plan.device);
      section.stream = stream.get();
      plan.streams.emplace(section.id, std::move(stream));
      ++plan.report.created_streams;
    }
  }
}

}  // namespace holoflow::compiler
