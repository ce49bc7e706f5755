// SPDX-License-Identifier: LGPL-2.1-or-later
// Output: hands finished tensors to the application, frame by frame or whole.
#include "holoflow/tasks/input_output/output_task.hh"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "holoflow/core/merged_flags.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"

namespace holoflow::tasks {

using core::OpResult;
using runtime::SlotPool;

namespace {
// One slot is written by the graph while the application reads the one before.
constexpr size_t first_slots = 2;

core::TDesc one_frame_of(core::TDesc tensor) {
  if (tensor.rank() >= 3)
    tensor.shape[0] = 1;
  return tensor;
}
}  // namespace

OutputTask::OutputTask(
    core::TDesc input, bool owns_input, size_t slot_bytes, runtime::Device &device)
    : input_(std::move(input)), tensor_(std::make_shared<const core::TDesc>(packed_like(input_))),
      frame_(std::make_shared<const core::TDesc>(one_frame_of(*tensor_))), owns_input_(owns_input),
      pool_(std::make_shared<SlotPool>(
          device, std::max(slot_bytes, input_.offset + input_.num_bytes()), first_slots)) {}

OutputTask::~OutputTask() {
  for (SlotPool::Slot *slot : acquired_)
    pool_->give(slot);
}

size_t OutputTask::record_count() const {
  if (tensor_->media.has_value() && tensor_->media->records.has_value())
    return *tensor_->media->records;
  return frame_count(*tensor_);
}

std::optional<core::TView> OutputTask::acquire_input(int index) {
  if (!lend_input(index))
    return std::nullopt;
  return core::TView{input_, &storage_access().owned_input_storage(0)};
}

bool OutputTask::lend_input(int index) {
  if (index != 0 || !owns_input_)
    throw std::out_of_range("Output: input " + std::to_string(index) + " is not its own");
  acquired_.push_back(pool_->take());
  core::Storage &storage = storage_access().owned_input_storage(0);
  storage.ptr = acquired_.back()->data();
  return true;
}

void OutputTask::abandon_input(int index) {
  if (index != 0 || !owns_input_ || acquired_.empty())
    return;
  storage_access().owned_input_storage(0).ptr = nullptr;
  pool_->give(acquired_.back());
  acquired_.pop_back();
}

// A slot that holds the packed tensor at `offset`.
SlotPool::Slot *OutputTask::take_input(core::SyncCtx &ctx, size_t &offset) {
  offset = 0;
  if (owns_input_) {
    if (acquired_.empty())
      throw std::logic_error("internal error: Output: execute without acquire_input");
    if (core::is_packed(input_)) {
      storage_access().owned_input_storage(0).ptr = nullptr;
      offset = input_.offset;
      SlotPool::Slot *slot = acquired_.front();
      acquired_.erase(acquired_.begin());
      return slot;
    }
  }
  SlotPool::Slot *slot = pool_->take();
  copy_strided(ctx.inputs[0].desc, ctx.inputs[0].data(), *tensor_, slot->data());
  if (owns_input_) {
    storage_access().owned_input_storage(0).ptr = nullptr;
    pool_->give(acquired_.front());
    acquired_.erase(acquired_.begin());
  }
  return slot;
}

bool OutputTask::take_note(const core::FrameRecord &record) {
  if ((record.flags & core::FrameRecord::Padding) != 0)
    return false;
  if (record.sequence == core::FrameRecord::unknown_sequence)
    return true;
  if (newest_.has_value() && record.sequence <= *newest_)
    return false;
  newest_ = record.sequence;
  return true;
}

OpResult OutputTask::hand_over(
    const std::shared_ptr<const core::TDesc> &desc, SlotPool::Slot *slot, std::byte *data,
    std::span<const core::FrameRecord> records) {
  const size_t frames = records.size();
  entered_ += frames;
  runtime::IFrameSink *sink = sink_;
  if (sink == nullptr) {
    SlotPool::end_use(slot);
    dropped_ += frames;
    return OpResult::Ok;
  }
  const OpResult result =
      sink->on_frames({.desc = desc, .data = data, .records = records, .release = [slot] {
                         SlotPool::end_use(slot);
                       }});
  (result == OpResult::Ok ? left_ : dropped_) += frames;
  return result;
}

// The slot may be gone once its last frame is.
OpResult OutputTask::emit_frames(SlotPool::Slot *slot, std::byte *data) {
  const size_t bytes = frame_bytes(*tensor_);
  const std::span<const core::FrameRecord> records = slot->records;
  pool_->lend(slot, records.size());
  OpResult result = OpResult::Ok;
  for (size_t frame = 0; frame < records.size(); ++frame) {
    slot->records[frame].flags &= ~core::shows_padding;
    if (result != OpResult::Ok || !take_note(records[frame])) {
      SlotPool::end_use(slot);
      continue;
    }
    result = hand_over(frame_, slot, data + frame * bytes, records.subspan(frame, 1));
  }
  return result;
}

// The windows over the end of a padded batch have no frame that did not leave before. Any other
// tensor leaves, even where it shows frames again.
OpResult OutputTask::emit_whole(SlotPool::Slot *slot, std::byte *data) {
  pool_->lend(slot, 1);
  bool any_new = false, any_padding = false;
  for (core::FrameRecord &record : slot->records) {
    any_new = take_note(record) || any_new;
    any_padding =
        any_padding || (record.flags & (core::FrameRecord::Padding | core::shows_padding)) != 0;
    record.flags &= ~core::shows_padding;
  }
  if (any_padding && !any_new) {
    SlotPool::end_use(slot);
    return OpResult::Ok;
  }
  return hand_over(tensor_, slot, data, slot->records);
}

OpResult OutputTask::execute(core::SyncCtx &ctx) {
  size_t offset = 0;
  SlotPool::Slot *slot = take_input(ctx, offset);
  std::byte *data = slot->data() + offset;
  if (ctx.input_records.empty()) {  // the caller keeps none
    slot->records.assign(record_count(), core::FrameRecord{});
  } else {
    const std::span<const core::FrameRecord> records = ctx.input_records[0];
    slot->records.assign(records.begin(), records.end());
  }
  const bool one_each = tensor_->rank() >= 3 && slot->records.size() == tensor_->shape[0];
  return split_ && one_each ? emit_frames(slot, data) : emit_whole(slot, data);
}

void OutputTask::interrupt() noexcept {
  if (runtime::IFrameSink *sink = sink_)
    sink->interrupt();
}

std::chrono::nanoseconds OutputTask::take_waiting_time() {
  runtime::IFrameSink *sink = sink_;
  return sink != nullptr ? sink->take_waiting_time() : std::chrono::nanoseconds(0);
}

void OutputTask::begin_run() {
  while (!acquired_.empty())
    abandon_input(0);
  newest_.reset();
  entered_ = left_ = dropped_ = 0;
}

void OutputTask::end_of_section(bool eof) {
  if (runtime::IFrameSink *sink = sink_)
    sink->on_end(eof);
}

runtime::NodeLedgerView OutputTask::ledger_view() const {
  runtime::NodeLedgerView view;
  view.left = left_;
  view.dropped = dropped_;
  view.dropped_reason = sink_.load() == nullptr ? "no sink" : "stopped";
  view.entered = entered_;
  view.held = view.entered - view.left - view.dropped;
  return view;
}

}  // namespace holoflow::tasks
