// SPDX-License-Identifier: LGPL-2.1-or-later
// An emulated GPU whose streams run as late as a real one's ever may: a test of who waits for whom.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "holoflow/runtime/device.hh"
#include "tests/emulated/control.hh"
#include "tests/emulated/late_recording.hh"

namespace holoflow::emulated {

/// A device in host memory. A stream is a queue of operations, and none of them runs before
/// somebody on the host waits for it:
///
///   copy, launch ──► stream A:  [work] [work] [reach m] …
///                    stream B:  [await m] [work] …          record makes m, wait awaits it
///
/// Waiting for a stream runs all of it, waiting for an event runs its stream up to the mark that
/// was recorded last. An await first runs the other stream up to its mark, on the waiting thread.
/// A mark is made by one record and never used again, so recording an event anew changes nothing
/// for those who await its older marks. An event that was never recorded has happened.
///
/// So that those who ask instead of waiting get on too, query runs one operation after it has
/// answered; a stream that holds more than `longest_queue` operations runs its oldest.
///
/// Time passes as on the host: a timed event has the time at which its mark was reached.
///
/// A stream that records keeps operations instead (LateRecording); an event on it is an error, as
/// for CUDA, and spoils the recording.
///
/// Work reads and writes memory when it runs, pageable host memory too (CUDA would have copied that
/// before it returns). New memory is filled with 0xA5, freed memory with 0xDB; it is given back
/// once nothing is pending, so that late writes into it are seen and hurt nobody.
///
/// Threads: one mutex guards everything, and work runs under it. It must not call the device.
/// Errors: what work throws is thrown by the next wait, once, as an error of CUDA would.
class LateDevice final : public runtime::Device, public Control {
public:
  using Work = std::function<void()>;
  static constexpr size_t longest_queue = 256;
  static constexpr size_t memory_bytes = size_t{4} << 30;

  /// What a kernel would be: work in stream order.
  void launch(cudaStream_t stream, Work work);
  void launch(cudaStream_t stream, LateWork work);

  [[nodiscard]] std::string name() const override { return "emulated GPU"; }
  [[nodiscard]] int index() const noexcept override { return 0; }
  [[nodiscard]] std::byte *allocate(core::MemLoc loc, size_t bytes) override;
  void free(core::MemLoc loc, std::byte *ptr) noexcept override;
  [[nodiscard]] cudaStream_t create_stream() override;
  void destroy_stream(cudaStream_t stream) noexcept override;
  void synchronize(cudaStream_t stream) override;
  [[nodiscard]] runtime::DeviceEvent create_event() override;
  void destroy_event(runtime::DeviceEvent event) noexcept override;
  void record(runtime::DeviceEvent event, cudaStream_t stream) override;
  [[nodiscard]] runtime::DeviceEvent create_timed_event() override;
  [[nodiscard]] double milliseconds_between(
      runtime::DeviceEvent begin, runtime::DeviceEvent end) override;
  void begin_range(const char *name) noexcept override;
  void end_range() noexcept override;
  void wait(cudaStream_t stream, runtime::DeviceEvent event) override;
  void synchronize(runtime::DeviceEvent event) override;
  [[nodiscard]] bool query(runtime::DeviceEvent event) override;
  void copy(
      std::byte *to, core::MemLoc to_loc, const std::byte *from, core::MemLoc from_loc,
      size_t bytes, cudaStream_t stream) override;
  [[nodiscard]] bool can_record() const noexcept override { return true; }
  void begin_recording(cudaStream_t stream) override;
  [[nodiscard]] std::unique_ptr<runtime::RecordedWork> end_recording(
      cudaStream_t stream, std::vector<runtime::RecordedMemory> memory) override;
  void abandon_recording(cudaStream_t stream) noexcept override;
  int select() override { return 0; }
  void restore(int) noexcept override {}
  void clear_last_error() noexcept override {}

