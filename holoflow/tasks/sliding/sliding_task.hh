// SPDX-License-Identifier: LGPL-2.1-or-later
// Averages over the last frames: a ring of frames whose mean is computed anew for each output.
//
// Nothing is added up over time, so nothing drifts: each output is the sum of its own frames, in
// double, from the oldest to the newest, divided once. A NaN is gone with its frame. Host and GPU
// add in the same order and give the same bits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/device/hand_over.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/rim.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

/// `count` frames of a ring, beginning at slot `first`.
struct RingFrames {
  const float *ring = nullptr;
  size_t elements = 0;  ///< of a frame
  size_t slots = 0;
  size_t first = 0;
  size_t count = 1;
};

/// What differs between Host and GPU; in stream order there.
struct AverageOps {
  std::function<void(
      const core::TDesc &from_desc, const std::byte *from, std::byte *to, cudaStream_t stream)>
      pack;
  std::function<void(const RingFrames &frames, float *mean, cudaStream_t stream)> mean;
};

/// The mean of the last min(k, W) frames, for each frame.
class CausalAverageTask final : public core::ISyncTask {
public:
  CausalAverageTask(
      const core::TDesc &input, size_t window, AverageOps ops, runtime::Device &device,
      cudaStream_t stream);

  core::OpResult execute(core::SyncCtx &ctx) override;
  void begin_run() override { count_ = 0; }
  void continue_run() override {}

private:
  core::TDesc frame_;
  const size_t frames_;
  const size_t frame_bytes_;
  const size_t window_;
  const AverageOps ops_;
  const cudaStream_t stream_;
  runtime::MemoryBlock ring_;
  uint64_t count_ = 0;
};

/// The numbers of a SlidingAverage, in frames.
struct AverageShape {
  core::TDesc input;
  size_t window = 1;
  size_t discard_first = 0;
  size_t slots = 1;  ///< of the ring, at least window − 1 and one push
};

/// The mean of W frames, once they are there: fewer frames leave than come, so the task is
/// asynchronous. A push copies its frames into the ring, frames that `valid` calls invalid and
/// those to discard are left out; a pop computes the mean of the oldest W and advances by one.
/// Lock-free, one producer and one consumer: publishing head hands frames over, publishing tail
/// gives their slots back.
class SlidingAverageTask final : public core::IAsyncTask,
                                 public runtime::IRunObserver,
                                 public runtime::ILedgerSource {
public:
  SlidingAverageTask(
      AverageShape shape, const core::AsyncCreateCtx &ctx, AverageOps ops, runtime::Device &device);

  core::OpResult try_push(core::AsyncPushCtx &ctx) override;
  core::OpResult try_pop(core::AsyncPopCtx &ctx) override;
  void end_of_input() override { ended_.store(true, std::memory_order_release); }
  bool knows_end_of_input() const noexcept override { return true; }

  void begin_run() override;
  /// Frames of windows to come stay.
  void continue_run() override { ended_ = flushed_ = false; }
  runtime::NodeLedgerView ledger_view() const override;

private:
  [[nodiscard]] float *slot(uint64_t frame) const noexcept;
  [[nodiscard]] core::FrameRecord take_record(uint64_t first);
  void read_valid(std::span<core::TView> inputs);

  const AverageShape shape_;
  core::TDesc frame_;
  const size_t frames_;
  const size_t frame_bytes_;
  const AverageOps ops_;
  runtime::Device &device_;
  const cudaStream_t producer_stream_;
  const cudaStream_t consumer_stream_;
  runtime::MemoryBlock ring_;
  std::vector<core::FrameRecord> records_;  // by slot
  runtime::HandOver written_, released_;  // by frame, by pop
  std::vector<uint8_t> valid_;  // of the push at hand, one or one per frame; empty = all are
  std::atomic<uint64_t> to_discard_ = 0;  // written by the producer

  alignas(64) std::atomic<uint64_t> head_ = 0;
  alignas(64) std::atomic<uint64_t> tail_ = 0;
  std::atomic<uint64_t> left_out_ = 0;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> flushed_ = false;
};

/// Frames that the ring of a SlidingAverage holds.
[[nodiscard]] size_t average_slots(size_t frames_in, size_t window, size_t min_frames);

[[nodiscard]] std::unique_ptr<core::ISyncTask> make_causal_average(
    const MakeArgs<core::SyncCreateCtx> &args, AverageOps ops);
[[nodiscard]] std::unique_ptr<core::IAsyncTask> make_sliding_average(
    const MakeArgs<core::AsyncCreateCtx> &args, AverageOps ops);

}  // namespace holoflow::tasks
