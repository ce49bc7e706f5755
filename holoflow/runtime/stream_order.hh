// SPDX-License-Identifier: LGPL-2.1-or-later
// What the host may touch while a section's stream runs behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "holoflow/runtime/device.hh"

namespace holoflow::runtime {

/// Storages that a node touches, as StreamOrder numbers them.
struct Access {
  std::vector<size_t> reads;
  std::vector<size_t> writes;
};

/// Work of a stream is counted; each storage carries the number of the last work that read and that
/// wrote it. The host waits only for what it is about to touch, and only where that has not
/// finished yet. Without a device nothing is counted and nothing waits.
///
///   enqueue(access)        work that touches the storages was put on the stream
///   before_host(access)    the host is about to: waits for writers before it reads, for readers
///                          and writers before it writes
///   mark(event)            records the event: waits for earlier work use it
///
/// Threads: the section's only.
class StreamOrder {
public:
  StreamOrder(Device *device, cudaStream_t stream) : device_(device), stream_(stream) {
    if (device == nullptr)
      return;
    const DeviceScope scope(*device);
    own_event_ = Event(*device);
  }

  /// The number of a storage, the same each time.
  [[nodiscard]] size_t number_of(int sid) {
    const auto [known, added] = numbers_.emplace(sid, touches_.size());
    if (added)
      touches_.emplace_back();
    return known->second;
  }

  [[nodiscard]] bool is_behind() const noexcept { return enqueued_ != finished_; }

  void enqueue(const Access &access) {
    if (device_ == nullptr)
      return;
    ++enqueued_;
    for (const auto storage : access.reads)
      touches_[storage].read = enqueued_;
    for (const auto storage : access.writes)
      touches_[storage].written = enqueued_;
  }

  void before_host(const Access &access) {
    if (!is_behind())
      return;
    uint64_t last = 0;
    for (const auto storage : access.reads)
      last = std::max(last, touches_[storage].written);
    for (const auto storage : access.writes)
      last = std::max({last, touches_[storage].written, touches_[storage].read});
    wait_until(last);
  }

  /// The storage stands for other memory from now on, which no work of this stream touches.
  void renew(size_t storage) { touches_[storage] = {}; }

  /// Records the event behind all work so far; the number of that work, for wait_until. At most
  /// most_marks are remembered, the newest.
  uint64_t mark(DeviceEvent event) {
    device_->record(event, stream_);
    if (count_ == most_marks) {
      ++first_;
      --count_;
    }
    marks_[(first_ + count_++) % most_marks] = {enqueued_, event};
    return enqueued_;
  }

  /// Waits on the thread until the work with that number, and all before, has finished.
  void wait_until(uint64_t work) {
    if (work <= finished_)
      return;
    while (count_ > 0) {
      const Mark mark = marks_[first_ % most_marks];
      ++first_;
      --count_;
      if (mark.work < work)
        continue;
      device_->synchronize(mark.event);
      finished_ = mark.work;
      return;
    }
    device_->record(own_event_.get(), stream_);
    device_->synchronize(own_event_.get());
    finished_ = enqueued_;
  }
  void wait_for_all() { wait_until(enqueued_); }
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
    DeviceEvent event = nullptr;
  };
  static constexpr size_t most_marks = 32;

  Device *const device_;
  const cudaStream_t stream_;
  Event own_event_;  // for waits that no mark serves
  std::map<int, size_t> numbers_;  // by storage id
  std::vector<Touch> touches_;
  uint64_t enqueued_ = 0, finished_ = 0;
  std::array<Mark, most_marks> marks_ = {};  // a ring, oldest first
  size_t first_ = 0, count_ = 0;
};

}  // namespace holoflow::runtime
