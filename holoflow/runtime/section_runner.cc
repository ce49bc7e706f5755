// SPDX-License-Identifier: LGPL-2.1-or-later
// One iteration of a section in six steps, and the tail that follows.
#include "holoflow/runtime/section_runner.hh"

#include <algorithm>

#include "holoflow/runtime/merged_records.hh"

namespace holoflow::runtime {

using core::OpResult;
using Wait = Probe::Wait;

namespace {

void write_merged_records(NodeRuntime &node, size_t slot) {
  for (const auto out : node.merged_outputs)
    merge_records(
        node.first_input_records(slot), node.plan->out_records[out].stride,
        node.output_records[slot][out]);
}

}  // namespace

void SectionRunner::run() noexcept {
  try {
    std::optional<DeviceScope> scope;
    LoopEnd end;
    try {
      if (parts_.device != nullptr)
        scope.emplace(*parts_.device);
      begin_run();
      end.reason = loop();
      if (!tail_ended_ && finish_all() == OpResult::Cancelled)
        end.reason = OpResult::Cancelled;
    } catch (...) {
      end.failed = true;
      parts_.state.fail(parts_.place.describe_failure());
    }
    end.in_tail = tail_ended_;
    end_section(parts_, end);
  } catch (...) {
    parts_.state.fail(parts_.place.describe_failure());
  }
}

void SectionRunner::begin_run() {
  for (auto &recording : parts_.recordings)
    recording.begin_run();
  parts_.probe.begin_run(&trace);
  parts_.ring.reset();
  parts_.order.begin_run();
  tail_ended_ = false;
}

OpResult SectionRunner::loop() {
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
  release_outputs();
  result = end_iteration();
  if (result != OpResult::Ok)
    return result;
  return everyone_behind_has_ended() ? OpResult::Eof : OpResult::Ok;
}

void SectionRunner::begin_iteration() {
  parts_.ring.begin();
  parts_.probe.begin_iteration(parts_.state.measuring.load(std::memory_order_relaxed));
  for (const auto storage : parts_.steps.lagged)
    parts_.order.renew(storage);
}

// Step 1: writable memory for every owned input, before anything upstream writes into it.
OpResult SectionRunner::acquire_inputs() {
  for (auto *list : {&parts_.steps.nodes, &parts_.steps.tail, &parts_.steps.producers})
    for (const auto &step : *list)
      for (const auto slot : step.node->owned_inputs)
        if (const auto result = acquire(step, slot); result != OpResult::Ok)
          return result;
  return OpResult::Ok;
}

OpResult SectionRunner::acquire(const Step &step, int slot) {
  auto &node = *step.node;
  parts_.waits.reset_back_off();
  for (;;) {
    parts_.place.enter(*node.plan, "acquire_input");
    if (parts_.state.cancelled)
      return OpResult::Cancelled;
    const auto epoch = parts_.waits.epoch();
    if (parts_.lending.acquire(parts_.ring.current(), step, slot))
      return OpResult::Ok;
    if (parts_.ring.has_outstanding()) {
      if (const auto result = finish_oldest(); result != OpResult::Ok)
        return result;
    } else {
      parts_.waits.sleep(
          node, Wait::Downstream, epoch, node.link == nullptr || node.link->polled());
    }
  }
}

// Step 2: one item from every queue that ends here.
OpResult SectionRunner::pop_consumers() {
  for (const auto &step : parts_.steps.consumers)
    if (const auto result = pop(step); result != OpResult::Ok)
      return result;
  return OpResult::Ok;
}

OpResult SectionRunner::pop(const Step &step) {
  auto &node = *step.node;
  parts_.waits.reset_back_off();
  const auto slot = parts_.ring.current_slot();
  core::AsyncPopCtx context{node.outputs, &parts_.state.cancelled, node.output_records[slot]};
  parts_.waits.before_host(step.host);
  for (;;) {
    parts_.place.enter(*node.plan, "try_pop");
    if (parts_.state.cancelled)
      return OpResult::Cancelled;
    const auto epoch = parts_.waits.epoch();
    const auto begin = parts_.probe.now();
    const auto result = [&] {
      const auto range = parts_.probe.range(node);
      return node.async->try_pop(context);
    }();
    if (result == OpResult::Ok) {
      for (const auto storage : step.renewed)
        parts_.order.renew(storage);
      if (step.enqueues)
        enqueued(step);
      node.link->consumer_popped(
          node.link->carries_records() ? node.first_output_records(slot)
                                       : std::span<core::FrameRecord>(),
          node.frames_per_pop(), node.frames_taken_per_pop());
      ++node.counters.runs;
      parts_.probe.ran(node, "pop", begin);
      count_fill(node);
      auto &iteration = parts_.ring.current();
      Lending::returned(iteration, step);
      iteration.delivered.push_back(&step);
      return OpResult::Ok;
    }
    if (result != OpResult::NotReady)
      return result;
    if (parts_.ring.has_outstanding()) {
      if (const auto finished = finish_oldest(); finished != OpResult::Ok)
        return finished;
      continue;
    }
    if (node.link->consumer_is_drained(AsyncLink::Clock::now()))
      return OpResult::Eof;
    parts_.waits.sleep(node, Wait::Upstream, epoch, node.link->polled(), node.async->ready_at());
  }
}

// Step 3: the synchronous nodes in order, but for the tail.
OpResult SectionRunner::execute_nodes() {
  parts_.probe.before_nodes();
  auto &ring = parts_.ring;
  for (const auto &step : parts_.steps.nodes) {
    // A source may sleep for long.
    if (step.node->inputs.empty() && ring.has_outstanding() && !step.node->sync->ready())
      if (const auto result = finish_all(); result != OpResult::Ok)
        return result;
    if (parts_.state.cancelled)
      return OpResult::Cancelled;
    const auto result = execute(step, ring.current(), ring.current_slot());
    if (result != OpResult::Ok)
      return result;
  }
  return OpResult::Ok;
}

OpResult SectionRunner::execute(const Step &step, Iteration &iteration, size_t slot) {
  if (step.is_run())
    return execute_run(step, slot);
  auto &node = *step.node;
  parts_.place.enter(*node.plan, "execute");
  // Behind the tail's wait nothing touches what it reads.
  if (!step.in_tail)
    parts_.waits.before_host(step.host);
  if (step.may_wait)
    parts_.waits.announce_room();
  const auto result = call(step, slot);
  if (!step.in_tail)
    for (const auto storage : step.renewed)
      parts_.order.renew(storage);
  if (step.enqueues) {
    parts_.order.enqueue(step.stream);
    parts_.probe.enqueued(node);
  }
  ++node.counters.runs;
  if (result != OpResult::Ok)
    return result;
  Lending::consumed(iteration, step);
  Lending::returned(iteration, step);
  if (node.inputs.empty())
    iteration.delivered.push_back(&step);
  write_merged_records(node, slot);
  return result;
}

// However its work gets onto the stream, it reads and writes the same.
OpResult SectionRunner::execute_run(const Step &run, size_t slot) {
  auto &recording = *run.recording;
  parts_.place.enter(*run.node->plan, "replay");
  const auto begin = parts_.probe.now();
  const auto launches = recording.launches().load(std::memory_order_relaxed);
  const auto result = [&] {
    const auto range = parts_.probe.range(recording);
    const auto one_by_one = [&] { return call_members(run, slot); };
    return parts_.probe.samples_members()
        ? recording.sample(one_by_one)
        : recording.execute([&] { return record_members(run, slot); }, one_by_one);
  }();
  parts_.order.enqueue(run.stream);
  if (recording.launches().load(std::memory_order_relaxed) != launches) {
    parts_.probe.launched(recording, begin);
    parts_.probe.enqueued(recording);
  }
  if (result == OpResult::Ok)
    for (auto *node : run.merging)
      write_merged_records(*node, slot);
  return result;
}

OpResult SectionRunner::record_members(const Step &run, size_t slot) {
  for (const auto &step : run.members) {
    parts_.place.enter(*step.node->plan, "execute");
    if (const auto result = call(step, slot); result != OpResult::Ok)
      return result;
  }
  return OpResult::Ok;
}

OpResult SectionRunner::call_members(const Step &run, size_t slot) {
  for (const auto &step : run.members) {
    parts_.place.enter(*step.node->plan, "execute");
    const auto result = call(step, slot);
    parts_.probe.enqueued(*step.node);
    ++step.node->counters.runs;
    if (result != OpResult::Ok)
      return result;
  }
  return OpResult::Ok;
}

OpResult SectionRunner::call(const Step &step, size_t slot) {
  auto &node = *step.node;
  auto &probe = parts_.probe;
  core::SyncCtx context{
      node.inputs,
      node.outputs,
      &parts_.state.cancelled,
      &node.events->writer,
      &node.events->reader,
      node.input_records[slot],
      node.output_records[slot]};
  // A source that has nothing waits inside.
  const bool waits = probe.is_measuring() && node.inputs.empty() && !node.sync->ready();
  const auto begin = waits ? probe.begin_wait() : probe.now();
  const auto result = [&] {
    const auto range = probe.range(node);
    return node.sync->execute(context);
  }();
  if (waits)
    probe.waited(Wait::Upstream, &node, begin);
  else
    probe.ran(node, "execute", begin);
  if (result == OpResult::NotReady)
    throw std::logic_error(
        "a synchronous task returned NotReady; only asynchronous tasks may, " +
        node.plan->spec.kind + " must wait, finish or throw");
  return result;
}

// Step 4: an ordinary asynchronous producer reads finished work only. Tasks that synchronise the
// stream themselves come first in the list, so their wait may serve the rest.
void SectionRunner::wait_before_push() {
  if (parts_.steps.waits_before_push || !parts_.section.overlap)
    parts_.waits.until(parts_.order.all_work());
}

// Step 5: one item into every queue that begins here.
OpResult SectionRunner::push_producers() {
  for (const auto &step : parts_.steps.producers)
    if (const auto result = push(step); result != OpResult::Ok)
      return result;
  return OpResult::Ok;
}

OpResult SectionRunner::push(const Step &step) {
  auto &node = *step.node;
  auto &iteration = parts_.ring.current();
  parts_.waits.reset_back_off();
  const auto slot = parts_.ring.current_slot();
  core::AsyncPushCtx context{node.inputs, &parts_.state.cancelled, node.input_records[slot]};
  parts_.place.enter(*node.plan, "try_push");
  parts_.waits.before_host(step.host);
  node.link->producer_pushes(node.first_input_records(slot));
  for (;;) {
    if (parts_.state.cancelled)
      return OpResult::Cancelled;
    const auto epoch = parts_.waits.epoch();
    if (node.link->consumer_gone()) {
      parts_.lending.discard(iteration, step);
      return OpResult::Ok;
    }
    const auto begin = parts_.probe.now();
    const auto result = [&] {
      const auto range = parts_.probe.range(node);
      return node.async->try_push(context);
    }();
    if (result == OpResult::Ok) {
      parts_.probe.ran(node, "push", begin);
      Lending::consumed(iteration, step);
      node.link->producer_pushed(node.first_input_records(slot).size());
      if (node.plan->infer.synchronizes_producer_stream)
        parts_.order.all_finished();
      else if (step.enqueues)
        enqueued(step);
      return OpResult::Ok;
    }
    if (result != OpResult::NotReady)
      return result;
    if (parts_.ring.has_outstanding()) {
      if (const auto finished = finish_oldest(); finished != OpResult::Ok)
        return finished;
      parts_.place.enter(*node.plan, "try_push");
    } else {
      parts_.waits.sleep(node, Wait::Downstream, epoch, node.link->polled());
    }
  }
}

// An asynchronous task has put work on the stream. Those that hand over by event mark it
// themselves.
void SectionRunner::enqueued(const Step &step) {
  if (step.node->plan->infer.hands_over_by_event)
    parts_.order.assume_enqueued();
  else
    parts_.order.enqueue(step.stream);
}

// Step 6: memory that queues and sources lent goes back; what the tail reads, behind it.
void SectionRunner::release_outputs() {
  if (!parts_.section.overlap)
    parts_.waits.until(parts_.order.all_work());
  parts_.lending.release(parts_.ring.current(), Lending::Part::BeforeTail);
  parts_.probe.end_iteration();
}

// The iteration's device work is enqueued; what is left of it waits for that work.
OpResult SectionRunner::end_iteration() {
  auto &ring = parts_.ring;
  if (parts_.steps.tail.empty()) {
    ring.complete();
    return OpResult::Ok;
  }
  ring.defer(parts_.order.mark());
  if (!ring.is_over_lag())
    return OpResult::Ok;
  auto result = finish_oldest();
  // The wait may have served the next ones too.
  while (result == OpResult::Ok && ring.has_outstanding() &&
         parts_.order.has_finished(ring.oldest().work))
    result = finish_oldest();
  return result;
}

// The tail of the oldest iteration.
OpResult SectionRunner::finish_oldest() {
  auto &ring = parts_.ring;
  const IterationRing::OldestMemory memory(ring);
  auto &iteration = ring.oldest();
  tail_ended_ = true;
  parts_.place.enter(*parts_.steps.tail.front().node->plan, "waiting for the device");
  parts_.waits.until(iteration.work);
  for (const auto &step : parts_.steps.tail)
    if (const auto result = execute(step, iteration, ring.oldest_slot()); result != OpResult::Ok)
      return result;
  parts_.lending.release(iteration, Lending::Part::Tail);
  ring.complete_oldest();
  tail_ended_ = false;
  return OpResult::Ok;
}

OpResult SectionRunner::finish_all() {
  while (parts_.ring.has_outstanding())
    if (const auto result = finish_oldest(); result != OpResult::Ok)
      return result;
  return OpResult::Ok;
}

// How many frames a queue holds behind a pop.
void SectionRunner::count_fill(NodeRuntime &node) {
  if (!parts_.probe.is_on())
    return;
  const auto in = node.link->frames_in(), out = node.link->frames_taken();
  node.counters.fill_sum += in > out ? in - out : 0;
  ++node.counters.fill_samples;
}

bool SectionRunner::everyone_behind_has_ended() const {
  const auto &producers = parts_.steps.producers;
  if (parts_.steps.has_sink || producers.empty())
    return false;
  return std::all_of(producers.begin(), producers.end(), [](const Step &step) {
    return step.node->link->consumer_gone();
  });
}

}  // namespace holoflow::runtime
