// SPDX-License-Identifier: LGPL-2.1-or-later
// Hand-over at asynchronous nodes: wake-ups, records of foreign tasks, their end.
#include "holoflow/runtime/async_link.hh"

#include <algorithm>

#include "holoflow/core/logging.hh"

namespace holoflow::runtime {

void AsyncLink::begin_run() {
  input_ended_ = false;
  consumer_gone_ = false;
  frames_in_ = frames_out_ = frames_taken_ = discarded_ = drain_timeout_ = 0;
  const std::lock_guard lock(mutex_);
  records_.clear();
  last_pop_ = silent_since_ = {};
  longest_gap_ = {};
  unannounced_ = 0;
  counts_disagree_ = false;
}

void AsyncLink::continue_run() {
  if (counts_frames_)
    return begin_run();
  input_ended_ = consumer_gone_ = false;
  unannounced_ = 0;
}

void AsyncLink::producer_pushes(std::span<const core::FrameRecord> records) {
  if (!options_.carries_records)
    return;
  const std::lock_guard lock(mutex_);
  records_.insert(records_.end(), records.begin(), records.end());
}

void AsyncLink::producer_pushed(size_t frames) {
  frames_in_ += std::max<size_t>(frames, 1);
  wake(consumer_);
}

void AsyncLink::producer_discarded(size_t frames) {
  discarded_ += frames;
  if (!options_.carries_records)
    return;
  const std::lock_guard lock(mutex_);
  records_.clear();
}

void AsyncLink::producer_ended() {
  task_.end_of_input();
  input_ended_ = true;
  wake(consumer_);
}

void AsyncLink::consumer_popped(std::span<core::FrameRecord> records, size_t frames, size_t taken) {
  frames_out_ += std::max<size_t>(frames, 1);
  frames_taken_ += std::max<size_t>(taken, 1);
  if (counts_frames_) {
    const auto now = Clock::now();
    if (last_pop_ != Clock::time_point{})
      longest_gap_ = std::max(longest_gap_, now - last_pop_);
    last_pop_ = now;
    silent_since_ = {};
  }
  if (!options_.lends_output)
    made_room();
  if (options_.carries_records)
    take_records(records);
}

void AsyncLink::take_records(std::span<core::FrameRecord> records) {
  const std::lock_guard lock(mutex_);
  if (!counts_disagree_ && records_.size() < records.size()) {
    counts_disagree_ = true;
    core::make_logger("scheduler")
        ->warn(
            "an asynchronous task gives more frames than it took: its outputs have no timestamps");
  }
  if (counts_disagree_) {
    records_.clear();
    std::fill(records.begin(), records.end(), core::FrameRecord{});
    return;
  }
  const auto end = records_.begin() + static_cast<std::ptrdiff_t>(records.size());
  std::move(records_.begin(), end, records.begin());
  records_.erase(records_.begin(), end);
}

void AsyncLink::consumer_ended() {
  consumer_gone_ = true;
  wake(producer_);
}

bool AsyncLink::consumer_is_drained(Clock::time_point now) {
  if (!counts_frames_ || !input_ended_)
    return false;
  const auto in = frames_in_.load(), out = frames_out_.load();
  if (out >= in)
    return true;
  if (silent_since_ == Clock::time_point{})
    silent_since_ = now;
  const auto patience = std::max<Clock::duration>(std::chrono::seconds(1), 10 * longest_gap_);
  if (now - silent_since_ < patience)
    return false;
  drain_timeout_ = in - out;
  return true;
}

}  // namespace holoflow::runtime
