// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory that goes from the work of one stream to the work of another, again and again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holoflow/runtime/device.hh"

namespace holoflow::runtime {

/// One direction of a hand-over: the giving side marks hand-over k once the work that touches the
/// memory is enqueued, the taking side lets its own work wait for that mark. Nothing happens on the
/// CPU.
///
///   giver's thread:  enqueue work ─ mark(k) ─ publish k ┐  (an atomic of the caller)
///   taker's thread:                                     └► see k ─ take(k) ─ enqueue work
///
/// Device memory: take() makes the taker's stream wait, no thread does. Host memory: whoever takes
/// it may touch it from its thread, so take() waits there.
///
/// Marks are numbered from 0 and stand for everything before them: a stream's work runs in order.
/// `events` of them are kept apart; a later mark in the place of an earlier one makes take() wait
/// for more than it has to, never for less.
///
/// Threads: mark on the giver's, take on the taker's, begin_run while neither runs, finish on any.
class HandOver {
public:
  HandOver() = default;
  HandOver(
      Device &device, core::MemLoc memory, cudaStream_t from, cudaStream_t to, size_t events)
      : device_(&device), memory_(memory), from_(from), to_(to) {
    if (!device.is_gpu())
      return;
    for (size_t i = 0; i < std::clamp<size_t>(events, 1, most_events); ++i)
      events_.emplace_back(device);
  }

  void mark(uint64_t number) {
    if (!events_.empty())
      device_->record(event(number), from_);
  }

  void take(uint64_t number) {
    if (events_.empty() || number < taken_)
      return;
    if (memory_ == core::MemLoc::Device)
      device_->wait(to_, event(number));
    else
      device_->synchronize(event(number));
    taken_ = number + 1;
  }

  /// Waits, on the calling thread, until the work before the mark has finished.
  void finish(uint64_t number) {
    if (!events_.empty())
      device_->synchronize(event(number));
  }

  /// Numbers begin anew. All work of both streams has finished.
  void begin_run() { taken_ = 0; }

private:
  static constexpr size_t most_events = 256;

  [[nodiscard]] DeviceEvent event(uint64_t number) const {
    return events_[number % events_.size()].get();
  }

  Device *device_ = nullptr;
  core::MemLoc memory_ = core::MemLoc::Host;
  cudaStream_t from_ = nullptr, to_ = nullptr;
  std::vector<Event> events_;
  uint64_t taken_ = 0;  // the taker's: marks before are known
};

}  // namespace holoflow::runtime
