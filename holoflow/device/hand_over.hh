// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory that goes from the work of one stream to the work of another, again and again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "holoflow/runtime/device.hh"

namespace holoflow::runtime {

/// Waits for a stream that memory depends on, where no error can be told any more: tries twice,
/// because a wait that failed has not waited.
inline void finish_quietly(Device &device, cudaStream_t stream) noexcept {
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      device.synchronize(stream);
      return;
    } catch (...) {
      device.clear_last_error();
    }
  }
}

/// Copies in stream order and waits. Where it throws, nothing of the copy is pending: the caller
/// may free both sides.
inline void copy_and_wait(
    Device &device, std::byte *to, core::MemLoc to_loc, const std::byte *from,
    core::MemLoc from_loc, size_t bytes, cudaStream_t stream) {
  try {
    device.copy(to, to_loc, from, from_loc, bytes, stream);
    device.synchronize(stream);
  } catch (...) {
    finish_quietly(device, stream);
    throw;
  }
}

/// A place in the work of a stream, behind everything that was enqueued before. Plain values, to be
/// handed over with what they are about.
struct StreamPosition {
  DeviceEvent event = nullptr;  ///< null on the CPU, and before the first mark
  uint64_t number = 0;  ///< later positions of the same stream have greater ones
};

/// Marks positions in a stream with events. One is recorded only where work was enqueued since the
/// last: what a section pushes and releases in one iteration shares a mark, and so does the wait
/// for its results. Events are used again in turn; whoever waits for an old one then waits for more
/// than it has to, never for less.
///
/// Completion is known where somebody has waited for it on the host, and for what that work had
/// waited for: a consumer that has seen its result need not tell anyone that the input was read.
///
///   stream B: take(position p of A) ─ work ─ mark m          host: m has finished  ⇒  p has
///
/// Threads: the stream's only, but for of(), has_completed(), and waits for the events.
class StreamMarks {
public:
  StreamMarks(Device &device, cudaStream_t stream);
  /// The marks of a stream, shared by all who ask for them. Inert for the CPU.
  [[nodiscard]] static std::shared_ptr<StreamMarks> of(Device &device, cudaStream_t stream);

  /// Work has been, or is about to be, enqueued.
  void touch() noexcept { touched_ = true; }

  [[nodiscard]] StreamPosition mark() {
    if (touched_ && !events_.empty()) {
      const auto event = events_[++number_ % events_.size()].get();
      device_.record(event, stream_);
      last_ = {event, number_};
      touched_ = false;
    }
    return last_;
  }

  /// This stream waits for a position of `other`: what is marked from now on implies it.
  void depends_on(const std::shared_ptr<StreamMarks> &other, uint64_t number) {
    dependencies_[next_dependency_++ % dependencies_.size()] = {number_ + 1, number, other};
  }
  /// Whether the position is known to have been reached. Any thread.
  [[nodiscard]] bool has_completed(uint64_t number) const noexcept {
    return number <= completed_.load(std::memory_order_acquire);
  }
  /// The host has waited for that position.
  void completed(uint64_t number) {
    raise(number);
    for (auto &dependency : dependencies_) {
      if (dependency.marked_by > number)
        continue;
      if (const auto other = dependency.other.lock())
        other->raise(dependency.number);
      dependency.other.reset();
    }
  }

private:
  struct Dependency {
    uint64_t marked_by = 0;  // a mark of this stream from that number on implies it
    uint64_t number = 0;
    std::weak_ptr<StreamMarks> other;
  };

  void raise(uint64_t number) noexcept {
    auto known = completed_.load(std::memory_order_relaxed);
    while (known < number &&
           !completed_.compare_exchange_weak(known, number, std::memory_order_acq_rel)) {
    }
  }

  Device &device_;
  const cudaStream_t stream_;
  std::vector<Event> events_;  // none on the CPU
  StreamPosition last_;
  uint64_t number_ = 0;
  bool touched_ = true;
  std::atomic<uint64_t> completed_ = 0;
  std::array<Dependency, 16> dependencies_;  // the newest; an older one is forgotten
  size_t next_dependency_ = 0;
};

/// One direction of a hand-over: the giving side marks a slot once the work that touches its memory
/// is enqueued, the taking side lets its own work wait for that. Nothing happens on the CPU.
///
///   giver's thread:  enqueue work ─ mark(slot) ─ publish the slot ┐  (an atomic of the caller)
///   taker's thread:                                               └► see it ─ take(slot) ─ enqueue
///
/// Device memory: take() makes the taker's stream wait, no thread does. Host memory: whoever takes
/// it may touch it from its thread, so take() waits there.
///
/// A mark covers all of the giver's work before it: taking a later slot spares taking earlier ones.
/// `slots` are counted round: the caller sees to it that a slot is not marked again while the other
/// side may take it.
///
/// Threads: mark and touch on the giver's, take on the taker's, finish on any that has seen the
/// slot.
class HandOver {
public:
  HandOver() = default;
  HandOver(Device &device, core::MemLoc memory, cudaStream_t from, cudaStream_t to, size_t slots)
      : device_(&device), memory_(memory), marks_(StreamMarks::of(device, from)), to_(to),
        to_marks_(StreamMarks::of(device, to)), positions_(slots == 0 ? 1 : slots) {}

  /// The giver has put work on its stream by itself, outside of what its section executes.
  void touch() noexcept { marks_->touch(); }
  void mark(uint64_t slot) { positions_[slot % positions_.size()] = marks_->mark(); }

  void take(uint64_t slot) {
    const auto position = positions_[slot % positions_.size()];
    if (position.number <= taken_)
      return;
    taken_ = position.number;
    if (marks_->has_completed(position.number))
      return;
    if (memory_ == core::MemLoc::Device) {
      device_->wait(to_, position.event);
      to_marks_->depends_on(marks_, position.number);
    } else {
      device_->synchronize(position.event);
    }
  }

  /// Waits, on the calling thread, until the work before the mark has finished.
  void finish(uint64_t slot) {
    const auto &position = positions_[slot % positions_.size()];
    if (position.event != nullptr)
      device_->synchronize(position.event);
  }

private:
  Device *device_ = nullptr;
  core::MemLoc memory_ = core::MemLoc::Host;
  std::shared_ptr<StreamMarks> marks_;  // with the section and its other tasks
  cudaStream_t to_ = nullptr;
  std::shared_ptr<StreamMarks> to_marks_;
  std::vector<StreamPosition> positions_;
  uint64_t taken_ = 0;  // the taker's: positions up to here are known
};

}  // namespace holoflow::runtime
