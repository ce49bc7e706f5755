// SPDX-License-Identifier: LGPL-2.1-or-later
// Loans of an iteration.
#include "holoflow/runtime/lending.hh"

#include <algorithm>

namespace holoflow::runtime {

bool Lending::acquire(Iteration &iteration, const Step &step, int slot) {
  auto &node = *step.node;
  const bool discards = node.link != nullptr && node.link->consumer_gone();
  if (discards)
    lend_discard_memory(step, slot);
  else if (!node.acquire(slot))
    return false;
  // What is discarded goes to the same memory again and again.
  for (const auto storage : step.renewed)
    if (!discards)
      order_.renew(storage);
  iteration.acquired.push_back({&step, slot});
  return true;
}

void Lending::consumed(Iteration &iteration, const Step &step) {
  if (step.node->owned_inputs.empty())
    return;
  std::erase_if(
      iteration.acquired, [&](const Iteration::Loan &loan) { return loan.step == &step; });
}

void Lending::returned(Iteration &iteration, const Step &step) {
  const auto &slots = step.node->owned_outputs;
  for (const auto slot : slots)
    iteration.lent.push_back({&step, slot, slot == slots.back()});
}

void Lending::discard(Iteration &iteration, const Step &step) {
  for (const auto slot : step.node->owned_inputs)
    abandon({&step, slot});
  consumed(iteration, step);
  const auto frames = step.node->first_input_records(0).size();
  step.node->link->producer_discarded(std::max<size_t>(frames, 1));
}

void Lending::abandon(const Iteration::Loan &loan) {
  auto &node = *loan.step->node;
  place_.enter(*node.plan, "abandon_input");
  auto &storage = *node.adapter->inputs[static_cast<size_t>(loan.slot)];
  const auto discarded = discard_memory_.find(&storage);
  if (discarded != discard_memory_.end() && storage.ptr == discarded->second.get())
    storage.ptr = nullptr;
  else
    node.task->abandon_input(loan.slot);
}

void Lending::release(Iteration &iteration, Part part) {
  auto &lent = iteration.lent;
  const auto is_due = [&](const Iteration::Loan &loan) {
    return loan.step->released_by_tail == (part == Part::Tail);
  };
  // A call that throws has been made: it must not come again at the end of the run.
  for (auto loan = lent.begin(); loan != lent.end();) {
    if (!is_due(*loan)) {
      ++loan;
      continue;
    }
    const auto due = *loan;
    loan = lent.erase(loan);
    release(due);
  }
}

void Lending::release(const Iteration::Loan &loan) {
  auto &node = *loan.step->node;
  place_.enter(*node.plan, "release_output");
  if (!node.plan->infer.hands_over_by_event)
    waits_.before_host(loan.step->released);
  node.task->release_output(loan.slot);
  if (node.link != nullptr && loan.is_last_of_step)
    node.link->consumer_released();
}

void Lending::lend_discard_memory(const Step &step, int slot) {
  auto &storage = *step.node->adapter->inputs[static_cast<size_t>(slot)];
  auto &block = discard_memory_[&storage];
  if (block.get() == nullptr)
    block = MemoryBlock(device_, storage.mem_loc, storage.bytes);
  storage.ptr = block.get();
}

}  // namespace holoflow::runtime
