// SPDX-License-Identifier: LGPL-2.1-or-later
// What the host may touch while a section's stream runs behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holoflow/device/hand_over.hh"
#include "holoflow/runtime/section_steps.hh"

namespace holoflow::runtime {

/// Work of a stream is counted; each storage carries the number of the last work that read and that
/// wrote it. The host waits only for what it is about to touch, and only where that has not
/// finished yet. Without a device nothing is counted and nothing waits.
///
///   enqueue(access)            work that touches the storages was put on the stream
///   work_before_host(access)   the host is about to: the last writer before it reads, the last
///                              reader and writer before it writes
///   wait_until(work)           waits for it
///   mark()                     marks the stream, for later waits
///
/// Threads: the section's only.
class StreamOrder {
public:
  StreamOrder(Device &device, cudaStream_t stream, size_t storages)
      : device_(device), marks_(StreamMarks::of(device, stream)), touches_(storages) {}

  [[nodiscard]] bool is_behind() const noexcept { return enqueued_ != finished_; }
  /// Whether the work with that number is known to have finished.
  [[nodiscard]] bool has_finished(uint64_t work) const noexcept { return work <= finished_; }

  void enqueue(const Access &access) {
    if (!device_.is_gpu())
      return;
    ++enqueued_;
    marks_->touch();
    for (const auto storage : access.reads)
      touches_[storage].read = enqueued_;
    for (const auto storage : access.writes)
      touches_[storage].written = enqueued_;
  }

  /// A task that orders device work itself may have enqueued some.
  void assume_enqueued() {
    if (device_.is_gpu())
      ++enqueued_;
  }

  /// The work that must have finished before the host touches these storages, for wait_until.
  [[nodiscard]] uint64_t work_before_host(const Access &access) const {
    uint64_t last = 0;
    if (!is_behind())
      return last;
    for (const auto storage : access.reads)
      last = std::max(last, touches_[storage].written);
    for (const auto storage : access.writes)
      last = std::max({last, touches_[storage].written, touches_[storage].read});
    return last;
  }

  /// The storage stands for other memory from now on, which no work of this stream touches.
  void renew(size_t storage) { touches_[storage] = {}; }

  /// Marks the stream behind all work so far; the number of that work, for wait_until. At most
  /// most_marks are remembered, the newest.
  uint64_t mark() {
    if (count_ == most_marks) {
      ++first_;
      --count_;
    }
    marked_[(first_ + count_++) % most_marks] = {enqueued_, marks_->mark()};
    return enqueued_;
  }

  /// Waits on the thread until the work with that number, and all before, has finished.
  void wait_until(uint64_t work) {
    if (work <= finished_)
      return;
    while (count_ > 0 && marked_[first_ % most_marks].work < work)
      drop_oldest_mark();
    if (count_ == 0)
      (void)mark();
    // One wait serves two marks, as long as that leaves the stream something to do.
    if (count_ > 2)
      drop_oldest_mark();
    const auto &mark = marked_[first_ % most_marks];
    device_.synchronize(mark.position.event);
    marks_->completed(mark.position.number);
    finished_ = mark.work;
    drop_oldest_mark();
  }
  /// The number of all work so far.
  [[nodiscard]] uint64_t all_work() const noexcept { return enqueued_; }
  /// Somebody else has waited for the stream.
  void all_finished() { finished_ = enqueued_; }

  /// The stream is idle.
  void begin_run() {
    enqueued_ = finished_ = 0;
    first_ = count_ = 0;
    std::fill(touches_.begin(), touches_.end(), Touch{});
  }

private:
  struct Touch {
    uint64_t read = 0, written = 0;
  };
  struct Mark {
    uint64_t work = 0;
    StreamPosition position = {};
  };
  static constexpr size_t most_marks = 32;

  void drop_oldest_mark() {
    ++first_;
    --count_;
  }

  Device &device_;
  const std::shared_ptr<StreamMarks> marks_;  // with the tasks of the section
  std::vector<Touch> touches_;
  uint64_t enqueued_ = 0, finished_ = 0;
  std::array<Mark, most_marks> marked_ = {};  // a ring, oldest first
  size_t first_ = 0, count_ = 0;
};

}  // namespace holoflow::runtime
