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

/// Who waits for whom: the producer sleeps on its section's waker until there is room or the
/// consumer ends; the consumer on its own until a push or the end of the producer. A push is told
/// at once, room when half of the queue is free or the consumer's section is about to wait itself.
///
/// Threads: the producer_ functions belong to the producer's section, the consumer_ functions to
/// the consumer's, everything else to any.
class AsyncLink {
public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    bool carries_records = false;
    bool polled = false;  ///< the task may change by itself, so it is asked again after a while
    bool lends_output = false;  ///< room comes with a release, else with a pop
    size_t releases_per_wake = 1;  ///< a producer that waits for room is told once there is so much
  };
  AsyncLink(core::IAsyncTask &task, Waker *producer, Waker *consumer, const Options &options)
      : task_(task), producer_(producer), consumer_(consumer), options_(options),
        counts_frames_(!task.knows_end_of_input()) {}

  /// Forgets the last run; no section runs.
  void begin_run();
  /// Forgets that the last run has ended; no section runs. Of a task that does not know its end,
  /// which counts frames anew, it forgets everything.
  void continue_run();

  /// Before a push is tried, however often: a pop may see its frames before it has returned.
  void producer_pushes(std::span<const core::FrameRecord> records);
  /// After an Ok push of so many frames.
  void producer_pushed(size_t frames);
  /// The producer's section came to its end: nothing more will be pushed.
  void producer_ended();
  /// The producer had `frames` for a consumer that has ended. What records hold is let go.
  void producer_discarded(size_t frames);

  /// After an Ok pop: fills `records` for a task that does not know records; with unknown ones,
  /// once logged, where the task's counts do not match.
  /// `taken` of its frames no later pop shows.
  void consumer_popped(std::span<core::FrameRecord> records, size_t frames, size_t taken);
  /// After release_output.
  void consumer_released() { made_room(); }
  /// Wakes a producer for room that it has not been told of. Called before the consumer's section
  /// waits for anything, so that nobody waits for somebody who sleeps.
  void announce() {
    if (unannounced_ == 0)
      return;
    unannounced_ = 0;
    wake(producer_);
  }
  /// The consumer's section has ended: nobody pops any more.
  void consumer_ended();
  /// After a NotReady pop: true where nothing more will come out. Tasks that know end_of_input say
  /// so themselves; of others as many frames come out as went in, or none for a long time.
  [[nodiscard]] bool consumer_is_drained(Clock::time_point now);

  [[nodiscard]] bool consumer_gone() const noexcept { return consumer_gone_.load(); }
  /// Whether the task must be asked again for time alone.
  [[nodiscard]] bool polled() const noexcept { return options_.polled; }
  [[nodiscard]] bool carries_records() const noexcept { return options_.carries_records; }

  [[nodiscard]] uint64_t frames_in() const noexcept { return frames_in_.load(); }
  [[nodiscard]] uint64_t frames_out() const noexcept { return frames_out_.load(); }
  [[nodiscard]] uint64_t frames_taken() const noexcept { return frames_taken_.load(); }
  [[nodiscard]] uint64_t discarded() const noexcept { return discarded_.load(); }
  [[nodiscard]] uint64_t drain_timeout() const noexcept { return drain_timeout_.load(); }

private:
  void take_records(std::span<core::FrameRecord> records);
  // A queue that was full is refilled in one go rather than slot by slot: waking a thread costs
  // more than most slots.
  void made_room() {
    if (++unannounced_ >= options_.releases_per_wake)
      announce();
  }
  static void wake(Waker *waker) {
    if (waker != nullptr)
      waker->notify();
  }

  core::IAsyncTask &task_;
  Waker *const producer_;  // null where the side has no section
  Waker *const consumer_;
  const Options options_;
  const bool counts_frames_;  // the only way to find the task's end

  std::atomic<bool> input_ended_{false};
  std::atomic<bool> consumer_gone_{false};
  std::atomic<uint64_t> frames_in_{0}, frames_out_{0}, frames_taken_{0}, discarded_{0},
      drain_timeout_{0};

  std::mutex mutex_;  // guards records_; held for moves only
  std::deque<core::FrameRecord> records_;

  // Consumer's thread only: room the producer has not been told of, and how long the task may stay
  // silent before it counts as drained.
  size_t unannounced_ = 0;
  Clock::time_point last_pop_{};
  Clock::time_point silent_since_{};
  Clock::duration longest_gap_{};
  bool counts_disagree_ = false;
};

}  // namespace holoflow::runtime
