// SPDX-License-Identifier: LGPL-2.1-or-later
// How tests steer and count the emulated GPU: faults to play, calls that came, what is alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"

namespace holoflow::emulated {

/// The other face of the emulated GPU. Safe from any thread.
class Control {
public:
  virtual ~Control() = default;

  /// Device::wait(stream, event) does nothing: the device-side wait that somebody forgot.
  virtual void lose_waits(bool on) = 0;
  /// Device::record does nothing: the event keeps its former meaning.
  virtual void lose_records(bool on) = 0;
  /// Device::synchronize(event) returns at once: the host-side wait that somebody forgot.
  virtual void skip_host_waits(bool on) = 0;
  /// Recordings cannot follow memory that moves, as those with copies of several rows on CUDA.
  virtual void refuse_to_follow(bool on) = 0;
  /// The call-th following call that may fail (allocate, create_stream, create_event, record, wait,
  /// synchronize, query, milliseconds_between, copy, the launch of a task's work, and what concerns
  /// recordings: begin_recording, end_recording, prepare, set_parameters, launch_recorded) does
  /// nothing
  /// and throws core::DeviceError, once: "emulated GPU: call 3 failed: record". 0: none.
  virtual void fail_call(uint64_t call) = 0;
  /// The same, counting only what concerns recordings: "emulated GPU: recording call 3 failed: …".
  virtual void fail_recording_call(uint64_t call) = 0;
  /// From the call-th following call on every one of these throws the like, and what is pending
  /// never runs: the sticky errors of CUDA. 0: the device is there.
  virtual void lose_device(uint64_t call) = 0;
  /// No faults, and the counts of calls begin anew. What is alive stays counted.
  virtual void reset() = 0;

  /// Since the last reset: the calls that may fail, and some of them.
  [[nodiscard]] virtual uint64_t calls() const = 0;
  [[nodiscard]] virtual uint64_t stream_synchronisations() const = 0;
  [[nodiscard]] virtual uint64_t event_synchronisations() const = 0;
  [[nodiscard]] virtual uint64_t allocations() const = 0;
  /// Events that were made for milliseconds_between.
  [[nodiscard]] virtual uint64_t timed_events() const = 0;
  /// Recordings that began, and launches of recorded work.
  [[nodiscard]] virtual uint64_t recordings() const = 0;
  [[nodiscard]] virtual uint64_t recorded_launches() const = 0;
  /// How often Device::begin_range came with each name, since the last reset.
  [[nodiscard]] virtual std::map<std::string, uint64_t> ranges() const = 0;
  /// Those that end_range has not closed, less what it was called too often, since the last reset.
  [[nodiscard]] virtual int64_t open_ranges() const = 0;

  [[nodiscard]] virtual size_t live_allocations() const = 0;
  [[nodiscard]] virtual size_t live_events() const = 0;
  [[nodiscard]] virtual size_t live_streams() const = 0;
  [[nodiscard]] virtual int64_t live_recordings() const = 0;
  /// Operations that wait in all streams.
  [[nodiscard]] virtual size_t pending() const = 0;
  /// Blocks that were written after they had been freed, since the process began: work that was
  /// still pending then wrote into them. Where AddressSanitizer is on it ends the program instead.
  [[nodiscard]] virtual uint64_t written_after_free() = 0;
};

/// The emulated GPU, or null where GPU 0 is a real one or there is none.
[[nodiscard]] inline Control *control() {
  try {
    return dynamic_cast<Control *>(&runtime::cuda_device(0));
  } catch (const core::DeviceError &) {
    return nullptr;
  }
}

}  // namespace holoflow::emulated
