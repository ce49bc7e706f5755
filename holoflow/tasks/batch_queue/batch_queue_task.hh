// SPDX-License-Identifier: LGPL-2.1-or-later
// The task behind BatchQueue nodes: a ring of frames between one producer and one consumer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/rim.hh"
#include "holoflow/tasks/batch_queue/ring_plan.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

/// Copies a view into packed memory of the same location, in stream order on a device.
using CopyView = std::function<void(
    const core::TDesc &from_desc, const std::byte *from, std::byte *to, cudaStream_t stream)>;

/// The numbers of a queue, in frames, with its two tensors.
struct QueueShape {
  core::TDesc input;  ///< a push: shape[0] = frames_in
  core::TDesc output;  ///< a pop: shape[0] = size, packed
  size_t frames_in = 1;
  size_t size = 1;
  size_t stride = 1;
  RingPlan ring = {};
};

/// Frames are counted from 0: push k brings [kn, kn+n), pop j shows [j·stride, j·stride + size).
///
///   head: frames pushed (written by the producer)      tail: first frame still needed (consumer)
///   a push has room while head + n ≤ tail + R          a pop succeeds once head ≥ tail + size
///
/// Lock-free, one producer and one consumer: publishing head hands over the frames and records
/// before it, publishing tail gives their positions back. Frames that no window shows are pushed
/// like others but their records are not kept.
///
/// Ownership: an owned input is a piece of the ring itself, unless its producer writes through a
/// view of something larger; that is staged and copied. An owned output is a window in the ring. A
/// side that yielded copies, and waits for its stream before it publishes.
class BatchQueueTask final : public core::IAsyncTask,
                             public runtime::IRunObserver,
                             public runtime::ILedgerSource {
public:
  BatchQueueTask(
      QueueShape shape, const core::AsyncCreateCtx &ctx, runtime::Device &device,
      CopyView copy_view);

  core::OpResult try_push(core::AsyncPushCtx &ctx) override;
  core::OpResult try_pop(core::AsyncPopCtx &ctx) override;
  std::optional<core::TView> acquire_input(int index) override;
  void abandon_input(int index) override;
  void release_output(int index) override;
  void end_of_input() override { ended_.store(true, std::memory_order_release); }
  bool knows_end_of_input() const noexcept override { return true; }

  void begin_run() override;
  runtime::NodeLedgerView ledger_view() const override;

  /// Frames copied inside the task since the run began, any reason.
  [[nodiscard]] uint64_t copied_frames() const noexcept { return copied_; }
  [[nodiscard]] size_t ring_frames() const noexcept { return shape_.ring.frames; }

private:
  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] std::byte *frame_at(uint64_t position) const noexcept;
  [[nodiscard]] bool shown(uint64_t frame) const noexcept;
  void move_frames(std::byte *to, const std::byte *from, size_t frames, cudaStream_t stream);
  void finish_copies(cudaStream_t stream);
  void repeat_front(uint64_t first);
  void keep_records(uint64_t first, std::span<core::FrameRecord> records);
  void show_records(uint64_t first, std::span<core::FrameRecord> records);
  void forget_records();

  const QueueShape shape_;
  const bool owns_input_;
  const bool owns_output_;
  const cudaStream_t producer_stream_;
  const cudaStream_t consumer_stream_;
  runtime::Device &device_;
  const CopyView copy_view_;
  const size_t frame_bytes_;
  size_t group_ = 1;  // frames that lie back to back; groups start at aligned addresses
  size_t group_bytes_ = 0;
  runtime::MemoryBlock ring_;
  runtime::MemoryBlock staging_;  // where the owned input is no piece of the ring
  std::vector<core::FrameRecord> records_;  // by position, handed over with the frames

  bool lent_in_ = false;  // producer's: acquired, not yet pushed
  bool lent_out_ = false;  // consumer's: popped, not yet released

  alignas(64) std::atomic<uint64_t> head_ = 0;
  alignas(64) std::atomic<uint64_t> tail_ = 0;
  std::atomic<uint64_t> popped_ = 0;  // windows
  std::atomic<bool> ended_ = false;
  std::atomic<bool> flushed_ = false;  // the consumer saw the end: what is left is dropped
  std::atomic<uint64_t> copied_ = 0;
};

/// Makes the task for a spec's maker.
[[nodiscard]] std::unique_ptr<core::IAsyncTask> make_batch_queue(
    const MakeArgs<core::AsyncCreateCtx> &args, CopyView copy_view);

}  // namespace holoflow::tasks