  void lose_waits(bool on) override;
  void lose_records(bool on) override;
  void skip_host_waits(bool on) override;
  void refuse_to_follow(bool on) override;
  void fail_call(uint64_t call) override;
  void fail_recording_call(uint64_t call) override;
  void lose_device(uint64_t call) override;
  void reset() override;
  [[nodiscard]] uint64_t calls() const override;
  [[nodiscard]] uint64_t stream_synchronisations() const override;
  [[nodiscard]] uint64_t event_synchronisations() const override;
  [[nodiscard]] uint64_t allocations() const override;
  [[nodiscard]] uint64_t timed_events() const override;
  [[nodiscard]] uint64_t recordings() const override;
  [[nodiscard]] uint64_t recorded_launches() const override;
  [[nodiscard]] int64_t live_recordings() const override;
  [[nodiscard]] std::map<std::string, uint64_t> ranges() const override;
  [[nodiscard]] int64_t open_ranges() const override;
  [[nodiscard]] size_t live_allocations() const override;
  [[nodiscard]] size_t live_events() const override;
  [[nodiscard]] size_t live_streams() const override;
  [[nodiscard]] size_t pending() const override;
  [[nodiscard]] uint64_t written_after_free() override;

  // For LateRecording.
  void count(const char *recording_call);
  void count_recording(int difference);
  [[nodiscard]] bool refuses_to_follow() const;
  void launch_recorded(cudaStream_t stream, const std::vector<LateWork> &work);

private:
  struct StreamQueue;
  struct Mark {
    StreamQueue *queue;  // lives while the mark is not reached
    bool reached = false;
    std::chrono::steady_clock::time_point when = {};  // it was reached
  };
  struct Reach {
    std::shared_ptr<Mark> mark;  // shared with its event and those who await it
  };
  struct Await {
    std::shared_ptr<Mark> mark;
  };
  struct Recording {
    std::vector<LateWork> work;
    bool is_spoilt = false;
  };
  struct StreamQueue {
    std::deque<std::variant<Work, Reach, Await>> operations;
    std::unique_ptr<Recording> recording = {};  // null: operations are enqueued
  };
  struct Faults {
    bool lose_waits = false, lose_records = false, skip_host_waits = false;
    bool refuse_to_follow = false;
    bool lose_device = false;  // with the call that fails
    uint64_t call = 0;  // that fails, as it was asked for
    uint64_t calls_left = 0;  // until then
    bool lost = false;  // the device is
    uint64_t recording_call = 0, recording_calls_left = 0;  // the same for those only
  };
  struct Counts {
    uint64_t calls = 0, streams = 0, events = 0, allocations = 0, timed_events = 0;
    uint64_t recordings = 0, recorded_launches = 0;
    std::map<std::string, uint64_t> ranges;
    int64_t open_ranges = 0;
  };
  struct Grave {
    std::byte *ptr;
    size_t bytes;
  };

  void count_call(const char *name);
  void count_recording_call(const char *name);
  [[nodiscard]] StreamQueue &queue_of(cudaStream_t stream);
  [[nodiscard]] std::shared_ptr<Mark> &mark_of(runtime::DeviceEvent event);
  [[nodiscard]] const Mark &reached_mark_of(runtime::DeviceEvent event);
  void refuse_while_recording(StreamQueue &queue);
  void enqueue(StreamQueue &queue, LateWork work);
  void enqueue(StreamQueue &queue, std::variant<Work, Reach, Await> operation);
  void run_oldest(StreamQueue &queue);
  void run_all(StreamQueue &queue);
  void run_up_to(Mark &mark);
  void advance(StreamQueue &queue);
  void throw_failure();
  [[nodiscard]] size_t count_pending() const;
  void empty_graves();

  mutable std::mutex mutex_;  // guards everything below; held while work runs
  uint64_t last_handle_ = 0;  // handles are numbers and never come again
  StreamQueue own_;  // takes what comes with the null stream; empty again when a call returns
  std::map<cudaStream_t, StreamQueue> streams_;
  std::map<runtime::DeviceEvent, std::shared_ptr<Mark>> events_;  // null: never recorded
  std::set<runtime::DeviceEvent> timed_events_;
  std::map<std::byte *, size_t> memory_;
  size_t bytes_in_use_ = 0;
  std::vector<Grave> graves_;
  uint64_t written_after_free_ = 0;
  std::exception_ptr failure_;  // of work, not thrown yet
  Faults faults_;
  Counts counts_;
  std::atomic<int64_t> live_recordings_ = 0;
};

/// The one of the module. Never destroyed: threads may still free memory while static objects go.
[[nodiscard]] LateDevice &late_device();

}  // namespace holoflow::emulated
