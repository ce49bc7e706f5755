// SPDX-License-Identifier: LGPL-2.1-or-later
// One iteration of a section in six steps, and how it waits.
//
// With one set of buffers per section an iteration waits for its device work at three places:
// before a host node, before an asynchronous producer that does not order device work itself, and
// before slots go back.
#include "holoflow/runtime/section_runner.hh"

#include <algorithm>

#include "holoflow/core/error.hh"

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
      device_(section.device < 0 ? nullptr : resources.streams.at(section.id).device()) {
  const auto collect = [&](const std::vector<size_t> &indices, std::vector<NodeRuntime *> &list) {
    for (const auto index : indices)
      list.push_back(&nodes[index]);
  };
  collect(section.async_cons, consumers_);
  collect(section.sync_topo, nodes_);
  collect(section.async_prod, producers_);
  for (const auto *node : nodes_)
    has_sink_ = has_sink_ || node->outputs.empty();
  if (device_ != nullptr) {
    const DeviceScope scope(*device_);
    event_ = Event(*device_);
  }
}

void SectionRunner::run() noexcept {
  try {
    std::optional<DeviceScope> scope;
    if (device_ != nullptr)
      scope.emplace(*device_);
    auto reason = OpResult::Cancelled;
    try {
      reason = loop();
    } catch (...) {
      state_.fail(describe_failure());
    }
    end(reason);
  } catch (...) {
    state_.fail(describe_failure());
  }
}

OpResult SectionRunner::loop() {
  iteration_.clear();
  device_is_behind_ = false;
  for (;;) {
    const auto result = iterate();
    if (result != OpResult::Ok)
      return result;
  }
}

OpResult SectionRunner::iterate() {
  iteration_.clear();
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
  release_outputs();
  iteration_.clear();
  return everyone_behind_has_ended() ? OpResult::Eof : OpResult::Ok;
}

// Frames that left a source or a queue for an iteration that did not finish are lost, unless an
// Output had them in hand: it counts them itself.
void SectionRunner::count_aborted_frames() {
  if (current_node_ != nullptr && current_node_->sync != nullptr && current_node_->outputs.empty())
    return;
  for (auto *node : iteration_.finished)
    if (node->link != nullptr || node->inputs.empty())
      node->counters.aborted_frames += node->frames_taken_per_pop();
}

void SectionRunner::end(OpResult reason) {
  count_aborted_frames();
  // Device work may still read memory that the neighbours free or reuse.
  if (device_is_behind_)
    wait_for_device();
  for (const auto &[node, slot] : iteration_.acquired) {
    enter(*node, "abandon_input");
    give_back(*node, slot);
  }
  for (auto *node : producers_) {
    enter(*node, "end_of_input");
    if (reason == OpResult::Eof)
      node->link->producer_ended();
  }
  for (auto *node : consumers_)
    node->link->consumer_ended();
  for (auto *node : nodes_) {
    enter(*node, "end_of_section");
    if (node->observer != nullptr)
      node->observer->end_of_section(reason == OpResult::Eof);
  }
}

// Step 1: writable memory for every owned input, before anything upstream writes into it.
OpResult SectionRunner::acquire_inputs() {
  const auto acquire_all = [&](NodeRuntime &node) {
    for (const auto slot : node.owned_inputs)
      if (const auto result = acquire(node, slot); result != OpResult::Ok)
        return result;
    return OpResult::Ok;
  };
  for (auto *list : {&nodes_, &producers_})
    for (auto *node : *list)
      if (const auto result = acquire_all(*node); result != OpResult::Ok)
        return result;
  return OpResult::Ok;
}

OpResult SectionRunner::acquire(NodeRuntime &node, int slot) {
  enter(node, "acquire_input");
  back_off_ = first_back_off;
  for (;;) {
    if (state_.cancelled)
      return OpResult::Cancelled;
    const auto epoch = waker_.epoch();
    if (node.link != nullptr && node.link->consumer_gone()) {
      lend_discard_memory(node, slot);
      iteration_.acquired.push_back({&node, slot});
      return OpResult::Ok;
    }
    if (node.task->acquire_input(slot)) {
      iteration_.acquired.push_back({&node, slot});
      return OpResult::Ok;
    }
    sleep(epoch, node.link == nullptr || node.link->polled());
  }
}

