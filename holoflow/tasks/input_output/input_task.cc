// SPDX-License-Identifier: LGPL-2.1-or-later
// Input: takes pushed frames, borrows or copies them, numbers them.
#include "holoflow/tasks/input_output/input_task.hh"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"

namespace holoflow::tasks {

using core::OpResult;

namespace {
// More than a section can have in flight.
constexpr size_t most_loans = 32;
// Fewer loans are not worth a question to the device while frames keep coming.
constexpr uint64_t loans_before_asking = 3;

/// How many frames of `tensor` they are.
size_t check_tensor(const runtime::InputFrames &frames, const core::TDesc &tensor) {
  const core::TDesc &desc = frames.desc;
  size_t count = 1;
  bool fits = desc.dtype == tensor.dtype && desc.rank() == tensor.rank() &&
      desc.strides.size() == desc.rank() && desc.mem_loc == core::MemLoc::Host;
  for (size_t axis = tensor.rank() >= 3 ? 1 : 0; fits && axis < tensor.rank(); ++axis)
    fits = desc.shape[axis] == tensor.shape[axis];
  if (fits && tensor.rank() >= 3) {
    count = desc.shape[0];
    fits = count > 0;
  }
  if (!fits)
    throw std::invalid_argument(
        "push: expected one or more frames of " + core::to_string(tensor) + ", got " +
        core::to_string(desc));
  if (frames.data == nullptr && desc.num_bytes() > 0)
    throw std::invalid_argument(
        "push: expected memory for " + core::to_string(desc) + ", got a null pointer");
  return count;
}

}  // namespace

PushedFrames::PushedFrames(runtime::InputFrames &&pushed)
    : frames(std::move(pushed)), held_(true) {}

PushedFrames::~PushedFrames() {
  give_back();
}

void PushedFrames::swap(PushedFrames &other) noexcept {
  std::swap(frames, other.frames);
  std::swap(count, other.count);
  std::swap(taken, other.taken);
  std::swap(first_sequence, other.first_sequence);
  std::swap(held_, other.held_);
}

void PushedFrames::give_back() noexcept {
  count = taken = 0;
  frames.records.clear();
  const auto release = std::exchange(frames.release, {});
  if (std::exchange(held_, false) && release)
    release();
}

InputTask::InputTask(
    core::TDesc tensor, bool owns_output, runtime::Device &device, cudaStream_t stream)
    : tensor_(std::move(tensor)), tensor_frames_(frame_count(tensor_)),
      frame_bytes_(frame_bytes(tensor_)), owns_output_(owns_output), device_(device),
      marks_(runtime::StreamMarks::of(device, stream)), loans_(most_loans) {}

InputTask::~InputTask() = default;

void InputTask::check(PushedFrames &pushed) const {
  const runtime::InputFrames &frames = pushed.frames;
  if (frames.picture.format.empty()) {
    pushed.count = check_tensor(frames, tensor_);
  } else {
    pushed.count = 1;
    check_picture(frames.picture, tensor_);
  }
  if (frames.records.size() > pushed.count)
    throw std::invalid_argument(
        "push: expected at most one record for each frame, " + std::to_string(pushed.count) +
        " in all, got " + std::to_string(frames.records.size()));
}

InputTask::PushResult InputTask::push(runtime::InputFrames &&frames) {
  // Declared before the lock, so that frames that are not taken are given back without it.
  PushedFrames pushed(std::move(frames));
  check(pushed);
  std::unique_lock lock(mutex_);
  not_full_.wait(
      lock, [this] { return queued_ < queue_.size() || interrupted_ || closed_ || ended_; });
  if (interrupted_)
    return PushResult::Stopped;
  if (closed_ || ended_)
    return PushResult::Closed;
  pushed.first_sequence = entered_;
  entered_ += pushed.count;
  queued_frames_ += pushed.count;
  queue_[(first_ + queued_) % queue_.size()].swap(pushed);
  ++queued_;
  lock.unlock();
  not_empty_.notify_one();
  // What an earlier push left there.
  frames.desc = std::move(pushed.frames.desc);
  frames.records = std::move(pushed.frames.records);
  return PushResult::Ok;
}

void InputTask::end() {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  not_empty_.notify_all();
  not_full_.notify_all();
}

void InputTask::interrupt() noexcept {
  {
    std::lock_guard lock(mutex_);
    interrupted_ = true;
  }
  not_empty_.notify_all();
  not_full_.notify_all();
}

bool InputTask::ready() const noexcept {
  std::lock_guard lock(mutex_);
  const size_t here = current_.count - (current_.count > 0 ? current_.taken : 0);
  return here + queued_frames_ >= tensor_frames_ || ended_ || interrupted_;
}

// Ok: current_ holds the next push.
OpResult InputTask::take_next(std::atomic<bool> *cancelled) {
  std::unique_lock lock(mutex_);
  const auto something_came = [&] {
    return queued_ > 0 || ended_ || interrupted_ || (cancelled != nullptr && *cancelled);
  };
  if (!something_came()) {
    // What the application waits for may be here.
    lock.unlock();
    return_all();
    lock.lock();
  }
  not_empty_.wait(lock, something_came);
  if (interrupted_ || (cancelled != nullptr && *cancelled))
    return OpResult::Cancelled;
  if (queued_ == 0)
    return OpResult::Eof;
  current_.swap(queue_[first_]);
  first_ = (first_ + 1) % queue_.size();
  --queued_;
  queued_frames_ -= current_.count;
  lock.unlock();
  not_full_.notify_one();
  return OpResult::Ok;
}

// The pushed memory itself where it is exactly the tensor.
const std::byte *InputTask::borrowable() const {
  if (!owns_output_ || current_.taken != 0 || current_.count != tensor_frames_)
    return nullptr;
  const runtime::InputFrames &frames = current_.frames;
  const std::byte *memory = nullptr;
  if (!frames.picture.format.empty())
    memory = packed_frame(frames.picture, tensor_);
  else if (core::is_packed(frames.desc))
    memory = frames.data;
  const size_t alignment = std::min<size_t>(core::size_of(tensor_.dtype), alignof(float));
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0)
    return nullptr;
  return memory == nullptr || device_.is_page_locked(memory) ? memory : nullptr;
}

