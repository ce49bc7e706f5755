// SPDX-License-Identifier: LGPL-2.1-or-later
// Drives a BatchQueue with frames that tell which frame they are.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "holoflow/tasks/batch_queue/batch_queue_task.hh"
#include "tests/tasks/slot_harness.hh"

namespace holoflow::test {

struct Numbers {
  size_t in = 1, size = 1, stride = 1, capacity = 1;
  std::string policy = "block";
  std::string flush = "drop";
};

inline std::string text(const Numbers &q) {
  return "input " + std::to_string(q.in) + ", size " + std::to_string(q.size) + ", stride " +
      std::to_string(q.stride) + ", capacity " + std::to_string(q.capacity) + ", " + q.policy +
      ", " + q.flush;
}

inline nlohmann::json params_of(const Numbers &q) {
  return {
      {"target_capacity", q.capacity},
      {"output_size", q.size},
      {"output_stride", q.stride},
      {"policy", q.policy},
      {"flush", q.flush}};
}

inline constexpr size_t pixels = 3;  // odd, so that frames are not aligned by accident

// Frames whose pixels tell which frame they are.
class Queue : public AsyncDriver {
public:
  explicit Queue(const Numbers &numbers, Place place = Place::Host, Options options = {})
      : AsyncDriver(
            place, "BatchQueue", params_of(numbers),
            core::TDesc({numbers.in, 1, pixels}, core::DType::F32, loc_at(place)), options),
        numbers_(numbers) {}

  bool push_next() {
    std::vector<float> values(numbers_.in * pixels);
    std::vector<core::FrameRecord> pushed_records(numbers_.in);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = value(pushed_ + i / pixels, i % pixels);
    for (size_t i = 0; i < numbers_.in; ++i) {
      pushed_records[i].sequence = pushed_ + i;
      pushed_records[i].pts_ns = static_cast<int64_t>(1000 * (pushed_ + i));
    }
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    if (!push(bytes, std::move(pushed_records)))
      return false;
    pushed_ += numbers_.in;
    return true;
  }

  // Checks pixels and records of the next window where one comes.
  core::OpResult pop_next() {
    const core::OpResult result = pop();
    if (result != core::OpResult::Ok)
      return result;
    const uint64_t first = windows_ * numbers_.stride;
    std::vector<float> values(popped.size() / sizeof(float));
    std::memcpy(values.data(), popped.data(), popped.size());
    for (size_t i = 0; i < values.size(); ++i)
      wrong_ += values[i] != value(first + i / pixels, i % pixels);
    for (size_t i = 0; i < numbers_.size; ++i) {
      wrong_ += records[i].sequence != first + i;
      wrong_ += records[i].pts_ns != static_cast<int64_t>(1000 * (first + i));
    }
    ++windows_;
    return result;
  }

  // Whatever window comes: its frames are consecutive, it begins at a multiple of the stride behind
  // the window before it, pixels and records agree, repeats at its end are the last frame. Its
  // first frame is in `first`, the number of frames that are no repeats in `shown`.
  core::OpResult pop_any() {
    const core::OpResult result = pop();
    if (result != core::OpResult::Ok)
      return result;
    const uint64_t before = first;
    first = records[0].sequence;
    shown = numbers_.size;
    while (shown > 0 && (records[shown - 1].flags & core::FrameRecord::Padding) != 0)
      --shown;
    wrong_ += shown == 0 || first % numbers_.stride != 0 || (windows_ > 0 && first <= before);
    std::vector<float> values(popped.size() / sizeof(float));
    std::memcpy(values.data(), popped.data(), popped.size());
    for (size_t i = 0; i < numbers_.size; ++i) {
      const uint64_t want = first + std::min(i, shown - 1);
      wrong_ += records[i].sequence != want;
      wrong_ += records[i].pts_ns != static_cast<int64_t>(1000 * want);
      for (size_t pixel = 0; pixel < pixels; ++pixel)
        wrong_ += values[i * pixels + pixel] != value(want, pixel);
    }
    ++windows_;
    return result;
  }

  // Every window that is there, each released at once: the first frames of all.
  std::vector<uint64_t> pop_all() {
    std::vector<uint64_t> firsts;
    while (pop_any() == core::OpResult::Ok) {
      firsts.push_back(first);
      release();
    }
    return firsts;
  }

  void push_until(uint64_t frames) {
    while (pushed_ < frames)
      ASSERT_TRUE(push_next()) << "frame " << pushed_;
  }

  uint64_t first = 0;
  size_t shown = 0;

  [[nodiscard]] uint64_t pushed() const { return pushed_; }
  [[nodiscard]] uint64_t windows() const { return windows_; }
  [[nodiscard]] uint64_t wrong() const { return wrong_; }
  [[nodiscard]] tasks::BatchQueueTask &queue() {
    return dynamic_cast<tasks::BatchQueueTask &>(*task);
  }
  [[nodiscard]] runtime::NodeLedgerView ledger() { return queue().ledger_view(); }

private:
  static float value(uint64_t frame, size_t pixel) { return static_cast<float>(frame * 8 + pixel); }

  Numbers numbers_;
  uint64_t pushed_ = 0;
  uint64_t windows_ = 0;
  uint64_t wrong_ = 0;
};

}  // namespace holoflow::test
