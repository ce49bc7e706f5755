// SPDX-License-Identifier: LGPL-2.1-or-later
// SlidingAverage and CausalSlidingAverage: rings of frames.
#include "holoflow/tasks/sliding/sliding_task.hh"

#include <algorithm>
#include <cstring>
#include <utility>

#include "holoflow/core/merged_flags.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"

namespace holoflow::tasks {

using core::MemLoc;
using core::OpResult;

namespace {

// One frame of the tensor, as it lies in it.
core::TDesc one_frame(core::TDesc tensor) {
  if (tensor.rank() >= 3)
    tensor.shape[0] = 1;
  return tensor;
}

const std::byte *frame_of(const core::TView &view, size_t frame) {
  return view.data() + (frame == 0 ? 0 : frame * view.desc.strides[0]);
}

runtime::Device &device_of(int device) {
  return device >= 0 ? runtime::cuda_device(device) : runtime::host_device();
}

}  // namespace

CausalAverageTask::CausalAverageTask(
    const core::TDesc &input, size_t window, AverageOps ops, runtime::Device &device,
    cudaStream_t stream)
    : frame_(one_frame(input)), frames_(frame_count(input)), frame_bytes_(frame_bytes(input)),
      window_(window), ops_(std::move(ops)), stream_(stream),
      ring_(device, input.mem_loc, window * frame_bytes_) {}

OpResult CausalAverageTask::execute(core::SyncCtx &ctx) {
  const size_t elements = frame_bytes_ / sizeof(float);
  auto *ring = reinterpret_cast<float *>(ring_.get());
  for (size_t i = 0; i < frames_; ++i) {
    auto *slot = ring_.get() + count_ % window_ * frame_bytes_;
    ops_.pack(frame_, frame_of(ctx.inputs[0], i), slot, stream_);
    ++count_;
    const size_t count = static_cast<size_t>(std::min<uint64_t>(count_, window_));
    ops_.mean(
        {ring, elements, window_, static_cast<size_t>((count_ - count) % window_), count},
        reinterpret_cast<float *>(ctx.outputs[0].data() + i * frame_bytes_), stream_);
  }
  return OpResult::Ok;
}

SlidingAverageTask::SlidingAverageTask(
    AverageShape shape, const core::AsyncCreateCtx &ctx, AverageOps ops, runtime::Device &device)
    : shape_(std::move(shape)), frame_(one_frame(shape_.input)), frames_(frame_count(shape_.input)),
      frame_bytes_(frame_bytes(shape_.input)), ops_(std::move(ops)), device_(device),
      producer_stream_(ctx.producer_stream), consumer_stream_(ctx.consumer_stream),
      ring_(device, shape_.input.mem_loc, shape_.slots * frame_bytes_), records_(shape_.slots),
      written_(device, shape_.input.mem_loc, producer_stream_, consumer_stream_, shape_.slots),
      released_(device, shape_.input.mem_loc, consumer_stream_, producer_stream_, shape_.slots),
      to_discard_(shape_.discard_first) {}

float *SlidingAverageTask::slot(uint64_t frame) const noexcept {
  return reinterpret_cast<float *>(ring_.get() + frame % shape_.slots * frame_bytes_);
}

void SlidingAverageTask::read_valid(std::span<core::TView> inputs) {
  valid_.clear();
  if (inputs.size() < 2)
    return;
  const core::TView &flags = inputs[1];
  valid_.resize(flags.desc.num_elements());
  if (flags.desc.mem_loc == MemLoc::Host) {
    std::memcpy(valid_.data(), flags.data(), valid_.size());
    return;
  }
  device_.copy(
      reinterpret_cast<std::byte *>(valid_.data()), MemLoc::Host, flags.data(), MemLoc::Device,
      valid_.size(), producer_stream_);
  device_.synchronize(producer_stream_);
}

OpResult SlidingAverageTask::try_push(core::AsyncPushCtx &ctx) {
  if (ctx.cancelled != nullptr && *ctx.cancelled)
    return OpResult::Cancelled;
  uint64_t head = head_.load(std::memory_order_relaxed);
  if (head + frames_ > tail_.load(std::memory_order_acquire) + shape_.slots)
    return OpResult::NotReady;
  read_valid(ctx.inputs);
  if (head + frames_ > shape_.slots)
    released_.take(head + frames_ - shape_.slots - 1);
  std::span<core::FrameRecord> records;
  if (!ctx.input_records.empty() && ctx.input_records[0].size() == frames_)
    records = ctx.input_records[0];
  uint64_t left_out = 0;
  for (size_t i = 0; i < frames_; ++i) {
    const bool valid = valid_.empty() || valid_[valid_.size() == 1 ? 0 : i] != 0;
    if (!valid || to_discard_ > 0) {
      to_discard_ -= valid ? 1 : 0;
      ++left_out;
      continue;
    }
    ops_.pack(
        frame_, frame_of(ctx.inputs[0], i), reinterpret_cast<std::byte *>(slot(head)),
        producer_stream_);
    records_[head % shape_.slots] = records.empty() ? core::FrameRecord{} : records[i];
    ++head;
  }
  written_.touch();
  for (uint64_t frame = head_.load(std::memory_order_relaxed); frame != head; ++frame)
    written_.mark(frame);
  left_out_.fetch_add(left_out, std::memory_order_release);
  head_.store(head, std::memory_order_release);
  return OpResult::Ok;
}

// Of the window that begins with frame `first`. The flags stay: later windows show the frame too.
core::FrameRecord SlidingAverageTask::take_record(uint64_t first) {
  core::MergedFlags flags;
  for (size_t i = 0; i < shape_.window; ++i)
    flags.add(records_[(first + i) % shape_.slots].flags);
  core::FrameRecord &newest = records_[(first + shape_.window - 1) % shape_.slots];
  core::FrameRecord record = newest;
  newest.owner.reset();
  record.flags = flags.value();
  return record;
}

OpResult SlidingAverageTask::try_pop(core::AsyncPopCtx &ctx) {
  if (ctx.cancelled != nullptr && *ctx.cancelled)
    return OpResult::Cancelled;
  const uint64_t first = tail_.load(std::memory_order_relaxed);
  const bool ended = ended_.load(std::memory_order_acquire);
  // Where the end is seen the count is final.
  if (head_.load(std::memory_order_acquire) < first + shape_.window) {
    if (!ended)
      return OpResult::NotReady;
    flushed_ = true;
    return OpResult::Eof;
  }
  written_.take(first + shape_.window - 1);
  ops_.mean(
      {reinterpret_cast<const float *>(ring_.get()), frame_bytes_ / sizeof(float), shape_.slots,
       static_cast<size_t>(first % shape_.slots), shape_.window},
      reinterpret_cast<float *>(ctx.outputs[0].data()), consumer_stream_);
  if (!ctx.output_records.empty() && !ctx.output_records[0].empty())
    ctx.output_records[0][0] = take_record(first);
  released_.touch();
  released_.mark(first);
  tail_.store(first + 1, std::memory_order_release);
  return OpResult::Ok;
}

void SlidingAverageTask::begin_run() {
  std::fill(records_.begin(), records_.end(), core::FrameRecord{});
  to_discard_ = shape_.discard_first;
  head_ = tail_ = left_out_ = 0;
  ended_ = flushed_ = false;
}

runtime::NodeLedgerView SlidingAverageTask::ledger_view() const {
  // What entered comes last, so that nothing left before it entered.
  const bool flushed = flushed_;
  const uint64_t means = tail_;
  runtime::NodeLedgerView view;
  view.left = means > 0 ? means + shape_.window - 1 : 0;
  view.skipped = left_out_;
  view.entered = head_ + view.skipped;
  view.held = view.entered - view.left - view.skipped;
  const uint64_t window_end = means + shape_.window + to_discard_,
                 head = view.entered - view.skipped;
  view.awaited = window_end > head ? window_end - head : 0;
  if (flushed) {
    view.dropped = std::exchange(view.held, 0);
    view.dropped_reason = "flush";
  }
  return view;
}

size_t average_slots(size_t frames_in, size_t window, size_t min_frames) {
  return std::max(window - 1 + 2 * frames_in, min_frames + window - 1);
}

std::unique_ptr<core::ISyncTask> make_causal_average(
    const MakeArgs<core::SyncCreateCtx> &args, AverageOps ops) {
  return std::make_unique<CausalAverageTask>(
      args.inputs[0], args.params.at("window_size").get<size_t>(), std::move(ops),
      device_of(args.ctx.device), args.ctx.stream);
}

std::unique_ptr<core::IAsyncTask> make_sliding_average(
    const MakeArgs<core::AsyncCreateCtx> &args, AverageOps ops) {
  AverageShape shape;
  shape.input = args.inputs[0];
  shape.window = args.params.at("window_size").get<size_t>();
  shape.discard_first = args.params.at("discard_first").get<size_t>();
  shape.slots = average_slots(frame_count(shape.input), shape.window, args.ctx.min_slots);
  return std::make_unique<SlidingAverageTask>(
      std::move(shape), args.ctx, std::move(ops), device_of(args.ctx.device));
}

}  // namespace holoflow::tasks
