// SPDX-License-Identifier: LGPL-2.1-or-later
// The task behind DualReaderBatchQueue nodes: one ring of frames, read at two places.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/device/hand_over.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/rim.hh"
#include "holoflow/tasks/batch_queue/batch_queue_task.hh"

namespace holoflow::tasks {

/// Frames of the past that the second reader needs: ⌊(window − 1) / 2⌋.
[[nodiscard]] constexpr size_t reader_delay(size_t window) {
  return (window - 1) / 2;
}

/// Pop k gives frame k, frame k − d (zeros before there is one) and whether k ≥ window − 1, so that
/// `delayed` is the middle of a full window of frames up to `current`.
///
/// Frame k lies in slot k mod R, R = capacity + d: pushing it takes the slot of frame k − R, which
/// the next pop, of frame tail ≥ k + 1 − capacity, reads neither as the current nor as the delayed
/// one. A push copies in and a pop copies out, in the order of their streams; pop k − capacity has
/// to have read before push k writes. Lock-free, one producer and one consumer.
class DualReaderTask final : public core::IAsyncTask,
                             public runtime::IRunObserver,
                             public runtime::ILedgerSource {
public:
  DualReaderTask(
      core::TDesc input, size_t window, size_t capacity, const core::AsyncCreateCtx &ctx,
      runtime::Device &device, CopyView copy_view);

  core::OpResult try_push(core::AsyncPushCtx &ctx) override;
  core::OpResult try_pop(core::AsyncPopCtx &ctx) override;
  void end_of_input() override { ended_.store(true, std::memory_order_release); }
  bool knows_end_of_input() const noexcept override { return true; }

  void begin_run() override;
  void continue_run() override { ended_ = false; }
  runtime::NodeLedgerView ledger_view() const override;

private:
  [[nodiscard]] std::byte *slot(uint64_t frame) const noexcept;
  void copy(std::byte *to, const std::byte *from, size_t bytes);
  void give_records(uint64_t frame, std::span<std::span<core::FrameRecord>> outputs);

  const core::TDesc input_;
  const size_t window_;
  const size_t delay_;
  const size_t capacity_;
  const size_t frame_bytes_;
  const CopyView copy_view_;
  runtime::Device &device_;
  const cudaStream_t producer_stream_;
  const cudaStream_t consumer_stream_;
  runtime::MemoryBlock ring_;  // behind it a frame of zeros, and the bytes 0 and 1
  std::vector<core::FrameRecord> records_;  // by slot
  runtime::HandOver written_, released_;  // by push, by pop

  alignas(64) std::atomic<uint64_t> head_ = 0;
  alignas(64) std::atomic<uint64_t> tail_ = 0;
  std::atomic<bool> ended_ = false;
};

[[nodiscard]] std::unique_ptr<core::IAsyncTask> make_dual_reader(
    const MakeArgs<core::AsyncCreateCtx> &args, CopyView copy_view);

}  // namespace holoflow::tasks
