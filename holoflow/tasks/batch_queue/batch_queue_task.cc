// SPDX-License-Identifier: LGPL-2.1-or-later
// BatchQueue: push, pop and the bookkeeping of a ring of frames.
#include "holoflow/tasks/batch_queue/batch_queue_task.hh"

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

namespace {

constexpr size_t alignment = 256;  // of a group of frames, as good as that of a block
// One window is read while the next is copied.
constexpr size_t window_copies = 2;
constexpr size_t most_lent = 64;
constexpr size_t small_push = 512 * 1024;  // bytes

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
  after_gap_.resize(shape_.ring.frames);
  const bool takes = shape_.policy == QueuePolicy::DropOldest;
  const size_t windows = shape_.ring.frames / shape_.stride + 1;
  // A copy on the consumer's stream would wait for what reads the windows before.
  if (takes && owns_output_ && device_.is_gpu())
    own_stream_ = runtime::Stream(device_);
  window_stream_ = own_stream_.get() != nullptr ? own_stream_.get() : consumer_stream_;
  if (takes && owns_output_) {
    for (size_t i = 0; i < window_copies; ++i)
      windows_.emplace_back(device_, loc, shape_.size * frame_bytes_);
  }
  lent_.resize(windows_.empty() ? std::min(most_lent, windows) : window_copies);
  written_ = runtime::HandOver(
      device_, loc, producer_stream_, window_stream_, shape_.ring.frames / shape_.frames_in);
  // One more than fit: where the stride does not divide the ring, a window may be released while
  // the producer looks at the one that was shown a round earlier.
  released_ = runtime::HandOver(device_, loc, consumer_stream_, producer_stream_, windows + 1);
  if (!owns_input_)
    return;
  const size_t owned = ctx.owned_input_bytes.empty() ? 0 : ctx.owned_input_bytes[0];
  if (owned > push_bytes || shape_.input.offset != 0 || !core::is_packed(shape_.input))
    staging_ = runtime::MemoryBlock(
        device_, loc, std::max(owned, shape_.input.offset + shape_.input.num_bytes()));
}

// The section does not know this stream; where a wait for it failed, its copies may still run.
BatchQueueTask::~BatchQueueTask() {
  if (own_stream_.get() != nullptr)
    runtime::finish_quietly(device_, own_stream_.get());
}

