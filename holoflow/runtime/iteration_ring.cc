// SPDX-License-Identifier: LGPL-2.1-or-later
// Iterations in turn.
#include "holoflow/runtime/iteration_ring.hh"

#include <utility>

namespace holoflow::runtime {

IterationRing::IterationRing(
    const Section &section, const SectionSteps &steps, ExecResources &resources)
    : iterations_(section.lag + 1) {
  for (const auto &lagged : section.lagged)
    repeated_.push_back(
        {resources.storages.at(lagged.sid).get(), resources.memory_blocks.at(lagged.sid).get(),
         lagged.stride});
  for (const auto sid : steps.tail_storages)
    tail_storages_.push_back(resources.storages.at(sid).get());
  memory_.assign(iterations_.size(), std::vector<std::byte *>(tail_storages_.size()));
}

void IterationRing::reset() {
  for (auto &iteration : iterations_)
    iteration.clear();
  begun_ = outstanding_ = 0;
  in_progress_ = false;
}

void IterationRing::begin() {
  current().clear();
  in_progress_ = true;
  for (const auto &repeated : repeated_)
    repeated.storage->ptr = repeated.first + current_slot() * repeated.stride;
}

void IterationRing::complete() {
  current().clear();
  in_progress_ = false;
}

void IterationRing::defer(uint64_t work) {
  current().work = work;
  auto &memory = memory_[current_slot()];
  for (size_t i = 0; i < tail_storages_.size(); ++i)
    memory[i] = tail_storages_[i]->ptr;
  ++begun_;
  in_progress_ = false;
}

void IterationRing::complete_oldest() {
  oldest().clear();
  ++outstanding_;
}

std::vector<Iteration *> IterationRing::open() {
  std::vector<Iteration *> open;
  for (auto number = outstanding_; number < begun_; ++number)
    open.push_back(&iterations_[number % iterations_.size()]);
  if (in_progress_)
    open.push_back(&current());
  return open;
}

void IterationRing::swap_memory(size_t slot) {
  auto &memory = memory_[slot];
  for (size_t i = 0; i < tail_storages_.size(); ++i)
    std::swap(memory[i], tail_storages_[i]->ptr);
}

}  // namespace holoflow::runtime