// Step 2: one item from every queue that ends here.
OpResult SectionRunner::pop_consumers() {
  for (auto *node : consumers_)
    if (const auto result = pop(*node); result != OpResult::Ok)
      return result;
  return OpResult::Ok;
}

OpResult SectionRunner::pop(NodeRuntime &node) {
  enter(node, "try_pop");
  back_off_ = first_back_off;
  core::AsyncPopCtx context{node.outputs, &state_.cancelled, node.output_records};
  for (;;) {
    if (state_.cancelled)
      return OpResult::Cancelled;
    const auto epoch = waker_.epoch();
    const auto result = node.async->try_pop(context);
    if (result == OpResult::Ok) {
      if (node.touches_device && !node.plan->infer.hands_over_by_event)
        device_is_behind_ = device_ != nullptr;
      node.link->consumer_popped(
          node.link->carries_records() ? node.output_records.front()
                                       : std::span<core::FrameRecord>(),
          node.frames_per_pop());
      ++node.counters.runs;
      iteration_.finished.push_back(&node);
      return OpResult::Ok;
    }
    if (result != OpResult::NotReady)
      return result;
    if (node.link->consumer_is_drained(AsyncLink::Clock::now()))
      return OpResult::Eof;
    sleep(epoch, node.link->polled(), node.async->ready_at());
  }
}

// Step 3: the synchronous nodes in order.
OpResult SectionRunner::execute_nodes() {
  for (auto *node : nodes_) {
    if (const auto result = execute(*node); result != OpResult::Ok)
      return result;
    consumed_inputs(*node);
    write_records(*node);
    iteration_.finished.push_back(node);
  }
  return OpResult::Ok;
}

OpResult SectionRunner::execute(NodeRuntime &node) {
  if (state_.cancelled)
    return OpResult::Cancelled;
  enter(node, "execute");
  // A host node reads what the device wrote, or overwrites what it still reads.
  if (!node.touches_device && device_is_behind_)
    wait_for_device();
  core::SyncCtx context{node.inputs,          node.outputs,         &state_.cancelled,
                        &node.events->writer, &node.events->reader, node.input_records,
                        node.output_records};
  const bool measuring = state_.measuring.load(std::memory_order_relaxed);
  const auto begin = measuring ? AsyncLink::Clock::now() : AsyncLink::Clock::time_point{};
  const auto result = node.sync->execute(context);
  if (node.touches_device)
    device_is_behind_ = device_ != nullptr;
  if (measuring) {
    const auto duration =
        std::chrono::duration_cast<std::chrono::nanoseconds>(AsyncLink::Clock::now() - begin);
    node.counters.duration_ns += static_cast<uint64_t>(duration.count());
  }
  ++node.counters.runs;
  return check_sync_result(node, result);
}

OpResult SectionRunner::check_sync_result(const NodeRuntime &node, OpResult result) const {
  if (result == OpResult::NotReady)
    throw std::logic_error(
        "a synchronous task returned NotReady; only asynchronous tasks may, " +
        node.plan->spec.kind + " must wait, finish or throw");
  return result;
}

// Step 4: an ordinary asynchronous producer reads finished work only. Tasks that synchronise the
// stream themselves come first in the list, so their wait may serve the rest.
void SectionRunner::wait_before_push() {
  if (!device_is_behind_)
    return;
  const bool ordinary = std::any_of(producers_.begin(), producers_.end(), [](NodeRuntime *node) {
    const auto &infer = node->plan->infer;
    return !infer.synchronizes_producer_stream && !infer.hands_over_by_event;
  });
  if (ordinary)
    wait_for_device();
}

// Step 5: one item into every queue that begins here.
OpResult SectionRunner::push_producers() {
  for (auto *node : producers_)
    if (const auto result = push(*node); result != OpResult::Ok)
      return result;
  return OpResult::Ok;
}