bool BatchQueueTask::has_room() const noexcept {
  const uint64_t tail = tail_.load(std::memory_order_acquire);
  return head_.load(std::memory_order_relaxed) + shape_.frames_in <= tail + shape_.keep;
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

// Where a push at `head` goes the device may still read a window of the last round.
void BatchQueueTask::wait_for_slot(uint64_t head) {
  if (shape_.policy == QueuePolicy::DropOldest)
    return wait_for_pinned();
  const uint64_t end = head + shape_.frames_in;
  if (shape_.policy != QueuePolicy::Block || end <= shape_.ring.frames)
    return;
  const uint64_t needed = (end - shape_.ring.frames - 1) / shape_.stride;
  // Where more has been released one wait serves several pushes. Half of the ring stays between
  // the two sides, so that they still overlap.
  const uint64_t released = tail_.load(std::memory_order_acquire) / shape_.stride - 1;
  released_.take(std::min(released, needed + shape_.ring.frames / shape_.stride / 2));
}

// What the thread itself copies out of a slot, a stream may still be writing into it.
void BatchQueueTask::wait_for_host_memory() {
  if (shape_.input.mem_loc == MemLoc::Host)
    device_.synchronize(producer_stream_);
}

std::optional<core::TView> BatchQueueTask::acquire_input(int index) {
  if (!lend_input(index))
    return std::nullopt;
  return core::TView{shape_.input, &storage_access().owned_input_storage(0)};
}

bool BatchQueueTask::lend_input(int index) {
  if (index != 0 || !owns_input_)
    throw std::out_of_range("BatchQueue: input " + std::to_string(index) + " is not its own");
  if (!lent_in_) {
    if (shape_.policy == QueuePolicy::Block && !has_room())
      return false;
    wait_for_slot(head_.load(std::memory_order_relaxed));
  }
  lent_in_ = true;
  core::Storage &storage = storage_access().owned_input_storage(0);
  const uint64_t head = head_.load(std::memory_order_relaxed);
  storage.ptr = staging_.get() != nullptr ? staging_.get() : frame_at(head % shape_.ring.frames);
  return true;
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
  written_.touch();
}

void BatchQueueTask::keep_records(uint64_t first, std::span<core::FrameRecord> records) {
  for (size_t i = 0; i < shape_.frames_in; ++i) {
    const size_t position = (first + i) % shape_.ring.frames;
    // Where the counts disagree nobody knows which record is whose.
    const bool known = records.size() == shape_.frames_in && shown(first + i);
    records_[position] = known ? records[i] : core::FrameRecord{};
    after_gap_[position] = shown(first + i) && std::exchange(gap_, false) ? 1 : 0;
  }
}

// Drop-oldest: the slot at head may still hold frames of the window that is being copied.
void BatchQueueTask::wait_for_pinned() {
  {
    const std::lock_guard lock(mutex_);
    const uint64_t end = head_.load(std::memory_order_relaxed) + shape_.frames_in;
    if (!pinned_.has_value() || end <= *pinned_ + shape_.ring.frames)
      return;
  }
  const std::lock_guard until_copied(copying_);
}

// Drop-newest: whether the push at hand is refused. Counts it.
bool BatchQueueTask::refuse() {
  if (shape_.policy != QueuePolicy::DropNewest)
    return false;
  if (to_refuse_ == 0) {
    if (has_room())
      return false;
    to_refuse_ = std::lcm(shape_.frames_in, shape_.stride);
  }
  to_refuse_ -= shape_.frames_in;
  gap_ = true;
  refused_.fetch_add(shape_.frames_in, std::memory_order_release);
  return true;
}

void BatchQueueTask::publish(uint64_t head) {
  if (shape_.policy != QueuePolicy::DropOldest)
    return head_.store(head, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  head_.store(head, std::memory_order_release);
  while (head > counts_.next + shape_.keep)
    skip_window(head);
}

OpResult BatchQueueTask::try_push(core::AsyncPushCtx &ctx) {
  if (is_cancelled(ctx.cancelled))
    return OpResult::Cancelled;
  if (owns_input_ && !lent_in_)
    throw std::logic_error("internal error: BatchQueue: try_push without acquire_input");
  if (!owns_input_ && shape_.policy == QueuePolicy::Block && !has_room())
    return OpResult::NotReady;
  if (!refuse()) {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (!owns_input_)
      wait_for_slot(head);
    if (owns_input_ && (staging_.get() != nullptr || shape_.ring.repeated > 0))
      wait_for_host_memory();
    if (!owns_input_ || staging_.get() != nullptr) {
      copy_view_(
          ctx.inputs[0].desc, ctx.inputs[0].data(), frame_at(head % shape_.ring.frames),
          producer_stream_);
      copied_ += shape_.frames_in;
      written_.touch();
    }
    repeat_front(head);
    keep_records(
        head, ctx.input_records.empty() ? std::span<core::FrameRecord>() : ctx.input_records[0]);
    written_.mark(head / shape_.frames_in);
    publish(head + shape_.frames_in);
  }
  if (owns_input_) {
    storage_access().owned_input_storage(0).ptr = nullptr;
    lent_in_ = false;
  }
  return OpResult::Ok;
}

// Under the mutex: the next window will not be shown.
void BatchQueueTask::skip_window(uint64_t head) {
  const uint64_t first = counts_.next;
  // Frames behind that belong to the windows after it too.
  const uint64_t end = std::min(first + std::min(shape_.size, shape_.stride), head);
  const uint64_t fresh = std::max(first, counts_.shown_end);
  if (end > fresh)
    counts_.lost += end - fresh;
  for (uint64_t frame = first; frame < end; ++frame)
    records_[frame % shape_.ring.frames] = core::FrameRecord{};
  lost_ = true;
  counts_.next = first + shape_.stride;
  // Drop-newest: the consumer skips, and what it has lent comes back first.
  if (shape_.policy == QueuePolicy::DropOldest || (pops_ == releases_ && !unsettled_))
    tail_.store(counts_.next, std::memory_order_release);
}

// How many of the frames lie before the last gap between them, 0 where they are consecutive.
size_t BatchQueueTask::gap_inside(uint64_t first, size_t frames) const {
  if (shape_.policy != QueuePolicy::DropNewest)
    return 0;
  for (size_t i = frames; i > 1; --i)
    if (after_gap_[(first + i - 1) % shape_.ring.frames] != 0)
      return i - 1;
  return 0;
}

// Under the mutex. Ok: the window at `next` has so many frames, fewer than size only at the end.
OpResult BatchQueueTask::find_window(size_t &frames) {
  for (;;) {
    const uint64_t first = counts_.next;
    const bool ended = ended_.load(std::memory_order_acquire);
    // The last push came before the end: where that is seen the count is final.
    const uint64_t head = head_.load(std::memory_order_acquire);
    if (head < first + shape_.size) {
      if (!ended)
        return OpResult::NotReady;
      if (!shape_.pad || head <= std::max(first, counts_.shown_end)) {
        if (!std::exchange(counts_.flushed, true))
          forget_records(settled(head), head);
        return OpResult::Eof;
      }
    }
    frames = static_cast<size_t>(std::min<uint64_t>(shape_.size, head - first));
    const size_t before_gap = gap_inside(first, frames);
    if (before_gap == 0)
      return OpResult::Ok;
    while (counts_.next < first + before_gap)
      skip_window(head);
  }
}

void BatchQueueTask::count_window(uint64_t first, size_t frames) {
  const uint64_t end = first + frames;
  counts_.left += end - std::max(first, counts_.shown_end);
  counts_.shown_end = end;
  counts_.next = first + shape_.stride;
  counts_.completed = frames < shape_.size;
}

void BatchQueueTask::show_records(
    uint64_t first, size_t frames, std::span<core::FrameRecord> records) {
  const bool after_gap = after_gap_[first % shape_.ring.frames] != 0;
  const bool lost = std::exchange(lost_, false) || after_gap;
  for (size_t i = 0; i < std::min(frames, records.size()); ++i) {
    core::FrameRecord &kept = records_[(first + i) % shape_.ring.frames];
    // The next window shows the frame again where it begins at or before it.
    if (i < shape_.stride)
      records[i] = std::exchange(kept, core::FrameRecord{});
    else
      records[i] = kept;
  }
  for (size_t i = frames; i < records.size(); ++i) {
    records[i] = records[frames - 1];
    records[i].flags |= core::FrameRecord::Padding;
  }
  if (lost && !records.empty())
    records[0].flags |= core::FrameRecord::Discontinuity;
}

// The producer has ended: behind head nobody writes any more.
void BatchQueueTask::complete_window(uint64_t first, size_t frames) {
  std::byte *window = frame_at(first % shape_.ring.frames);
  const std::byte *last = window + (frames - 1) * frame_bytes_;
  // Behind head may lie what was shown a round earlier and is still read.
  if (shape_.input.mem_loc == MemLoc::Host)
    device_.synchronize(consumer_stream_);
  for (size_t i = frames; i < shape_.size; ++i)
    move_frames(window + i * frame_bytes_, last, 1, window_stream_);
}

// Drop-oldest: the pin goes when the copy is done, not when it is enqueued.
void BatchQueueTask::take_window(std::byte *to, const std::byte *window) {
  move_frames(to, window, shape_.size, window_stream_);
  if (shape_.input.mem_loc == MemLoc::Device)
    device_.synchronize(window_stream_);
  const std::lock_guard lock(mutex_);
  pinned_.reset();
}

// The window that ends at `end` has to be written before the device reads it. Small frames are
// copied faster than a stream is told to wait: where more have come, one wait serves several
// windows.
void BatchQueueTask::wait_for_frames(uint64_t end) {
  uint64_t push = (end - 1) / shape_.frames_in;
  const size_t push_bytes = shape_.frames_in * frame_bytes_;
  if (push_bytes <= small_push) {
    const uint64_t pushes = head_.load(std::memory_order_acquire) / shape_.frames_in;
    push = std::max(push, std::min(pushes - 1, push + shape_.ring.frames / shape_.frames_in / 4));
  }
  written_.take(push);
}

void BatchQueueTask::lend(std::byte *memory, uint64_t first) {
  storage_access().owned_output_storage(0).ptr = memory;
  lent_[pops_++ % lent_.size()] = first;
}

// The first frame that is lent or still to come. What lies before, not lent, has been skipped.
uint64_t BatchQueueTask::first_needed() const {
  return pops_ != releases_ ? lent_[releases_ % lent_.size()] : counts_.next;
}

// Drop-newest: waits until the device has read the window that was released last.
void BatchQueueTask::settle() {
  if (!std::exchange(unsettled_, false))
    return;
  released_.finish(releases_ - 1);
  tail_.store(first_needed(), std::memory_order_release);
}

OpResult BatchQueueTask::try_pop(core::AsyncPopCtx &ctx) {
  if (is_cancelled(ctx.cancelled))
    return OpResult::Cancelled;
  // All that may be lent is lent: something has to come back first.
  if (pops_ - releases_ == lent_.size())
    return OpResult::NotReady;
  const bool takes = shape_.policy == QueuePolicy::DropOldest;
  if (takes && owns_output_ && pops_ >= windows_.size())
    released_.finish(pops_ - windows_.size());
  std::unique_lock copying(copying_, std::defer_lock);
  if (takes)
    copying.lock();
  std::unique_lock lock(mutex_);
  size_t frames = 0;
  if (const OpResult result = find_window(frames); result != OpResult::Ok) {
    lock.unlock();
    settle();
    return result;
  }
  const uint64_t first = counts_.next;
  show_records(
      first, frames,
      ctx.output_records.empty() ? std::span<core::FrameRecord>() : ctx.output_records[0]);
  count_window(first, frames);
  if (takes) {
    pinned_ = first;
    tail_.store(counts_.next, std::memory_order_release);
  }
  lock.unlock();

  wait_for_frames(first + frames);
  if (frames < shape_.size)
    complete_window(first, frames);
  std::byte *window = frame_at(first % shape_.ring.frames);
  if (takes) {
    std::byte *target =
        owns_output_ ? windows_[pops_ % windows_.size()].get() : ctx.outputs[0].data();
    take_window(target, window);
    if (owns_output_)
      lend(target, first);
    return OpResult::Ok;
  }
  lend_or_copy(ctx, window, first);
  return OpResult::Ok;
}

// The ring's own policies: the window itself where the output is owned, else its copy.
void BatchQueueTask::lend_or_copy(core::AsyncPopCtx &ctx, std::byte *window, uint64_t first) {
  if (owns_output_)
    return lend(window, first);
  move_frames(ctx.outputs[0].data(), window, shape_.size, consumer_stream_);
  released_.touch();
  lent_[pops_++ % lent_.size()] = first;
  give_back();
}

// The oldest lent window has been read, or will have been when the consumer's stream gets here.
void BatchQueueTask::give_back() {
  if (shape_.policy == QueuePolicy::DropNewest)
    settle();
  const uint64_t first = lent_[releases_ % lent_.size()];
  released_.mark(shape_.policy == QueuePolicy::Block ? first / shape_.stride : releases_);
  ++releases_;
  // Frames that no later window shows.
  if (!device_.is_gpu() && shape_.policy != QueuePolicy::DropOldest)
    poison(
        frame_at(first % shape_.ring.frames), std::min(shape_.size, shape_.stride) * frame_bytes_);
  if (shape_.policy == QueuePolicy::Block)
    return tail_.store(first_needed(), std::memory_order_release);
  // Drop-oldest lent a copy: its tail has moved on.
  unsettled_ = shape_.policy == QueuePolicy::DropNewest;
  if (!device_.is_gpu())
    settle();
}

void BatchQueueTask::release_output(int index) {
  if (index != 0 || !owns_output_)
    throw std::out_of_range("BatchQueue: output " + std::to_string(index) + " is not its own");
  if (pops_ == releases_)
    return;
  storage_access().owned_output_storage(0).ptr = nullptr;
  give_back();
}

uint64_t BatchQueueTask::settled(uint64_t head) const {
  return std::max(counts_.shown_end, std::min(counts_.next, head));
}

void BatchQueueTask::forget_records(uint64_t first, uint64_t end) {
  for (uint64_t frame = first; frame < end; ++frame)
    records_[frame % records_.size()] = core::FrameRecord{};
}

void BatchQueueTask::begin_run() {
  abandon_input(0);
  if (owns_output_ && pops_ != releases_)
    storage_access().owned_output_storage(0).ptr = nullptr;
  const std::lock_guard lock(mutex_);
  begin_anew();
  copied_ = 0;
  gap_ = lost_ = false;
  before_ = {};
}

// Under the mutex.
void BatchQueueTask::begin_anew() {
  pops_ = releases_ = 0;
  unsettled_ = false;
  forget_records(0, records_.size());
  head_ = tail_ = refused_ = 0;
  ended_ = false;
  to_refuse_ = 0;
  counts_ = {};
  pinned_.reset();
}

// Nothing is lent, and both streams are done.
void BatchQueueTask::continue_run() {
  const std::lock_guard lock(mutex_);
  const uint64_t head = head_, shown = settled(head);
  lost_ = lost_ || head != shown;
  // A window that was completed has no more frames to come: the next one begins with the next.
  const bool begins_window = counts_.completed && counts_.next > head;
  if (!begins_window && (head - shown) % shape_.frames_in == 0) {
    before_.entered += head - shown;
    before_.dropped += head - shown;
    forget_records(shown, head);
    head_ = shown;
    tail_ = counts_.next;
    counts_.flushed = ended_ = false;
    return;
  }
  // Pushes begin at multiples of their frames: what was shown cannot stay without the rest.
  before_ = ledger_so_far();
  begin_anew();
}

runtime::NodeLedgerView BatchQueueTask::ledger_view() const {
  const std::lock_guard lock(mutex_);
  return ledger_so_far();
}

// Under the mutex. Head after the counts: what was popped was pushed before.
runtime::NodeLedgerView BatchQueueTask::ledger_so_far() const {
  const uint64_t refused = refused_.load(std::memory_order_acquire);
  const uint64_t head = head_.load(std::memory_order_acquire);
  runtime::NodeLedgerView view = before_;
  view.entered += head + refused;
  view.left += counts_.left;
  view.overflowed += counts_.lost + refused;
  view.skipped += settled(head) - counts_.left - counts_.lost;
  view.held = head - settled(head);
  const uint64_t window_end = counts_.next + shape_.size;
  view.awaited = window_end > head ? window_end - head : 0;
  if (counts_.flushed)
    view.dropped += std::exchange(view.held, 0);
  if (view.dropped > 0)
    view.dropped_reason = "flush";
  return view;
}

QueuePolicy queue_policy(const nlohmann::json &params) {
  const std::string policy = params.at("policy").get<std::string>();
  if (policy == "block")
    return QueuePolicy::Block;
  return policy == "drop-oldest" ? QueuePolicy::DropOldest : QueuePolicy::DropNewest;
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
  shape.policy = queue_policy(args.params);
  shape.pad = args.params.at("flush").get<std::string>() == "pad";
  const QueuePlan plan = plan_queue(
      shape.policy, window.frames_in, window.size, window.stride,
      std::max(window.capacity, args.ctx.min_slots));
  shape.ring = plan.ring;
  shape.keep = plan.keep;
  runtime::Device &device =
      args.ctx.device >= 0 ? runtime::cuda_device(args.ctx.device) : runtime::host_device();
  return std::make_unique<BatchQueueTask>(std::move(shape), args.ctx, device, std::move(copy_view));
}

}  // namespace holoflow::tasks
