// SPDX-License-Identifier: LGPL-2.1-or-later
// DualReaderBatchQueue: push, and pop at two places.
#include "holoflow/tasks/dual_reader/dual_reader_task.hh"

#include <algorithm>
#include <cstring>
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
      ring_(device, input_.mem_loc, (capacity + delay_ + 1) * frame_bytes_ + 2),
      records_(capacity + delay_),
      written_(device, input_.mem_loc, producer_stream_, consumer_stream_, capacity),
      released_(device, input_.mem_loc, consumer_stream_, producer_stream_, capacity) {
  std::vector<std::byte> constants(frame_bytes_ + 2);
  constants.back() = std::byte{1};
  runtime::copy_and_wait(
      device_, ring_.get() + records_.size() * frame_bytes_, input_.mem_loc, constants.data(),
      MemLoc::Host, constants.size(), producer_stream_);
}

void DualReaderTask::copy(std::byte *to, const std::byte *from, size_t bytes) {
  if (input_.mem_loc == MemLoc::Host)
    std::memcpy(to, from, bytes);
  else
    device_.copy(to, MemLoc::Device, from, MemLoc::Device, bytes, consumer_stream_);
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
  if (head >= capacity_)
    released_.take(head - capacity_);
  copy_view_(ctx.inputs[0].desc, ctx.inputs[0].data(), slot(head), producer_stream_);
  written_.touch();
  written_.mark(head);
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
  written_.take(frame);
  const std::byte *zeros = ring_.get() + records_.size() * frame_bytes_;
  const std::byte *valid = zeros + frame_bytes_ + (frame + 1 >= window_ ? 1 : 0);
  copy(ctx.outputs[0].data(), slot(frame), frame_bytes_);
  copy(ctx.outputs[1].data(), frame < delay_ ? zeros : slot(frame - delay_), frame_bytes_);
  copy(ctx.outputs[2].data(), valid, 1);
  released_.touch();
  released_.mark(frame);
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
