// SPDX-License-Identifier: LGPL-2.1-or-later
// RateLimiter: push, pop and the time between pops.
#include "holoflow/tasks/rate_limiter/rate_limiter_task.hh"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "holoflow/tasks/common/queue.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"

namespace holoflow::tasks {

using core::MemLoc;
using core::OpResult;

RateLimiterTask::RateLimiterTask(
    core::TDesc tensor, std::chrono::nanoseconds period, bool drops,
    const core::AsyncCreateCtx &ctx, runtime::Device &device, RateClock clock)
    : tensor_(std::move(tensor)), period_(period), drops_(drops),
      owns_input_(first_or(ctx.owned_inputs, true)),
      owns_output_(first_or(ctx.owned_outputs, true)), producer_stream_(ctx.producer_stream),
      consumer_stream_(ctx.consumer_stream), device_(device), clock_(std::move(clock)) {
  // As large as the storage that the producer writes, should the tensor be a view of it.
  size_t bytes = tensor_.offset + tensor_.num_bytes();
  if (!ctx.owned_input_bytes.empty())
    bytes = std::max(bytes, ctx.owned_input_bytes[0]);
  const size_t slots = limiter_slots(tensor_, ctx.min_slots, drops_);
  for (size_t i = 0; i < slots; ++i)
    slots_.emplace_back(device_, tensor_.mem_loc, bytes);
  records_.assign(slots, std::vector<core::FrameRecord>(frame_count(tensor_)));
  order_.resize(slots);
  std::iota(order_.begin(), order_.end(), size_t{0});
  const MemLoc loc = tensor_.mem_loc;
  written_ = runtime::HandOver(device_, loc, producer_stream_, consumer_stream_, slots);
  released_ = runtime::HandOver(device_, loc, consumer_stream_, producer_stream_, slots);
}

bool RateLimiterTask::has_room() const noexcept {
  return pushed_.load(std::memory_order_relaxed) <
      freed_.load(std::memory_order_acquire) + slots_.size();
}

// Both views have the same strides, so the bytes between their elements may go along.
void RateLimiterTask::copy(std::byte *to, const std::byte *from, cudaStream_t stream) {
  const MemLoc loc = tensor_.mem_loc;
  if (loc == MemLoc::Host)
    std::memcpy(to, from, tensor_.num_bytes());
  else
    device_.copy(to, loc, from, loc, tensor_.num_bytes(), stream);
}

// The slot that tensor `tensor` goes to may still be read on the device.
void RateLimiterTask::wait_for_slot(uint64_t tensor) {
  if (!drops_ && tensor >= slots_.size())
    released_.take(tensor - slots_.size());
}

std::optional<core::TView> RateLimiterTask::acquire_input(int index) {
  if (!lend_input(index))
    return std::nullopt;
  return core::TView{tensor_, &storage_access().owned_input_storage(0)};
}

bool RateLimiterTask::lend_input(int index) {
  if (index != 0 || !owns_input_)
    throw std::out_of_range("RateLimiter: input " + std::to_string(index) + " is not its own");
  if (!lent_in_ && !has_room())
    return false;
  lent_in_ = true;
  core::Storage &storage = storage_access().owned_input_storage(0);
  const uint64_t tensor = pushed_.load(std::memory_order_relaxed);
  wait_for_slot(tensor);
  storage.ptr = slots_[slot_of(tensor)].get();
  return true;
}

void RateLimiterTask::abandon_input(int index) {
  if (index != 0 || !owns_input_ || !std::exchange(lent_in_, false))
    return;
  storage_access().owned_input_storage(0).ptr = nullptr;
}

// Tensor `tensor` is in its slot. Where an older one still waits, dropping, it takes its number.
void RateLimiterTask::publish(uint64_t tensor) {
  if (!drops_)
    return pushed_.store(tensor + 1, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  if (popped_.load(std::memory_order_relaxed) == tensor)
    return pushed_.store(tensor + 1, std::memory_order_release);
  std::vector<core::FrameRecord> &older = records_[slot_of(tensor - 1)];
  std::fill(older.begin(), older.end(), core::FrameRecord{});
  std::swap(order_[(tensor - 1) % order_.size()], order_[tensor % order_.size()]);
  dropped_.fetch_add(1, std::memory_order_release);
  lost_ = true;
}

OpResult RateLimiterTask::try_push(core::AsyncPushCtx &ctx) {
  if (is_cancelled(ctx.cancelled))
    return OpResult::Cancelled;
  if (owns_input_ && !lent_in_)
    throw std::logic_error("internal error: RateLimiter: try_push without acquire_input");
  if (!owns_input_ && !has_room())
    return OpResult::NotReady;
  const uint64_t tensor = pushed_.load(std::memory_order_relaxed);
  const size_t slot = slot_of(tensor);
  if (owns_input_) {
    storage_access().owned_input_storage(0).ptr = nullptr;
    lent_in_ = false;
  } else {
    wait_for_slot(tensor);
    copy(slots_[slot].get() + tensor_.offset, ctx.inputs[0].data(), producer_stream_);
    written_.touch();
  }
  std::vector<core::FrameRecord> &records = records_[slot];
  const bool known = !ctx.input_records.empty() && ctx.input_records[0].size() == records.size();
  for (size_t i = 0; i < records.size(); ++i)
    records[i] = known ? ctx.input_records[0][i] : core::FrameRecord{};
  written_.mark(slot);
  publish(tensor);
  return OpResult::Ok;
}

// The slot of the waiting tensor, which from now on is being read.
size_t RateLimiterTask::take(uint64_t tensor, std::span<core::FrameRecord> out) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (drops_)
    lock.lock();
  const size_t slot = slot_of(tensor);
  std::vector<core::FrameRecord> &records = records_[slot];
  for (size_t i = 0; i < std::min(records.size(), out.size()); ++i)
    out[i] = std::exchange(records[i], core::FrameRecord{});
  if (drops_ && std::exchange(lost_, false) && !out.empty())
    out[0].flags |= core::FrameRecord::Discontinuity;
  popped_.store(tensor + 1, std::memory_order_release);
  return slot;
}

OpResult RateLimiterTask::try_pop(core::AsyncPopCtx &ctx) {
  if (is_cancelled(ctx.cancelled))
    return OpResult::Cancelled;
  settle();
  const uint64_t tensor = popped_.load(std::memory_order_relaxed);
  if (pushed_.load(std::memory_order_acquire) == tensor) {
    if (!ended_.load(std::memory_order_acquire))
      return OpResult::NotReady;
    // The last push came before the end: only now the count is final.
    if (pushed_.load(std::memory_order_acquire) == tensor)
      return OpResult::Eof;
  }
  const auto now = clock_();
  if (now < next_)
    return OpResult::NotReady;
  next_ = now + period_;
  const size_t slot = take(
      tensor, ctx.output_records.empty() ? std::span<core::FrameRecord>() : ctx.output_records[0]);
  written_.take(slot);
  std::byte *memory = slots_[slot].get();
  if (owns_output_) {
    storage_access().owned_output_storage(0).ptr = memory;
    return OpResult::Ok;
  }
  copy(ctx.outputs[0].data(), memory + tensor_.offset, consumer_stream_);
  released_.touch();
  free_oldest();
  return OpResult::Ok;
}

// The oldest tensor that was popped has been read, or will have been when the stream gets here.
void RateLimiterTask::free_oldest() {
  if (!device_.is_gpu() && !drops_)
    poison(slots_[slot_of(released_count_)].get(), slots_[slot_of(released_count_)].bytes());
  released_.mark(released_count_++);
  if (!drops_ || !device_.is_gpu())
    freed_.store(released_count_, std::memory_order_release);
}

// Dropping: the producer is lent slots that the device has really read.
void RateLimiterTask::settle() {
  if (freed_.load(std::memory_order_relaxed) == released_count_)
    return;
  released_.finish(released_count_ - 1);
  freed_.store(released_count_, std::memory_order_release);
}

void RateLimiterTask::release_output(int index) {
  if (index != 0 || !owns_output_)
    throw std::out_of_range("RateLimiter: output " + std::to_string(index) + " is not its own");
  if (released_count_ == popped_.load(std::memory_order_relaxed))
    return;
  storage_access().owned_output_storage(0).ptr = nullptr;
  free_oldest();
}

std::optional<std::chrono::steady_clock::time_point> RateLimiterTask::ready_at() {
  const bool pending =
      pushed_.load(std::memory_order_acquire) != popped_.load(std::memory_order_relaxed);
  return pending ? std::optional(next_) : std::nullopt;
}

void RateLimiterTask::begin_run() {
  abandon_input(0);
  if (owns_output_ && released_count_ != popped_)
    storage_access().owned_output_storage(0).ptr = nullptr;
  released_count_ = 0;
  for (auto &records : records_)
    std::fill(records.begin(), records.end(), core::FrameRecord{});
  pushed_ = freed_ = popped_ = dropped_ = 0;
  lost_ = false;
  ended_ = false;
  next_ = {};
}

runtime::NodeLedgerView RateLimiterTask::ledger_view() const {
  const uint64_t frames = frame_count(tensor_);
  runtime::NodeLedgerView view;
  // What entered comes last, so that nothing left before it entered.
  view.left = popped_ * frames;
  view.dropped = dropped_ * frames;
  view.dropped_reason = "max-fps";
  view.entered = pushed_ * frames + view.dropped;
  view.held = view.entered - view.left - view.dropped;
  return view;
}

}  // namespace holoflow::tasks
