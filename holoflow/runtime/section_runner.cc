// SPDX-License-Identifier: LGPL-2.1-or-later
// One iteration of a section in six steps, and how it waits.
#include "holoflow/runtime/section_runner.hh"

#include <algorithm>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_fault.hh"

namespace holoflow::runtime {

using core::OpResult;

namespace {

constexpr std::chrono::microseconds first_back_off{50};
constexpr std::chrono::microseconds last_back_off{20'000};

}  // namespace

SectionRunner::SectionRunner(
    const Section &section, NodeRuntimes &nodes, Waker &waker, RunState &state,
    ExecResources &resources)
    : section_(section), waker_(waker), state_(state),
      device_(section.device < 0 ? nullptr : resources.streams.at(section.id).device()),
      order_(device_ == nullptr ? host_device() : *device_, section.stream),
      probe_(device_, section.stream), iterations_(section.lag + 1) {
  make_steps(section, nodes, resources);
  collect_tail_storages(resources);
}

void SectionRunner::run() noexcept {
  try {
    std::optional<DeviceScope> scope;
    auto reason = OpResult::Cancelled;
    bool failed = false;
    try {
      if (device_ != nullptr)
        scope.emplace(*device_);
      probe_.begin_run(&trace);
      reason = loop();
    } catch (...) {
      failed = true;
      state_.fail(describe_failure());
    }
    end(reason, failed);
  } catch (...) {
    state_.fail(describe_failure());
  }
}

OpResult SectionRunner::loop() {
  for (auto &iteration : iterations_)
    iteration.clear();
  begun_ = outstanding_ = 0;
  in_progress_ = tail_ended_ = false;
  order_.begin_run();
  for (;;) {
    const auto result = iterate();
    if (result != OpResult::Ok)
      return result;
  }
}

OpResult SectionRunner::iterate() {
  begin_iteration();
  auto result = acquire_inputs();
  if (result == OpResult::Ok)
    result = pop_consumers();
  if (result == OpResult::Ok)
    result = execute_nodes();
  if (result != OpResult::Ok)
    return result;
  wait_before_push();
  result = push_producers();
  if (result != OpResult::Ok)
    return result;
  if (!section_.overlap)
    wait_until(order_.all_work());
  release_outputs(current(), false);
  probe_.end_iteration();
  if (tail_.empty()) {
    current().clear();
    in_progress_ = false;
  } else {
    result = defer_tail();
  }
  if (result != OpResult::Ok)
    return result;
  return everyone_behind_has_ended() ? OpResult::Eof : OpResult::Ok;
}

// The iteration that had these pieces before has ended: its work has been waited for.
void SectionRunner::begin_iteration() {
  current().clear();
  in_progress_ = true;
  probe_.begin_iteration(state_.measuring.load(std::memory_order_relaxed));
  for (const auto &repeated : repeated_) {
    repeated.storage->ptr = repeated.first + current_slot() * repeated.stride;
    order_.renew(repeated.number);
  }
}

// Step 1: writable memory for every owned input, before anything upstream writes into it.
OpResult SectionRunner::acquire_inputs() {
  for (auto *list : {&nodes_, &tail_, &producers_})
    for (auto &step : *list)
      for (const auto slot : step.node->owned_inputs)
        if (const auto result = acquire(step, slot); result != OpResult::Ok)
          return result;
  return OpResult::Ok;
}

OpResult SectionRunner::acquire(Step &step, int slot) {
  auto &node = *step.node;
  back_off_ = first_back_off;
  for (;;) {
    enter(node, "acquire_input");
    if (state_.cancelled)
      return OpResult::Cancelled;
    const auto epoch = waker_.epoch();
    const bool discards = node.link != nullptr && node.link->consumer_gone();
    if (discards)
      lend_discard_memory(node, slot);
    if (discards || node.acquire(slot)) {
      // What is discarded goes to the same memory again and again.
      for (const auto storage : step.renewed)
        if (!discards)
          order_.renew(storage);
      current().acquired.push_back({&node, slot});
      return OpResult::Ok;
    }
    if (has_outstanding()) {
      if (const auto result = finish_oldest(); result != OpResult::Ok)
        return result;
    } else {
      sleep(node, Probe::Wait::Downstream, epoch, node.link == nullptr || node.link->polled());
    }
  }
}

// Step 2: one item from every queue that ends here.
OpResult SectionRunner::pop_consumers() {
  for (auto &step : consumers_)
    if (const auto result = pop(step); result != OpResult::Ok)
      return result;
  return OpResult::Ok;
}

OpResult SectionRunner::pop(Step &step) {
  auto &node = *step.node;
  back_off_ = first_back_off;
  const auto slot = current_slot();
  core::AsyncPopCtx context{node.outputs, &state_.cancelled, node.output_records[slot]};
  before_host(step.host);
  for (;;) {
    enter(node, "try_pop");
    if (state_.cancelled)
      return OpResult::Cancelled;
    const auto epoch = waker_.epoch();
    const auto begin = probe_.now();
    const auto result = [&] {
      const auto range = probe_.range(node);
      return node.async->try_pop(context);
    }();
    if (result == OpResult::Ok) {
      for (const auto storage : step.renewed)
        order_.renew(storage);
      if (step.enqueues)
        enqueued(step);
      node.link->consumer_popped(
          node.link->carries_records() ? node.first_output_records(slot)
                                       : std::span<core::FrameRecord>(),
          node.frames_per_pop(), node.frames_taken_per_pop());
      ++node.counters.runs;
      probe_.ran(node, "pop", begin);
      count_fill(node);
      current().finished.push_back(&step);
      return OpResult::Ok;
    }
    if (result != OpResult::NotReady)
      return result;
    if (has_outstanding()) {
      if (const auto finished = finish_oldest(); finished != OpResult::Ok)
        return finished;
      continue;
    }
    if (node.link->consumer_is_drained(AsyncLink::Clock::now()))
      return OpResult::Eof;
    sleep(node, Probe::Wait::Upstream, epoch, node.link->polled(), node.async->ready_at());
  }
}

// Step 3: the synchronous nodes in order, but for the tail.
OpResult SectionRunner::execute_nodes() {
  probe_.before_nodes();
  for (auto &step : nodes_) {
    // A source may sleep for long.
    if (step.node->inputs.empty() && has_outstanding() && !step.node->sync->ready())
      if (const auto result = finish_all(); result != OpResult::Ok)
        return result;
    if (state_.cancelled)
      return OpResult::Cancelled;
    if (const auto result = execute(step, current(), current_slot()); result != OpResult::Ok)
      return result;
  }
  return OpResult::Ok;
}

OpResult SectionRunner::execute(Step &step, Iteration &iteration, size_t slot) {
  auto &node = *step.node;
  enter(node, "execute");
  // Behind the tail's wait nothing touches what it reads.
  if (!step.in_tail)
    before_host(step.host);
  core::SyncCtx context{
      node.inputs,
      node.outputs,
      &state_.cancelled,
      &node.events->writer,
      &node.events->reader,
      node.input_records[slot],
      node.output_records[slot]};
  // A source that has nothing waits inside.
  const bool waits = probe_.is_measuring() && node.inputs.empty() && !node.sync->ready();
  if (step.may_wait)
    announce_room();
  const auto begin = waits ? probe_.begin_wait() : probe_.now();
  const auto result = [&] {
    const auto range = probe_.range(node);
    return node.sync->execute(context);
  }();
  if (waits)
    probe_.waited(Probe::Wait::Upstream, &node, begin);
  else
    probe_.ran(node, "execute", begin);
  if (!step.in_tail)
    for (const auto storage : step.renewed)
      order_.renew(storage);
  if (step.enqueues) {
    order_.enqueue(step.stream);
    probe_.enqueued(node);
  }
  ++node.counters.runs;
  if (result == OpResult::NotReady)
    throw std::logic_error(
        "a synchronous task returned NotReady; only asynchronous tasks may, " +
        node.plan->spec.kind + " must wait, finish or throw");
  if (result != OpResult::Ok)
    return result;
  consumed_inputs(iteration, node);
  write_records(node, slot);
  iteration.finished.push_back(&step);
  return result;
}

// Step 4: an ordinary asynchronous producer reads finished work only. Tasks that synchronise the
// stream themselves come first in the list, so their wait may serve the rest.
void SectionRunner::wait_before_push() {
  if (waits_before_push_ || !section_.overlap)
    wait_until(order_.all_work());
}

// Step 5: one item into every queue that begins here.
OpResult SectionRunner::push_producers() {
  for (auto &step : producers_)
    if (const auto result = push(step); result != OpResult::Ok)
      return result;
  return OpResult::Ok;
}

OpResult SectionRunner::push(Step &step) {
  auto &node = *step.node;
  enter(node, "try_push");
  back_off_ = first_back_off;
  const auto slot = current_slot();
  core::AsyncPushCtx context{node.inputs, &state_.cancelled, node.input_records[slot]};
  before_host(step.host);
  node.link->producer_pushes(node.first_input_records(slot));
  for (;;) {
    if (state_.cancelled)
      return OpResult::Cancelled;
    const auto epoch = waker_.epoch();
    if (node.link->consumer_gone()) {
      discard(node);
      return OpResult::Ok;
    }
    const auto begin = probe_.now();
    const auto result = [&] {
      const auto range = probe_.range(node);
      return node.async->try_push(context);
    }();
    if (result == OpResult::Ok) {
      probe_.ran(node, "push", begin);
      consumed_inputs(current(), node);
      node.link->producer_pushed(node.first_input_records(slot).size());
      if (node.plan->infer.synchronizes_producer_stream)
        order_.all_finished();
      else if (step.enqueues)
        enqueued(step);
      return OpResult::Ok;
    }
    if (result != OpResult::NotReady)
      return result;
    if (has_outstanding()) {
      if (const auto finished = finish_oldest(); finished != OpResult::Ok)
        return finished;
      enter(node, "try_push");
    } else {
      sleep(node, Probe::Wait::Downstream, epoch, node.link->polled());
    }
  }
}

// An asynchronous task has put work on the stream. Those that hand over by event mark it
// themselves.
void SectionRunner::enqueued(const Step &step) {
  if (step.node->plan->infer.hands_over_by_event)
    order_.assume_enqueued();
  else
    order_.enqueue(step.stream);
}

// Step 6: memory that queues and sources lent goes back; what the tail reads, behind it.
void SectionRunner::release_outputs(Iteration &iteration, bool of_tail) {
  for (auto *step : iteration.finished) {
    auto &node = *step->node;
    if (node.owned_outputs.empty() || step->released_by_tail != of_tail)
      continue;
    enter(node, "release_output");
    if (!node.plan->infer.hands_over_by_event)
      before_host(step->released);
    for (const auto slot : node.owned_outputs)
      node.task->release_output(slot);
    if (node.link != nullptr)
      node.link->consumer_released();
  }
}

void SectionRunner::give_back(NodeRuntime &node, int slot) {
  auto &storage = *node.adapter->inputs[static_cast<size_t>(slot)];
  const auto discarded = discard_memory_.find(&storage);
  if (discarded != discard_memory_.end() && storage.ptr == discarded->second.get())
    storage.ptr = nullptr;
  else
    node.task->abandon_input(slot);
}

void SectionRunner::discard(NodeRuntime &node) {
  for (const auto slot : node.owned_inputs)
    give_back(node, slot);
  consumed_inputs(current(), node);
  node.link->producer_discarded(std::max<size_t>(node.first_input_records(0).size(), 1));
}

void SectionRunner::lend_discard_memory(NodeRuntime &node, int slot) {
  auto &storage = *node.adapter->inputs[static_cast<size_t>(slot)];
  auto &block = discard_memory_[&storage];
  auto &device = device_ == nullptr ? host_device() : *device_;
  if (block.get() == nullptr)
    block = MemoryBlock(device, storage.mem_loc, storage.bytes);
  storage.ptr = block.get();
}

void SectionRunner::consumed_inputs(Iteration &iteration, const NodeRuntime &node) {
  if (node.owned_inputs.empty())
    return;
  std::erase_if(iteration.acquired, [&](const Iteration::Acquired &acquired) {
    return acquired.node == &node;
  });
}

void SectionRunner::write_records(NodeRuntime &node, size_t slot) {
  using Source = RecordPlan::Source;
  for (size_t out = 0; out < node.plan->out_records.size(); ++out) {
    const auto &plan = node.plan->out_records[out];
    if (plan.source != Source::Merged)
      continue;
    const auto inputs = node.first_input_records(slot);
    const auto newest = std::find_if(inputs.rbegin(), inputs.rend(), [](const auto &record) {
      return (record.flags & core::FrameRecord::Padding) == 0;
    });
    auto &record = node.output_records[slot][out].front();
    record = newest == inputs.rend() ? inputs.back() : *newest;
    if (record.duration_ns > 0)
      record.duration_ns *= static_cast<int64_t>(plan.stride);
  }
}

bool SectionRunner::everyone_behind_has_ended() const {
  if (has_sink_ || producers_.empty())
    return false;
  return std::all_of(producers_.begin(), producers_.end(), [](const Step &step) {
    return step.node->link->consumer_gone();
  });
}

void SectionRunner::before_host(const Access &access) {
  wait_until(order_.work_before_host(access));
}

// Returns at once where that work is known to have finished.
void SectionRunner::wait_until(uint64_t work) {
  if (order_.has_finished(work))
    return;
  announce_room();
  const auto begin = probe_.begin_wait();
  order_.wait_until(work);
  probe_.waited(Probe::Wait::Device, nullptr, begin);
}

// Producers may sleep until there is more room; nobody sleeps while they do.
void SectionRunner::announce_room() {
  for (const auto &step : consumers_)
    step.node->link->announce();
}

// How many frames a queue holds behind a pop.
void SectionRunner::count_fill(NodeRuntime &node) {
  if (!probe_.is_on())
    return;
  const auto in = node.link->frames_in(), out = node.link->frames_taken();
  node.counters.fill_sum += in > out ? in - out : 0;
  ++node.counters.fill_samples;
}

void SectionRunner::sleep(
    NodeRuntime &node, Probe::Wait wait, uint64_t epoch, bool polled,
    std::optional<Waker::Clock::time_point> deadline) {
  if (!deadline && polled) {
    deadline = Waker::Clock::now() + back_off_;
    back_off_ = std::min(2 * back_off_, last_back_off);
  }
  announce_room();
  const auto begin = probe_.begin_wait();
  waker_.wait(epoch, deadline);
  probe_.waited(wait, &node, begin);
}

std::exception_ptr SectionRunner::describe_failure() const {
  std::string message;
  try {
    throw;
  } catch (const std::exception &error) {
    message = error.what();
  } catch (...) {
    message = "an exception that is no std::exception";
  }
  std::string place = "running: ";
  std::string name;
  if (current_node_ != nullptr) {
    const auto &spec = current_node_->plan->spec;
    name = spec.name;
    place += "node " + core::quote(spec.name) + " (" + core::printable(spec.kind) + "), " +
        current_phase_ + ", in ";
  }
  core::TaskError error(place + section_.name + ": " + message);
  error.pass = "running";
  error.node = name;
  return std::make_exception_ptr(error);
}

}  // namespace holoflow::runtime
