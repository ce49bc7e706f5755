// SPDX-License-Identifier: LGPL-2.1-or-later
// How a section's thread waits: for its stream, for its neighbours, for time.
#pragma once

#include <chrono>
#include <optional>

#include "holoflow/runtime/node_runtime.hh"
#include "holoflow/runtime/probe.hh"
#include "holoflow/runtime/stream_order.hh"

namespace holoflow::runtime {

/// Before any wait the producers of the section's queues hear of the room that they have not been
/// told of, so that no one sleeps while they do.
///
/// Threads: the section's only.
class SectionWaits {
public:
  SectionWaits(Waker &waker, StreamOrder &order, Probe &probe, const SectionSteps &steps)
      : waker_(waker), order_(order), probe_(probe), steps_(steps) {}

  /// Until the host may touch these storages.
  void before_host(const Access &access) { until(order_.work_before_host(access)); }
  /// Until that work of the stream has finished; returns at once where that is known.
  void until(uint64_t work);
  void announce_room();

  /// Before the first try of something that may have to be tried again.
  void reset_back_off();
  [[nodiscard]] auto epoch() const { return waker_.epoch(); }
  /// Sleeps until something changed since `epoch`, until the deadline, or, where a task must be
  /// polled, for a time that doubles with each call. `node` is what it waits for.
  void sleep(
      NodeRuntime &node, Probe::Wait wait, uint64_t epoch, bool polled,
      std::optional<Waker::Clock::time_point> deadline = std::nullopt);

private:
  Waker &waker_;
  StreamOrder &order_;
  Probe &probe_;
  const SectionSteps &steps_;
  std::chrono::microseconds back_off_{};
};

}  // namespace holoflow::runtime
