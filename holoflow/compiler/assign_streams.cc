// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 10: a stream for every section.
#include <algorithm>

#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

void assign_streams(Plan &plan) {
  const bool on_gpu = plan.device->is_gpu() &&
      std::any_of(plan.tensor_descs.begin(), plan.tensor_descs.end(),
                  [](const core::TDesc &desc) { return desc.mem_loc == core::MemLoc::Device; });
  for (auto &section : plan.sections) {
    section.device = on_gpu ? plan.device->index() : -1;
    if (!on_gpu) {
      plan.streams.emplace(section.id, runtime::Stream());
      continue;
    }
    const auto *previous = plan.previous == nullptr ? nullptr : &plan.previous->resources.streams;
    const bool reusable = previous != nullptr && previous->contains(section.id) &&
        previous->at(section.id).get() != nullptr &&
        previous->at(section.id).device() == plan.device;
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