OpResult SectionRunner::push(NodeRuntime &node) {
  enter(node, "try_push");
  back_off_ = first_back_off;
  core::AsyncPushCtx context{node.inputs, &state_.cancelled, node.input_records};
  for (;;) {
    if (state_.cancelled)
      return OpResult::Cancelled;
    const auto epoch = waker_.epoch();
    if (node.link->consumer_gone()) {
      discard(node);
      return OpResult::Ok;
    }
    const auto result = node.async->try_push(context);
    if (result == OpResult::Ok) {
      consumed_inputs(node);
      node.link->producer_pushed(
          node.input_records.empty() ? std::span<core::FrameRecord>() : node.input_records.front());
      if (node.plan->infer.synchronizes_producer_stream)
        device_is_behind_ = false;
      return OpResult::Ok;
    }
    if (result != OpResult::NotReady)
      return result;
    sleep(epoch, node.link->polled());
  }
}

// Step 6: memory that queues and sources lent goes back.
void SectionRunner::release_outputs() {
  for (auto *node : iteration_.finished) {
    if (node->owned_outputs.empty())
      continue;
    enter(*node, "release_output");
    if (device_is_behind_ && !node->plan->infer.hands_over_by_event)
      wait_for_device();
    for (const auto slot : node->owned_outputs)
      node->task->release_output(slot);
    if (node->link != nullptr)
      node->link->consumer_released();
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
  consumed_inputs(node);
  node.link->producer_discarded(node.input_records.empty() ? 1 : node.input_records.front().size());
}

void SectionRunner::lend_discard_memory(NodeRuntime &node, int slot) {
  auto &storage = *node.adapter->inputs[static_cast<size_t>(slot)];
  auto &block = discard_memory_[&storage];
  auto &device = device_ == nullptr ? host_device() : *device_;
  if (block.get() == nullptr)
    block = MemoryBlock(device, storage.mem_loc, storage.bytes);
  storage.ptr = block.get();
}

void SectionRunner::consumed_inputs(const NodeRuntime &node) {
  if (node.owned_inputs.empty())
    return;
  std::erase_if(iteration_.acquired, [&](const Iteration::Acquired &acquired) {
    return acquired.node == &node;
  });
}

void SectionRunner::write_records(NodeRuntime &node) {
  using Source = RecordPlan::Source;
  for (size_t out = 0; out < node.plan->out_records.size(); ++out) {
    const auto &plan = node.plan->out_records[out];
    if (plan.source != Source::Merged)
      continue;
    const auto &inputs = node.input_records.front();
    const auto newest = std::find_if(inputs.rbegin(), inputs.rend(), [](const auto &record) {
      return (record.flags & core::FrameRecord::Padding) == 0;
    });
    auto &record = node.output_records[out].front();
    record = newest == inputs.rend() ? inputs.back() : *newest;
    if (record.duration_ns > 0)
      record.duration_ns *= static_cast<int64_t>(plan.stride);
  }
}

void SectionRunner::wait_for_device() {
  device_->record(event_.get(), section_.stream);
  device_->synchronize(event_.get());
  device_is_behind_ = false;
}

bool SectionRunner::everyone_behind_has_ended() const {
  if (has_sink_ || producers_.empty())
    return false;
  return std::all_of(producers_.begin(), producers_.end(), [](const NodeRuntime *node) {
    return node->link->consumer_gone();
  });
}

void SectionRunner::sleep(
    uint64_t epoch, bool polled, std::optional<Waker::Clock::time_point> deadline) {
  if (!deadline && polled) {
    deadline = Waker::Clock::now() + back_off_;
    back_off_ = std::min(2 * back_off_, last_back_off);
  }
  waker_.wait(epoch, deadline);
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
    place += "node \"" + spec.name + "\" (" + spec.kind + "), " + current_phase_ + ", in ";
  }
  core::TaskError error(place + section_.name + ": " + message);
  error.pass = "running";
  error.node = name;
  return std::make_exception_ptr(error);
}

}  // namespace holoflow::runtime
