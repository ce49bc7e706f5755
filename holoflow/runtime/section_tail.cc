// SPDX-License-Identifier: LGPL-2.1-or-later
// The rest of the section runner: what each node touches, the tail that follows behind, the end.
#include <algorithm>

#include "holoflow/runtime/section_runner.hh"

namespace holoflow::runtime {

using core::OpResult;

namespace {

/// Whether an output is a view that its node never writes through.
bool is_view(const NodePlan &plan, const NodeStorageAdapter &adapter, size_t out) {
  return std::any_of(
      plan.infer.in_place.begin(), plan.infer.in_place.end(), [&](const core::InPlace &alias) {
        return static_cast<size_t>(alias.out_idx) == out && !alias.writes &&
            adapter.inputs[static_cast<size_t>(alias.in_idx)] == adapter.outputs[out];
      });
}

bool is_set(const std::vector<bool> &mask, size_t index) {
  return index < mask.size() && mask[index];
}

}  // namespace

void SectionRunner::make_steps(
    const Section &section, NodeRuntimes &nodes, const ExecResources &resources) {
  const auto is_tail = [&](size_t index) {
    return std::find(section.tail.begin(), section.tail.end(), index) != section.tail.end();
  };
  for (const auto index : section.async_cons)
    consumers_.push_back(make_step(nodes[index], false, resources));
  for (const auto index : section.sync_topo) {
    auto &list = is_tail(index) ? tail_ : nodes_;
    list.push_back(make_step(nodes[index], false, resources));
    has_sink_ = has_sink_ || nodes[index].outputs.empty();
  }
  for (const auto index : section.async_prod) {
    producers_.push_back(make_step(nodes[index], true, resources));
    const auto &infer = nodes[index].plan->infer;
    waits_before_push_ =
        waits_before_push_ || (!infer.synchronizes_producer_stream && !infer.hands_over_by_event);
  }
  for (auto &step : tail_)
    step.in_tail = true;
  // A slot that this section's stream reads may come again before it has been read.
  for (auto &producer : producers_)
    std::erase_if(producer.renewed, [&](size_t storage) {
      return std::any_of(nodes_.begin(), nodes_.end(), [&](const Step &step) {
        const auto &reads = step.stream.reads;
        return std::find(reads.begin(), reads.end(), storage) != reads.end();
      });
    });
}

// Storages on the device are ordered by the stream; only those that go back to a task which knows
// no events are waited for.
Step SectionRunner::make_step(
    NodeRuntime &node, bool producer_side, const ExecResources &resources) {
  Step step;
  step.node = &node;
  step.may_wait = node.sync != nullptr && (node.inputs.empty() || node.outputs.empty());
  if (device_ == nullptr)
    return step;
  const auto &plan = *node.plan;
  const bool by_event = plan.infer.hands_over_by_event;
  // An asynchronous task that orders device work itself touches owned slots by stream only.
  const bool on_stream = node.touches_device;
  step.enqueues = on_stream;
  const auto number_of = [&](int tid) {
    return order_.number_of(resources.tid_to_sid.at(static_cast<size_t>(tid)));
  };
  const auto on_host = [](const core::TView &view) {
    return view.desc.mem_loc == core::MemLoc::Host;
  };
  const bool inputs = node.sync != nullptr || producer_side;
  const bool outputs = node.sync != nullptr || !producer_side;
  for (size_t in = 0; inputs && in < node.inputs.size(); ++in) {
    const auto number = number_of(plan.in_tids[in]);
    const bool owned = is_set(plan.infer.owned_inputs, in);
    if (node.sync != nullptr && on_stream)
      step.stream.reads.push_back(number);
    else if (on_host(node.inputs[in]) && !(node.async != nullptr && owned && by_event))
      // Who owns its input takes the memory away: nobody may still read it either.
      (owned ? step.host.writes : step.host.reads).push_back(number);
    if (owned)
      step.renewed.push_back(number);
  }
  for (size_t out = 0; outputs && out < node.outputs.size(); ++out) {
    const auto number = number_of(plan.out_tids[out]);
    const bool owned = is_set(plan.infer.owned_outputs, out);
    if (owned) {
      step.renewed.push_back(number);
      step.released.writes.push_back(number);
    }
    if (is_view(plan, *node.adapter, out))
      continue;
    if (on_stream && !(node.async != nullptr && by_event))
      step.stream.writes.push_back(number);
    else if (on_host(node.outputs[out]) && !owned)
      step.host.writes.push_back(number);
  }
  return step;
}

void SectionRunner::collect_tail_storages(ExecResources &resources) {
  for (const auto &lagged : section_.lagged)
    repeated_.push_back(
        {resources.storages.at(lagged.sid).get(), resources.memory_blocks.at(lagged.sid).get(),
         lagged.stride, order_.number_of(lagged.sid)});
  const auto add = [&](core::Storage *storage) {
    if (std::find(tail_storages_.begin(), tail_storages_.end(), storage) == tail_storages_.end())
      tail_storages_.push_back(storage);
  };
  for (const auto &step : tail_) {
    for (auto *storage : step.node->adapter->inputs)
      add(storage);
    for (auto *storage : step.node->adapter->outputs)
      add(storage);
  }
  const auto tail_touches = [&](const core::Storage *storage) {
    return std::find(tail_storages_.begin(), tail_storages_.end(), storage) != tail_storages_.end();
  };
  for (auto *list : {&consumers_, &nodes_, &tail_})
    for (auto &step : *list)
      for (const auto slot : step.node->owned_outputs)
        step.released_by_tail = step.released_by_tail ||
            tail_touches(step.node->adapter->outputs[static_cast<size_t>(slot)]);
  // A release concerns every slot of its node.
  for (auto *list : {&consumers_, &nodes_, &tail_})
    for (auto &step : *list)
      for (const auto slot : step.node->owned_outputs)
        if (step.released_by_tail)
          add(step.node->adapter->outputs[static_cast<size_t>(slot)]);
  for (auto &iteration : iterations_)
    iteration.pointers.resize(tail_storages_.size());
}

// The iteration's device work is enqueued; what is left of it waits for that work.
OpResult SectionRunner::defer_tail() {
  auto &iteration = current();
  iteration.work = order_.mark();
  for (size_t i = 0; i < tail_storages_.size(); ++i)
    iteration.pointers[i] = tail_storages_[i]->ptr;
  ++begun_;
  in_progress_ = false;
  if (begun_ - outstanding_ <= section_.lag)
    return OpResult::Ok;
  auto result = finish_oldest();
  // The wait may have served the next ones too.
  while (result == OpResult::Ok && has_outstanding() &&
         order_.has_finished(iterations_[outstanding_ % iterations_.size()].work))
    result = finish_oldest();
  return result;
}

OpResult SectionRunner::finish_oldest() {
  const auto slot = outstanding_ % iterations_.size();
  auto &iteration = iterations_[slot];
  // The storages stand for the memory of that iteration while its tail runs.
  const auto swap_pointers = [&] {
    for (size_t i = 0; i < tail_storages_.size(); ++i)
      std::swap(iteration.pointers[i], tail_storages_[i]->ptr);
  };
  swap_pointers();
  auto result = OpResult::Cancelled;
  try {
    result = run_tail(iteration, slot);
  } catch (...) {
    tail_ended_ = true;
    swap_pointers();
    throw;
  }
  swap_pointers();
  tail_ended_ = result != OpResult::Ok;
  return result;
}

OpResult SectionRunner::run_tail(Iteration &iteration, size_t slot) {
  if (!tail_.empty())
    enter(*tail_.front().node, "waiting for the device");
  wait_until(iteration.work);
  for (auto &step : tail_)
    if (const auto result = execute(step, iteration, slot); result != OpResult::Ok)
      return result;
  release_outputs(iteration, true);
  iteration.clear();
  ++outstanding_;
  return OpResult::Ok;
}

OpResult SectionRunner::finish_all() {
  while (has_outstanding())
    if (const auto result = finish_oldest(); result != OpResult::Ok)
      return result;
  return OpResult::Ok;
}

// Frames that left a source or a queue for an iteration that did not finish are lost.
void SectionRunner::count_aborted_frames(const Iteration &iteration) {
  for (const auto *step : iteration.finished)
    if (auto *node = step->node; node->link != nullptr || node->inputs.empty())
      node->counters.aborted_frames += node->frames_taken_per_pop();
}

// One thing of several that have to be done at the end, whatever fails: the first error wins.
template <typename Function> void SectionRunner::attempt(const Function &function) {
  try {
    function();
  } catch (...) {
    state_.fail(describe_failure());
  }
}

// Iterations that did not finish, oldest first.
std::vector<Iteration *> SectionRunner::open_iterations() {
  std::vector<Iteration *> open;
  for (auto number = outstanding_; number < begun_; ++number)
    open.push_back(&iterations_[number % iterations_.size()]);
  if (in_progress_)
    open.push_back(&current());
  return open;
}

void SectionRunner::end(OpResult reason, bool failed) {
  // An Output counts the frames it has in hand itself.
  const auto in_sink = [&] {
    return current_node_ != nullptr && current_node_->sync != nullptr &&
        current_node_->outputs.empty();
  };
  const Iteration *counted = in_progress_ && !tail_ended_ && in_sink() ? &current() : nullptr;
  if (!failed && !tail_ended_)
    attempt([&] {
      failed = true;
      if (const auto result = finish_all(); result == OpResult::Cancelled)
        reason = result;
      failed = false;
    });
  // A task that gives up by itself stops the run: nobody behind it would learn of an end.
  if (!failed && reason == OpResult::Cancelled)
    state_.stop();
  if (tail_ended_ && in_sink())
    counted = &iterations_[outstanding_ % iterations_.size()];
  const auto open = open_iterations();
  for (const auto *iteration : open)
    if (iteration != counted)
      count_aborted_frames(*iteration);
  // A call that threw may have enqueued a part of its work before.
  if (failed)
    order_.enqueue({});
  // Device work may still read memory that the neighbours free or reuse.
  attempt([&] {
    if (!order_.is_behind())
      return;
    try {
      order_.wait_until(order_.all_work());
    } catch (...) {
      finish_quietly(*device_, section_.stream);
      failed = true;
      throw;
    }
  });
  attempt([&] { probe_.end_run(); });
  for (const auto *iteration : open)
    for (const auto &[node, slot] : iteration->acquired)
      attempt([&, node = node, slot = slot] {
        enter(*node, "abandon_input");
        give_back(*node, slot);
      });
  for (auto &step : producers_)
    attempt([&] {
      enter(*step.node, "end_of_input");
      if (reason == OpResult::Eof && !failed)
        step.node->link->producer_ended();
    });
  for (auto &step : consumers_)
    step.node->link->consumer_ended();
  for (auto *list : {&nodes_, &tail_})
    for (auto &step : *list)
      attempt([&] {
        enter(*step.node, "end_of_section");
        if (step.node->observer != nullptr)
          step.node->observer->end_of_section(reason == OpResult::Eof && !failed);
      });
}

}  // namespace holoflow::runtime
