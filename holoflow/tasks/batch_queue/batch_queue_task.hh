// SPDX-License-Identifier: LGPL-2.1-or-later
// The task behind BatchQueue nodes: a ring of frames between one producer and one consumer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/device/hand_over.hh"
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
  size_t keep = 1;  ///< frames that fit; the ring may be longer
  QueuePolicy policy = QueuePolicy::Block;
  bool pad = false;  ///< complete the last window
};

/// Frames in the ring are counted from 0: push k brings [kn, kn+n), window j shows
/// [j·stride, j·stride + size). K = keep frames, R = ring frames (R = K where the producer waits).
///
///   head: frames pushed (written by the producer)      tail: first frame still needed
///   a push fits while head + n ≤ tail + K              a pop succeeds once head ≥ tail + size
///
/// One producer, one consumer: publishing head hands over the frames and records before it,
/// publishing tail gives their positions back. Frames that no window shows are pushed like others
/// but their records are not kept. A mutex guards what a pop counts for the ledger.
///
/// block: a push that does not fit waits. tail belongs to the consumer; the producer takes no lock.
///
/// drop-newest: a push that does not fit is refused and counted. R ≥ K + n, so the slot at head can
/// always be lent; a refused push leaves head where it is. Refusing goes on for a common multiple
/// of n and stride, so windows of the ring are windows of all that came. The first frame after the
/// gap is marked: the consumer drops windows that it lies inside of.
///
/// drop-oldest: a push that does not fit moves the tail over whole windows, counted.
///  1. tail belongs to both sides, always under the mutex. R ≥ K + n + size.
///  2. A pop takes its window at once: under the mutex it pins tail and moves tail on. Without the
///     mutex it copies the window out (so nobody downstream holds the ring), then unpins.
///  3. The producer, after writing at [head, head + n), publishes head and, under the same lock,
///     moves tail until head ≤ tail + K. So the next slot is free of all but a pinned window.
///  4. Before it lends that slot it looks at the pin; only where the slot would run into it, that
///     is more than `size` frames came during one copy, it waits for that copy, never for a pop.
///  5. The second mutex, held by the consumer from pin to unpin, is what it waits for; the producer
///     holds no lock while it waits.
///
/// The first frame of a window after a loss is flagged Discontinuity.
///
/// The end: with `pad` a last window that has frames which none before it showed is completed in
/// the ring behind head, where the producer writes no more. Repeats are no frames of the ledger.
///
/// Ownership: an owned input is a piece of the ring itself, unless its producer writes through a
/// view of something larger; that is staged and copied. An owned output is a window in the ring, or
/// its copy; several may be lent at once, they come back in order. A side that yielded copies.
///
/// A GPU runs behind: frames are handed over while the work that writes or reads them is still
/// enqueued.
///
///   written_[push k]: the consumer's stream waits for the last push of its window
///   released_[window j], block: the producer's stream waits for the last window that was shown in
///     the place it writes to; no other, so that it may run ahead of the consumer
///   the policies that drop must not make the producer wait, not on the device either. drop-newest:
///     a window counts as released once the device has read it; the consumer waits for that one
///     window later. drop-oldest: the copy of a window runs on a stream of its own, which the
///     consumer waits for; its memory is used again once the device has read it.
class BatchQueueTask final : public core::IAsyncTask,
                             public runtime::IRunObserver,
                             public runtime::ILedgerSource,
                             public runtime::IInputLender {
public:
  BatchQueueTask(
      QueueShape shape, const core::AsyncCreateCtx &ctx, runtime::Device &device,
      CopyView copy_view);
  ~BatchQueueTask() override;

  core::OpResult try_push(core::AsyncPushCtx &ctx) override;
  core::OpResult try_pop(core::AsyncPopCtx &ctx) override;
  std::optional<core::TView> acquire_input(int index) override;
  bool lend_input(int index) override;
  void abandon_input(int index) override;
  void release_output(int index) override;
  void end_of_input() override { ended_.store(true, std::memory_order_release); }
  bool knows_end_of_input() const noexcept override { return true; }

  void begin_run() override;
  /// Frames that no window has shown are given up; what windows share stays. Where a push brings
  /// several frames and only some of them were shown, all are given up.
  void continue_run() override;
  runtime::NodeLedgerView ledger_view() const override;

  /// Frames copied inside the task since the run began, any reason.
  [[nodiscard]] uint64_t copied_frames() const noexcept { return copied_; }
  [[nodiscard]] size_t ring_frames() const noexcept { return shape_.ring.frames; }

private:
  // What pops (and drops of the oldest) have settled, in frames.
  struct Counts {
    uint64_t next = 0;  // where the next window begins
    uint64_t shown_end = 0;  // behind the last frame that a window showed
    uint64_t left = 0;
    uint64_t lost = 0;  // in windows that were dropped
    bool completed = false;  // the last window, with repeats
    bool flushed = false;  // the consumer saw the end: what is left is dropped
  };

  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] std::byte *frame_at(uint64_t position) const noexcept;
  [[nodiscard]] bool shown(uint64_t frame) const noexcept;
  void move_frames(std::byte *to, const std::byte *from, size_t frames, cudaStream_t stream);
  void wait_for_slot(uint64_t head);
  void wait_for_pinned();
  bool refuse();
  void repeat_front(uint64_t first);
  void keep_records(uint64_t first, std::span<core::FrameRecord> records);
  void publish(uint64_t head);
  void skip_window(uint64_t head);
  [[nodiscard]] size_t gap_inside(uint64_t first, size_t frames) const;
  [[nodiscard]] core::OpResult find_window(size_t &frames);
  void count_window(uint64_t first, size_t frames);
  void show_records(uint64_t first, size_t frames, std::span<core::FrameRecord> records);
  void complete_window(uint64_t first, size_t frames);
  void wait_for_host_memory();
  void wait_for_frames(uint64_t end);
  void take_window(std::byte *to, const std::byte *window);
  void lend(std::byte *memory, uint64_t first);
  void lend_or_copy(core::AsyncPopCtx &ctx, std::byte *window, uint64_t first);
  void give_back();
  [[nodiscard]] uint64_t first_needed() const;
  void settle();
  void begin_anew();
  [[nodiscard]] runtime::NodeLedgerView ledger_so_far() const;
  /// Under the mutex: frames before this one were shown, skipped or lost.
  [[nodiscard]] uint64_t settled(uint64_t head) const;
  void forget_records(uint64_t first, uint64_t end);

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
  runtime::Stream own_stream_;  // drop-oldest, on a GPU
  cudaStream_t window_stream_ = nullptr;  // what reads the ring
  std::vector<runtime::MemoryBlock> windows_;  // drop-oldest's owned outputs, in turn
  runtime::HandOver written_;  // by push
  runtime::HandOver released_;  // by window, where windows are dropped by count of releases
  std::vector<core::FrameRecord> records_;  // by position, handed over with the frames
  std::vector<uint8_t> after_gap_;  // the same: first shown frame after refused ones

  bool lent_in_ = false;  // producer's: acquired, not yet pushed
  size_t to_refuse_ = 0;  // producer's: frames until windows fit again
  bool gap_ = false;  // producer's: frames were refused, the next shown one is to be marked
  // The consumer's: windows lent, oldest first, as a ring of first frames.
  std::vector<uint64_t> lent_;
  uint64_t pops_ = 0, releases_ = 0;
  bool unsettled_ = false;  // the consumer's, drop-newest: the tail is one release behind

  alignas(64) std::atomic<uint64_t> head_ = 0;
  alignas(64) std::atomic<uint64_t> tail_ = 0;
  std::atomic<uint64_t> refused_ = 0;  // frames
  std::atomic<bool> ended_ = false;
  std::atomic<uint64_t> copied_ = 0;

  std::mutex copying_;  // drop-oldest: see above; taken before mutex_
  mutable std::mutex mutex_;  // held for numbers and records only
  Counts counts_;
  runtime::NodeLedgerView before_;  // what continue_run() settled
  std::optional<uint64_t> pinned_;  // drop-oldest: first frame of the window being copied
  bool lost_ = false;  // windows were dropped since the last one that was shown
};

/// The param `policy`.
[[nodiscard]] QueuePolicy queue_policy(const nlohmann::json &params);

/// Makes the task for a spec's maker.
[[nodiscard]] std::unique_ptr<core::IAsyncTask> make_batch_queue(
    const MakeArgs<core::AsyncCreateCtx> &args, CopyView copy_view);

}  // namespace holoflow::tasks