// An own slot that nobody reads.
size_t InputTask::take_slot() {
  while (free_slots_.empty() && slots_.size() >= enough_slots && returned_ != released_)
    return_oldest(true);
  if (free_slots_.empty()) {
    slots_.emplace_back(device_, core::MemLoc::Host, tensor_frames_ * frame_bytes_);
    return slots_.size() - 1;
  }
  const size_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

// Nobody writes through it: the output is declared const.
InputTask::Loan &InputTask::lend(const std::byte *memory, size_t slot) {
  while (given_ - returned_ == loans_.size() && returned_ != released_)
    return_oldest(true);
  if (given_ - returned_ == loans_.size())
    throw std::logic_error("internal error: Input: too many outputs before release_output");
  Loan &loan = loans_[given_++ % loans_.size()];
  loan.slot = slot;
  storage_access().owned_output_storage(0).ptr = const_cast<std::byte *>(memory);
  return loan;
}

// The oldest loan goes back, if the device has read it or after waiting for that.
void InputTask::return_oldest(bool wait) {
  Loan &loan = loans_[returned_ % loans_.size()];
  if (wait && loan.read.event != nullptr)
    device_.synchronize(loan.read.event);
  ++returned_;
  if (loan.slot != no_slot)
    free_slots_.push_back(std::exchange(loan.slot, no_slot));
  loan.borrowed.give_back();
}

// Asks for one loan in the middle, which answers for all before it.
void InputTask::return_finished() {
  const uint64_t outstanding = released_ - returned_;
  if (outstanding < loans_before_asking)
    return;
  const uint64_t asked = returned_ + outstanding / 2;
  if (!device_.query(loans_[asked % loans_.size()].read.event))
    return;
  while (returned_ <= asked)
    return_oldest(false);
}

void InputTask::return_all() {
  while (returned_ != released_)
    return_oldest(true);
}

// The next `count` frames of current_.
void InputTask::copy_frames(size_t count, std::byte *to) const {
  const runtime::InputFrames &frames = current_.frames;
  if (!frames.picture.format.empty())
    return copy_picture(frames.picture, tensor_, to);
  core::TDesc from = frames.desc;
  const std::byte *data = frames.data;
  if (tensor_.rank() >= 3) {
    data += current_.taken * from.strides[0];
    from.shape[0] = count;
  }
  copy_strided(from, data, core::TDesc(from.shape, from.dtype, core::MemLoc::Host), to);
}

void InputTask::write_records(size_t count, std::span<core::FrameRecord> records) const {
  const auto &pushed = current_.frames.records;
  for (size_t i = 0; i < std::min(count, records.size()); ++i) {
    const size_t frame = current_.taken + i;
    records[i] = frame < pushed.size() ? pushed[frame] : core::FrameRecord{};
    records[i].sequence = current_.first_sequence + frame;
  }
}

OpResult InputTask::execute(core::SyncCtx &ctx) {
  std::span<core::FrameRecord> records;
  if (!ctx.output_records.empty())
    records = ctx.output_records[0];
  const auto records_from = [&](size_t frame) {
    return records.subspan(std::min(frame, records.size()));
  };
  return_finished();
  std::byte *target = nullptr;
  size_t slot = no_slot;
  size_t filled = 0;
  while (filled < tensor_frames_) {
    if (current_.count == 0) {
      const OpResult result = take_next(ctx.cancelled);
      if (result == OpResult::Eof && filled > 0)
        break;
      if (result != OpResult::Ok) {
        if (slot != no_slot)
          free_slots_.push_back(slot);
        return result;
      }
    }
    if (const std::byte *memory = filled == 0 ? borrowable() : nullptr) {
      write_records(tensor_frames_, records);
      lend(memory, no_slot).borrowed.swap(current_);
      left_ += tensor_frames_;
      return OpResult::Ok;
    }
    if (target == nullptr && owns_output_)
      slot = take_slot();
    if (target == nullptr)
      target = owns_output_ ? slots_[slot].get() : ctx.outputs[0].data();
    const size_t count = std::min(current_.count - current_.taken, tensor_frames_ - filled);
    copy_frames(count, target + filled * frame_bytes_);
    write_records(count, records_from(filled));
    filled += count;
    current_.taken += count;
    if (current_.taken == current_.count)
      current_.give_back();
  }
  for (size_t frame = filled; frame < tensor_frames_; ++frame) {
    std::memcpy(target + frame * frame_bytes_, target + (filled - 1) * frame_bytes_, frame_bytes_);
    if (frame >= records.size())
      continue;
    records[frame] = records[filled - 1];
    records[frame].flags |= core::FrameRecord::Padding;
  }
  if (owns_output_)
    lend(target, slot);
  left_ += filled;
  return OpResult::Ok;
}

void InputTask::release_output(int index) {
  if (index != 0 || !owns_output_)
    throw std::out_of_range("Input: output " + std::to_string(index) + " is not its own");
  if (released_ == given_)
    return;
  storage_access().owned_output_storage(0).ptr = nullptr;
  loans_[released_ % loans_.size()].read = marks_->mark();
  ++released_;
  if (!device_.is_gpu())
    return_oldest(false);
}

// The section has ended and its stream is done: nobody reads anything any more.
void InputTask::return_everything() {
  if (released_ != given_)
    storage_access().owned_output_storage(0).ptr = nullptr;
  released_ = given_;
  while (returned_ != released_)
    return_oldest(false);
}

void InputTask::drop_queue() {
  std::array<PushedFrames, 2> dropped;
  {
    std::lock_guard lock(mutex_);
    for (; queued_ > 0; --queued_) {
      dropped_ += queue_[first_].count;
      dropped[queued_ - 1].swap(queue_[first_]);
      first_ = (first_ + 1) % queue_.size();
    }
    queued_frames_ = 0;
  }
  if (current_.count > 0)
    dropped_ += current_.count - current_.taken;
  current_.give_back();
}

void InputTask::begin_run() {
  {
    std::lock_guard lock(mutex_);
    // Frames pushed before the first run belong to it.
    if (!closed_ && !interrupted_)
      return;
  }
  drop_queue();
  return_everything();
  continue_run();
  entered_ = left_ = dropped_ = 0;
}

void InputTask::continue_run() {
  std::lock_guard lock(mutex_);
  ended_ = interrupted_ = closed_ = false;
}

void InputTask::end_of_section(bool) {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  not_full_.notify_all();
  drop_queue();
  // Frames of a tensor that was never filled are lost too.
  dropped_ = entered_ - left_;
  // An iteration that did not complete has not released its own.
  return_everything();
}

runtime::NodeLedgerView InputTask::ledger_view() const {
  runtime::NodeLedgerView view;
  view.left = left_;
  view.dropped = dropped_;
  view.dropped_reason = "stopped";
  view.entered = entered_;
  view.held = view.entered - view.left - view.dropped;
  return view;
}

}  // namespace holoflow::tasks
