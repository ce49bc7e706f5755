// SPDX-License-Identifier: LGPL-2.1-or-later
// The end of a section.
//
//   wait for the stream ─ loans of open iterations go back, oldest first ─ the queues behind it are
//   told that their input ended, the queues before it that no one pops, its tasks that it is over
#include <algorithm>

#include "holoflow/device/hand_over.hh"
#include "holoflow/runtime/section_parts.hh"

namespace holoflow::runtime {

using core::OpResult;

namespace {

class SectionEnd {
public:
  SectionEnd(SectionParts &parts, LoopEnd end) : parts_(parts), end_(end) {}

  void run() {
    // A task that gives up by itself stops the run: no one behind it would learn of an end.
    if (!end_.failed && end_.reason == OpResult::Cancelled)
      parts_.state.stop();
    count_aborted_frames();
    wait_for_stream();
    attempt([&] { parts_.probe.end_run(); });
    give_loans_back();
    tell_queues();
    tell_tasks();
  }

private:
  [[nodiscard]] bool ended_well() const { return end_.reason == OpResult::Eof && !end_.failed; }

  template <typename Function> void attempt(const Function &function) {
    try {
      function();
    } catch (...) {
      parts_.state.fail(parts_.place.describe_failure());
    }
  }

  // Frames that left a source or a queue for an iteration that did not finish are lost. An Output
  // counts those that it has in hand itself.
  void count_aborted_frames() {
    auto &ring = parts_.ring;
    const Iteration *counted = nullptr;
    if (parts_.place.is_in_sink() && end_.in_tail)
      counted = &ring.oldest();
    else if (parts_.place.is_in_sink() && ring.is_in_progress())
      counted = &ring.current();
    for (const auto *iteration : ring.open())
      if (iteration != counted)
        for (const auto *step : iteration->delivered)
          step->node->counters.aborted_frames += step->node->frames_taken_per_pop();
  }

  // Device work may still read memory that the neighbours free or reuse.
  void wait_for_stream() {
    // A call that threw may have enqueued a part of its work before.
    if (end_.failed)
      parts_.order.enqueue({});
    attempt([&] {
      if (!parts_.order.is_behind())
        return;
      try {
        parts_.order.wait_until(parts_.order.all_work());
      } catch (...) {
        finish_quietly(*parts_.device, parts_.section.stream);
        end_.failed = true;
        throw;
      }
    });
  }

  void give_loans_back() {
    auto &ring = parts_.ring;
    while (ring.has_outstanding()) {
      const IterationRing::OldestMemory memory(ring);
      give_back(ring.oldest());
      ring.complete_oldest();
    }
    if (ring.is_in_progress())
      give_back(ring.current());
  }

  void give_back(Iteration &iteration) {
    for (const auto &loan : std::exchange(iteration.acquired, {}))
      attempt([&] { parts_.lending.abandon(loan); });
    for (const auto &loan : std::exchange(iteration.lent, {}))
      attempt([&] { parts_.lending.release(loan); });
  }

  void tell_queues() {
    for (auto &step : parts_.steps.producers)
      attempt([&] {
        parts_.place.enter(*step.node->plan, "end_of_input");
        if (ended_well())
          step.node->link->producer_ended();
      });
    for (auto &step : parts_.steps.consumers)
      step.node->link->consumer_ended();
  }

  void tell_tasks() {
    for (auto *list : {&parts_.steps.nodes, &parts_.steps.tail})
      for (auto &step : *list)
        attempt([&] {
          parts_.place.enter(*step.node->plan, "end_of_section");
          if (step.node->observer != nullptr)
            step.node->observer->end_of_section(ended_well());
        });
  }

  SectionParts &parts_;
  LoopEnd end_;
};

}  // namespace

void end_section(SectionParts &parts, LoopEnd end) {
  SectionEnd(parts, end).run();
}

}  // namespace holoflow::runtime
