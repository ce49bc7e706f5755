// SPDX-License-Identifier: LGPL-2.1-or-later
// Times of a section.
#include "holoflow/runtime/probe.hh"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace holoflow::runtime {

namespace {

uint64_t nanoseconds(std::chrono::steady_clock::duration duration) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

}  // namespace

void Probe::begin_run(SectionTrace *trace) {
  trace_ = trace != nullptr && trace->is_on() ? trace : nullptr;
  taken_ = read_ = 0;
  sample_ = nullptr;
  forget();
  measuring_ = false;
  profiled_ = std::getenv("NVTX_INJECTION64_PATH") != nullptr ? device_ : nullptr;
  if (device_ != nullptr && trace_ != nullptr)
    meet_clocks();
}

// Nothing was measured up to here.
void Probe::forget() {
  next_sample_ = last_ = {};
  to_skip_ = skipped_ = 0;
}

// The time before the record, so that no work of the device is shown later than it ended. The first
// round is for whatever a device does only once.
void Probe::meet_clocks() {
  if (base_.get() == nullptr)
    base_ = Event(*device_, Event::Kind::Timed);
  for (int round = 0; round < 2; ++round) {
    base_time_ = Clock::now();
    device_->record(base_.get(), stream_);
    device_->synchronize(base_.get());
  }
}

// The stream is idle, or the device has failed.
void Probe::end_run() {
  sample_ = nullptr;
  if (device_ != nullptr)
    read_finished(true);
  trace_ = nullptr;
  on_ = false;
}

void Probe::start_iteration() {
  sample_ = nullptr;
  on_ = trace_ != nullptr || to_skip_ == 0;
  if (!on_) {
    --to_skip_;
    ++skipped_;
    return;
  }
  weight_ = 1 + std::exchange(skipped_, 0);
  // Without a gap the last thing of the iteration before ended when this one began.
  if (weight_ > 1 || last_ == Clock::time_point{})
    last_ = Clock::now();
  iteration_begin_ = last_;
  if (device_ != nullptr)
    start_sample();
}

void Probe::finish_iteration() {
  ++counters.iterations;
  if (on_)
    to_skip_ = last_ - iteration_begin_ > long_iteration ? 0 : short_iterations_skipped;
}

void Probe::start_sample() {
  read_finished(false);
  if (taken_ - read_ == samples_.size() || (trace_ == nullptr && last_ < next_sample_))
    return;
  next_sample_ = last_ + sampling_interval;
  sample_ = &samples_[taken_++ % samples_.size()];
  sample_->used = 0;
}

// A clock other than ours measured the wait.
void Probe::add_run(
    NodeRuntime &node, const char *phase, Clock::time_point begin,
    std::chrono::nanoseconds waited) {
  const auto end = last_ = Clock::now();
  const auto duration = nanoseconds(std::max(end - begin - waited, Clock::duration(0)));
  node.counters.duration_ns += weight_ * duration;
  counters.host_ns += weight_ * duration;
  if (trace_ != nullptr)
    trace_->add({node.plan->spec.name.c_str(), phase, SectionTrace::Row::Host, begin, end});
}

void Probe::add_launch(const RunRecording &run, Clock::time_point begin) {
  const auto end = last_ = Clock::now();
  counters.host_ns += weight_ * nanoseconds(end - begin);
  if (trace_ != nullptr)
    trace_->add({run.label(), "replay", SectionTrace::Row::Host, begin, end, run.node_names()});
}

void Probe::end_wait(Wait wait, NodeRuntime *node, Clock::time_point begin) {
  const auto end = last_ = Clock::now();
  add_wait(wait, node, end - begin);
  if (trace_ != nullptr)
    trace_->add(
        {node != nullptr ? node->plan->spec.name.c_str() : "stream", "wait",
         SectionTrace::Row::Host, begin, end});
}

void Probe::add_wait(Wait wait, NodeRuntime *node, std::chrono::nanoseconds waited) {
  const auto duration = nanoseconds(waited);
  if (node != nullptr)
    node->counters.waited_ns += duration;
  switch (wait) {
  case Wait::Upstream:
    counters.upstream_ns += duration;
    break;
  case Wait::Downstream:
    counters.downstream_ns += duration;
    break;
  case Wait::Device:
    counters.device_wait_ns += duration;
    break;
  }
}

void Probe::mark(NodeRuntime *node, RunRecording *run) {
  if (sample_->used == sample_->marks.size()) {
    auto &added = sample_->marks.emplace_back();
    added.event = Event(*device_, Event::Kind::Timed);
  }
  auto &mark = sample_->marks[sample_->used++];
  mark.node = node;
  mark.run = run;
  device_->record(mark.event.get(), stream_);
}

void Probe::read_finished(bool wait) {
  for (; read_ != taken_; ++read_) {
    auto &sample = samples_[read_ % samples_.size()];
    if (&sample == sample_)
      return;
    if (sample.used == 0)
      continue;
    const auto last = sample.marks[sample.used - 1].event.get();
    if (wait)
      device_->synchronize(last);
    else if (!device_->query(last))
      return;
    read(sample);
  }
}

void Probe::add_device_time(NodeRuntime &node, uint64_t duration) {
  node.counters.device_ns += duration;
  ++node.counters.device_samples;
  (node.uploads         ? counters.upload_ns
       : node.downloads ? counters.download_ns
                        : counters.compute_ns) += duration;
}

// Copies within it are not told apart.
void Probe::add_device_time(RunRecording &run, uint64_t duration) {
  run.add_device_time(duration);
  counters.compute_ns += duration;
}

void Probe::read(Sample &sample) {
  const auto time_of = [&](const Mark &mark) {
    const std::chrono::duration<double, std::milli> since(
        device_->milliseconds_between(base_.get(), mark.event.get()));
    return base_time_ + std::chrono::duration_cast<Clock::duration>(since);
  };
  for (size_t i = 1; i < sample.used; ++i) {
    auto &mark = sample.marks[i];
    const auto &before = sample.marks[i - 1];
    const auto duration = static_cast<uint64_t>(
        1e6 * device_->milliseconds_between(before.event.get(), mark.event.get()));
    if (mark.run != nullptr)
      add_device_time(*mark.run, duration);
    else
      add_device_time(*mark.node, duration);
    if (trace_ == nullptr)
      continue;
    if (mark.run != nullptr)
      trace_->add(
          {mark.run->label(), "replay", SectionTrace::Row::Device, time_of(before), time_of(mark),
           mark.run->node_names()});
    else
      trace_->add(
          {mark.node->plan->spec.name.c_str(), "device", SectionTrace::Row::Device, time_of(before),
           time_of(mark)});
  }
  ++counters.sampled_iterations;
}

}  // namespace holoflow::runtime
