// SPDX-License-Identifier: LGPL-2.1-or-later
// What the two sections at an asynchronous node share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

#include "holoflow/core/tasks.hh"
#include "holoflow/runtime/waker.hh"

namespace holoflow::runtime {

/// Who waits for whom: the producer sleeps on its section's waker until a pop, a release or the end
/// of the consumer; the consumer on its own until a push or the end of the producer. Each side
/// notifies the other after every such step.
///
/// Threads: the producer_ functions belong to the producer's section, the consumer_ functions to
/// the consumer's, everything else to any.
class AsyncLink {
public:
  using Clock = std::chrono::steady_clock;

  /// `polled`: the task may change by itself, so it is asked again after a while.
  AsyncLink(
      core::IAsyncTask &task, Waker *producer, Waker *consumer, bool carries_records, bool polled)
      : task_(task), producer_(producer), consumer_(consumer), carries_records_(carries_records),
        polled_(polled), counts_frames_(!task.knows_end_of_input()) {}

  /// Forgets the last run; no section runs.
  void begin_run();

  /// After an Ok push of `records`.
  void producer_pushed(std::span<const core::FrameRecord> records);
  /// The producer's section came to its end: nothing more will be pushed.
  void producer_ended();
  /// The producer had `frames` for a consumer that has ended.
  void producer_discarded(size_t frames) { discarded_ += frames; }

  /// After an Ok pop: fills `records` for a task that does not know records; with unknown ones,
  /// once logged, where the task's counts do not match.
  /// `taken` of its frames no later pop shows.
  void consumer_popped(std::span<core::FrameRecord> records, size_t frames, size_t taken);
  /// After release_output.
  void consumer_released() { wake(producer_); }
  /// The consumer's section has ended: nobody pops any more.
  void consumer_ended();
  /// After a NotReady pop: true where nothing more will come out. Tasks that know end_of_input say
  /// so themselves; of others as many frames come out as went in, or none for a long time.
  [[nodiscard]] bool consumer_is_drained(Clock::time_point now);

  [[nodiscard]] bool consumer_gone() const noexcept { return consumer_gone_.load(); }
  /// Whether the task must be asked again for time alone.
  [[nodiscard]] bool polled() const noexcept { return polled_; }
  [[nodiscard]] bool carries_records() const noexcept { return carries_records_; }

  [[nodiscard]] uint64_t frames_in() const noexcept { return frames_in_.load(); }
  [[nodiscard]] uint64_t frames_out() const noexcept { return frames_out_.load(); }
  [[nodiscard]] uint64_t frames_taken() const noexcept { return frames_taken_.load(); }
  [[nodiscard]] uint64_t discarded() const noexcept { return discarded_.load(); }
  [[nodiscard]] uint64_t drain_timeout() const noexcept { return drain_timeout_.load(); }

private:
  void take_records(std::span<core::FrameRecord> records);
  static void wake(Waker *waker) {
    if (waker != nullptr)
      waker->notify();
  }

  core::IAsyncTask &task_;
  Waker *const producer_;  // null where the side has no section
  Waker *const consumer_;
  const bool carries_records_;
  const bool polled_;
  const bool counts_frames_;  // the only way to find the task's end

  std::atomic<bool> input_ended_{false};
  std::atomic<bool> consumer_gone_{false};
  std::atomic<uint64_t> frames_in_{0}, frames_out_{0}, frames_taken_{0}, discarded_{0},
      drain_timeout_{0};

  std::mutex mutex_;  // guards records_; held for moves only
  std::deque<core::FrameRecord> records_;

  // Consumer's thread only: how long the task may stay silent before it counts as drained.
  Clock::time_point last_pop_{};
  Clock::time_point silent_since_{};
  Clock::duration longest_gap_{};
  bool counts_disagree_ = false;
};

}  // namespace holoflow::runtime
