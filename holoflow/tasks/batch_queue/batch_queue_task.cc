// SPDX-License-Identifier: LGPL-2.1-or-later
// BatchQueue: push, pop and the bookkeeping of a ring of frames.
#include "holoflow/tasks/batch_queue/batch_queue_task.hh"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "holoflow/tasks/input_output/frame_layout.hh"

namespace holoflow::tasks {

using core::MemLoc;
using core::OpResult;

namespace {

constexpr size_t alignment = 256;  // of a group of frames, as good as that of a block

bool first_or(const std::vector<bool> &flags, bool otherwise) {
  return flags.empty() ? otherwise : flags[0];
}

bool is_cancelled(const std::atomic<bool> *cancelled) {
  return cancelled != nullptr && *cancelled;
}

}  // namespace

BatchQueueTask::BatchQueueTask(
    QueueShape shape, const core::AsyncCreateCtx &ctx, runtime::Device &device, CopyView copy_view)
    : shape_(std::move(shape)), owns_input_(first_or(ctx.owned_inputs, true)),
      owns_output_(first_or(ctx.owned_outputs, true)), producer_stream_(ctx.producer_stream),
      consumer_stream_(ctx.consumer_stream), device_(device), copy_view_(std::move(copy_view)),
      frame_bytes_(frame_bytes(shape_.input)), group_bytes_(frame_bytes_) {
  const size_t push_bytes = shape_.frames_in * frame_bytes_;
  // Where each window lies within one push, pushes may start at aligned addresses.
  if (shape_.stride % shape_.frames_in == 0 && shape_.size <= shape_.frames_in) {
    group_ = shape_.frames_in;
    group_bytes_ = (push_bytes + alignment - 1) / alignment * alignment;
  }
  const MemLoc loc = shape_.input.mem_loc;
  const size_t frames = shape_.ring.frames + shape_.ring.repeated;
  ring_ = runtime::MemoryBlock(device_, loc, frames / group_ * group_bytes_);
  records_.resize(shape_.ring.frames);
  if (!owns_input_)
    return;
  const size_t owned = ctx.owned_input_bytes.empty() ? 0 : ctx.owned_input_bytes[0];
  if (owned > push_bytes || shape_.input.offset != 0 || !core::is_packed(shape_.input))
    staging_ = runtime::MemoryBlock(
        device_, loc, std::max(owned, shape_.input.offset + shape_.input.num_bytes()));
}

bool BatchQueueTask::has_room() const noexcept {
  const uint64_t tail = tail_.load(std::memory_order_acquire);
  return head_.load(std::memory_order_relaxed) + shape_.frames_in <= tail + shape_.ring.frames;
}

std::byte *BatchQueueTask::frame_at(uint64_t position) const noexcept {
  return ring_.get() + position / group_ * group_bytes_ + position % group_ * frame_bytes_;
}

bool BatchQueueTask::shown(uint64_t frame) const noexcept {
  return frame % shape_.stride < shape_.size;
}

void BatchQueueTask::move_frames(
    std::byte *to, const std::byte *from, size_t frames, cudaStream_t stream) {
  const MemLoc loc = shape_.input.mem_loc;
  if (loc == MemLoc::Host)
    std::memcpy(to, from, frames * frame_bytes_);
  else
    device_.copy(to, loc, from, loc, frames * frame_bytes_, stream);
  copied_ += frames;
}

// Nothing is published before the copies into or out of it are done.
void BatchQueueTask::finish_copies(cudaStream_t stream) {
  if (shape_.input.mem_loc == MemLoc::Device)
    device_.synchronize(stream);
}

std::optional<core::TView> BatchQueueTask::acquire_input(int index) {
  if (index != 0 || !owns_input_)
    throw std::out_of_range("BatchQueue: input " + std::to_string(index) + " is not its own");
  if (!lent_in_ && !has_room())
    return std::nullopt;
  lent_in_ = true;
  core::Storage &storage = storage_access().owned_input_storage(0);
  const uint64_t head = head_.load(std::memory_order_relaxed);
  storage.ptr = staging_.get() != nullptr ? staging_.get() : frame_at(head % shape_.ring.frames);
  return core::TView{shape_.input, &storage};
}

void BatchQueueTask::abandon_input(int index) {
  if (index != 0 || !owns_input_ || !std::exchange(lent_in_, false))
    return;
  storage_access().owned_input_storage(0).ptr = nullptr;
}

// Frames at the front of the ring appear behind its end too, for windows that reach past it.
void BatchQueueTask::repeat_front(uint64_t first) {
  const size_t position = first % shape_.ring.frames;
  if (position >= shape_.ring.repeated)
    return;
  const size_t count = std::min(shape_.frames_in, shape_.ring.repeated - position);
  move_frames(frame_at(shape_.ring.frames + position), frame_at(position), count, producer_stream_);
  finish_copies(producer_stream_);
}

void BatchQueueTask::keep_records(uint64_t first, std::span<core::FrameRecord> records) {
  for (size_t i = 0; i < shape_.frames_in; ++i) {
    core::FrameRecord &kept = records_[(first + i) % shape_.ring.frames];
    // Where the counts disagree nobody knows which record is whose.
    const bool known = records.size() == shape_.frames_in && shown(first + i);
    kept = known ? records[i] : core::FrameRecord{};
  }
}

OpResult BatchQueueTask::try_push(core::AsyncPushCtx &ctx) {
  if (is_cancelled(ctx.cancelled))
    return OpResult::Cancelled;
  if (owns_input_ && !lent_in_)
    throw std::logic_error("internal error: BatchQueue: try_push without acquire_input");
  if (!owns_input_ && !has_room())
    return OpResult::NotReady;
  const uint64_t head = head_.load(std::memory_order_relaxed);
  if (!owns_input_ || staging_.get() != nullptr) {
    copy_view_(
        ctx.inputs[0].desc, ctx.inputs[0].data(), frame_at(head % shape_.ring.frames),
        producer_stream_);
    copied_ += shape_.frames_in;
    finish_copies(producer_stream_);
  }
  repeat_front(head);
  keep_records(
      head, ctx.input_records.empty() ? std::span<core::FrameRecord>() : ctx.input_records[0]);
  if (owns_input_) {
    storage_access().owned_input_storage(0).ptr = nullptr;
    lent_in_ = false;
  }
  head_.store(head + shape_.frames_in, std::memory_order_release);
  return OpResult::Ok;
}

void BatchQueueTask::show_records(uint64_t first, std::span<core::FrameRecord> records) {
  for (size_t i = 0; i < std::min(shape_.size, records.size()); ++i) {
    core::FrameRecord &kept = records_[(first + i) % shape_.ring.frames];
    // The next window shows the frame again where it begins at or before it.
    if (i < shape_.stride)
      records[i] = std::exchange(kept, core::FrameRecord{});
    else
      records[i] = kept;
  }
}

OpResult BatchQueueTask::try_pop(core::AsyncPopCtx &ctx) {
  if (is_cancelled(ctx.cancelled))
    return OpResult::Cancelled;
  if (lent_out_)
    throw std::logic_error("internal error: BatchQueue: try_pop before release_output");
  const uint64_t first = tail_.load(std::memory_order_relaxed);
  if (head_.load(std::memory_order_acquire) < first + shape_.size) {
    if (!ended_.load(std::memory_order_acquire))
      return OpResult::NotReady;
    // The last push came before the end: only now the count is final.
    if (head_.load(std::memory_order_acquire) < first + shape_.size) {
      if (!flushed_.exchange(true))
        forget_records();
      return OpResult::Eof;
    }
  }
  std::byte *window = frame_at(first % shape_.ring.frames);
  show_records(
      first, ctx.output_records.empty() ? std::span<core::FrameRecord>() : ctx.output_records[0]);
  popped_.fetch_add(1, std::memory_order_release);
  if (owns_output_) {
    storage_access().owned_output_storage(0).ptr = window;
    lent_out_ = true;
    return OpResult::Ok;
  }
  move_frames(ctx.outputs[0].data(), window, shape_.size, consumer_stream_);
  finish_copies(consumer_stream_);
  tail_.store(first + shape_.stride, std::memory_order_release);
  return OpResult::Ok;
}

void BatchQueueTask::release_output(int index) {
  if (index != 0 || !owns_output_)
    throw std::out_of_range("BatchQueue: output " + std::to_string(index) + " is not its own");
  if (!std::exchange(lent_out_, false))
    return;
  storage_access().owned_output_storage(0).ptr = nullptr;
  tail_.store(tail_.load(std::memory_order_relaxed) + shape_.stride, std::memory_order_release);
}

void BatchQueueTask::forget_records() {
  std::fill(records_.begin(), records_.end(), core::FrameRecord{});
}

void BatchQueueTask::begin_run() {
  abandon_input(0);
  if (std::exchange(lent_out_, false))
    storage_access().owned_output_storage(0).ptr = nullptr;
  forget_records();
  head_ = tail_ = popped_ = copied_ = 0;
  ended_ = flushed_ = false;
}

runtime::NodeLedgerView BatchQueueTask::ledger_view() const {
  runtime::NodeLedgerView view;
  // Popped before head: a window that is counted is counted as pushed too.
  const uint64_t windows = popped_;
  const bool flushed = flushed_;
  view.entered = head_;
  if (windows > 0) {
    const uint64_t last = (windows - 1) * shape_.stride;
    view.left = shape_.size + (windows - 1) * std::min(shape_.size, shape_.stride);
    if (shape_.stride > shape_.size) {
      const uint64_t gap = shape_.stride - shape_.size;
      const uint64_t end = last + shape_.size;
      view.skipped = (windows - 1) * gap + std::min(gap, view.entered - end);
    }
  }
  view.held = view.entered - view.left - view.skipped;
  if (flushed) {
    view.dropped = std::exchange(view.held, 0);
    view.dropped_reason = "flush";
  }
  return view;
}

std::unique_ptr<core::IAsyncTask> make_batch_queue(
    const MakeArgs<core::AsyncCreateCtx> &args, CopyView copy_view) {
  const core::Window &window = *args.infer.window;
  QueueShape shape;
  shape.input = args.inputs[0];
  shape.output = args.infer.output_descs[0];
  shape.frames_in = window.frames_in;
  shape.size = window.size;
  shape.stride = window.stride;
  shape.ring = plan_ring(
      window.frames_in, window.size, window.stride, std::max(window.capacity, args.ctx.min_slots));
  runtime::Device &device =
      args.ctx.device >= 0 ? runtime::cuda_device(args.ctx.device) : runtime::host_device();
  return std::make_unique<BatchQueueTask>(std::move(shape), args.ctx, device, std::move(copy_view));
}

}  // namespace holoflow::tasks
