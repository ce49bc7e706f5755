// SPDX-License-Identifier: LGPL-2.1-or-later
// DualReaderBatchQueue: push, and pop at two places.
#include "holoflow/tasks/dual_reader/dual_reader_task.hh"

#include <algorithm>
#include <utility>

#include "holoflow/tasks/input_output/frame_layout.hh"

namespace holoflow::tasks {

using core::MemLoc;
using core::OpResult;

DualReaderTask::DualReaderTask(
    core::TDesc input, size_t window, size_t capacity, const core::AsyncCreateCtx &ctx,
    runtime::Device &device, CopyView copy_view)
    : input_(std::move(input)), window_(window), delay_(reader_delay(window)), capacity_(capacity),
      frame_bytes_(frame_bytes(input_)), copy_view_(std::move(copy_view)), device_(device),
      producer_stream_(ctx.producer_stream), consumer_stream_(ctx.consumer_stream),
      ring_(device, input_.mem_loc, (capacity + delay_ + 1) * frame_bytes_),
      records_(capacity + delay_) {
  const std::vector<std::byte> zeros(frame_bytes_);
  device_.copy(
      ring_.get() + records_.size() * frame_bytes_, input_.mem_loc, zeros.data(), MemLoc::Host,
      frame_bytes_, producer_stream_);
  device_.synchronize(producer_stream_);
}

std::byte *DualReaderTask::slot(uint64_t frame) const noexcept {
  return ring_.get() + frame % records_.size() * frame_bytes_;
}

OpResult DualReaderTask::try_push(core::AsyncPushCtx &ctx) {
  if (ctx.cancelled != nullptr && *ctx.cancelled)
    return OpResult::Cancelled;
  const uint64_t head = head_.load(std::memory_order_relaxed);
  if (head >= tail_.load(std::memory_order_acquire) + capacity_)
    return OpResult::NotReady;
  copy_view_(ctx.inputs[0].desc, ctx.inputs[0].data(), slot(head), producer_stream_);
  if (input_.mem_loc == MemLoc::Device)
    device_.synchronize(producer_stream_);
  const bool known = !ctx.input_records.empty() && ctx.input_records[0].size() == 1;
  records_[head % records_.size()] = known ? ctx.input_records[0][0] : core::FrameRecord{};
  head_.store(head + 1, std::memory_order_release);
  return OpResult::Ok;
}

void DualReaderTask::give_records(uint64_t frame, std::span<std::span<core::FrameRecord>> outputs) {
  const core::FrameRecord &current = records_[frame % records_.size()];
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty())
      continue;
    core::FrameRecord &record = outputs[i][0];
    record = i == 1 && frame >= delay_ ? records_[(frame - delay_) % records_.size()] : current;
    if (i == 1 && frame < delay_)
      record.flags |= core::FrameRecord::Gap;
  }
}

OpResult DualReaderTask::try_pop(core::AsyncPopCtx &ctx) {
  if (ctx.cancelled != nullptr && *ctx.cancelled)
    return OpResult::Cancelled;
  const uint64_t frame = tail_.load(std::memory_order_relaxed);
  const bool ended = ended_.load(std::memory_order_acquire);
  // Where the end is seen the count is final.
  if (head_.load(std::memory_order_acquire) == frame)
    return ended ? OpResult::Eof : OpResult::NotReady;
  const MemLoc loc = input_.mem_loc;
  const std::byte *zeros = ring_.get() + records_.size() * frame_bytes_;
  device_.copy(ctx.outputs[0].data(), loc, slot(frame), loc, frame_bytes_, consumer_stream_);
  device_.copy(
      ctx.outputs[1].data(), loc, frame < delay_ ? zeros : slot(frame - delay_), loc, frame_bytes_,
      consumer_stream_);
  const std::byte valid{static_cast<uint8_t>(frame + 1 >= window_ ? 1 : 0)};
  device_.copy(ctx.outputs[2].data(), loc, &valid, MemLoc::Host, 1, consumer_stream_);
  if (loc == MemLoc::Device)
    device_.synchronize(consumer_stream_);
  give_records(frame, ctx.output_records);
  // Nobody reads that frame's record any more; its owner is free.
  if (frame >= delay_)
    records_[(frame - delay_) % records_.size()] = core::FrameRecord{};
  tail_.store(frame + 1, std::memory_order_release);
  return OpResult::Ok;
}

void DualReaderTask::begin_run() {
  std::fill(records_.begin(), records_.end(), core::FrameRecord{});
  head_ = tail_ = 0;
  ended_ = false;
}

runtime::NodeLedgerView DualReaderTask::ledger_view() const {
  // What entered comes last, so that nothing left before it entered.
  runtime::NodeLedgerView view;
  view.left = tail_;
  view.entered = head_;
  view.held = view.entered - view.left;
  return view;
}

std::unique_ptr<core::IAsyncTask> make_dual_reader(
    const MakeArgs<core::AsyncCreateCtx> &args, CopyView copy_view) {
  runtime::Device &device =
      args.ctx.device >= 0 ? runtime::cuda_device(args.ctx.device) : runtime::host_device();
  return std::make_unique<DualReaderTask>(
      args.inputs[0], args.params.at("window_size").get<size_t>(),
      std::max(args.infer.window->capacity, args.ctx.min_slots), args.ctx, device,
      std::move(copy_view));
}

}  // namespace holoflow::tasks
