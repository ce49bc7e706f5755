// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames and events to buffers and events in order, and the task that pushes them.
#include "gstholoflowoutput.h"

#include <algorithm>
#include <limits>

#include "gstholoflowlog.h"
#include "gstholoflowmemory.h"

namespace holoflow::gst {

namespace {

constexpr size_t queue_limit = 2;
constexpr uint64_t every_frame = std::numeric_limits<uint64_t>::max();

bool may_precede_caps(GstEvent *event) {
  return GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START || GST_EVENT_TYPE(event) == GST_EVENT_CAPS;
}

bool begins_stream(GstEvent *event) {
  return GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START ||
      GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT;
}

bool survives_flush(GstEvent *event) {
  return (gst_event_type_get_flags(GST_EVENT_TYPE(event)) & GST_EVENT_TYPE_STICKY) != 0 &&
      GST_EVENT_TYPE(event) != GST_EVENT_SEGMENT && GST_EVENT_TYPE(event) != GST_EVENT_EOS;
}

}  // namespace

OutputPort::OutputPort(GstElement *element, std::function<void(GstFlowReturn)> on_flow)
    : element_(element), on_flow_(std::move(on_flow)) {}

OutputPort::~OutputPort() = default;

void OutputPort::append(Item item) {
  if (item.buffer != nullptr)
    ++queued_buffers_;
  queue_.push_back(std::move(item));
  not_empty_.notify_one();
}

void OutputPort::append_eos(EventPtr event) {
  release_all();
  if (eos_sent_)
    return;
  eos_sent_ = true;
  append({.buffer = nullptr, .event = std::move(event)});
}

void OutputPort::release_waiting(uint64_t frames_out) {
  while (!waiting_.empty() && waiting_.front().after_frames <= frames_out) {
    // What describes the stream comes before what belongs to it.
    if (caps_ == nullptr && !may_precede_caps(waiting_.front().item.event.get()))
      return;
    append(std::move(waiting_.front().item));
    waiting_.pop_front();
  }
}

void OutputPort::release_all() {
  for (auto &each : waiting_)
    append(std::move(each.item));
  waiting_.clear();
}

void OutputPort::wait_for_frame(Item item, uint64_t after_frames) {
  waiting_.push_back({std::move(item), after_frames});
  release_waiting(running_ && !drained_ ? frames_out_ : every_frame);
}

void OutputPort::restart_stream() {
  eos_sent_ = eos_received_ = false;
  if (flow_ == GST_FLOW_EOS)
    flow_ = GST_FLOW_OK;
}

void OutputPort::queue_event(EventPtr event, uint64_t after_frames) {
  std::lock_guard lock(mutex_);
  if (!active_ || flushing_)
    return;
  if (begins_stream(event.get()))
    restart_stream();
  wait_for_frame({.buffer = nullptr, .event = std::move(event)}, after_frames);
}

bool OutputPort::push_now(EventPtr event) {
  return gst_pad_push_event(pad_, event.release());
}

void OutputPort::queue_caps(CapsPtr caps, const OutputLayout &layout, uint64_t after_frames) {
  std::lock_guard lock(mutex_);
  if (!active_)
    return;
  layout_ = std::make_shared<const OutputLayout>(layout);
  if (caps_ != nullptr && gst_caps_is_equal(caps_.get(), caps.get()))
    return;
  const bool first = caps_ == nullptr;
  Item item{
      .buffer = nullptr, .event = EventPtr(gst_event_new_caps(caps.get())), .layout = layout_};
  caps_ = std::move(caps);
  if (!first)
    return wait_for_frame(std::move(item), after_frames);
  // Events that came before the caps wait for them.
  auto place = waiting_.begin();
  while (place != waiting_.end() &&
         GST_EVENT_TYPE(place->item.event.get()) == GST_EVENT_STREAM_START)
    ++place;
  waiting_.insert(place, {std::move(item), 0});
  release_waiting(running_ && !drained_ ? frames_out_ : every_frame);
}

void OutputPort::queue_eos(EventPtr event) {
  std::lock_guard lock(mutex_);
  if (!active_ || flushing_)
    return;
  eos_received_ = true;
  if (running_ && !drained_)
    eos_ = std::move(event);
  else
    append_eos(std::move(event));
}

void OutputPort::begin_run() {
  std::lock_guard lock(mutex_);
  running_ = true;
  drained_ = interrupted_ = false;
  frames_out_ = 0;
}

void OutputPort::end_run(bool failed) {
  std::lock_guard lock(mutex_);
  running_ = false;
  if (!active_ || flushing_)
    return;
  release_waiting(every_frame);
  if (eos_ != nullptr)
    append_eos(std::move(eos_));
  else if (failed)
    append_eos(EventPtr(gst_event_new_eos()));
}

core::OpResult OutputPort::on_frames(runtime::OutputFrames &&frames) {
  std::unique_lock lock(mutex_);
  timed_.wait(not_full_, lock, [this] {
    return queued_buffers_ < queue_limit || interrupted_ || flushing_ || !active_ ||
        flow_ != GST_FLOW_OK;
  });
  const bool stopped = interrupted_ || flushing_ || !active_;
  const auto layout = layout_;
  if (stopped || flow_ != GST_FLOW_OK || layout == nullptr) {
    const auto result = stopped ? core::OpResult::Cancelled : core::OpResult::Eof;
    lock.unlock();  // the Output counts what is turned away
    if (frames.release)
      frames.release();
    return result;
  }
  lock.unlock();
  const uint64_t newest =
      frames.records.empty() ? core::FrameRecord::unknown_sequence : frames.records.back().sequence;
  const uint64_t first = frames.records.empty() ? newest : frames.records.front().sequence;
  BufferPtr buffer = wrap_output(std::move(frames), *layout);
  lock.lock();
  // Without a sequence number nobody knows what came before: waiting events go first.
  const bool known = newest != core::FrameRecord::unknown_sequence;
  release_waiting(known ? std::max(frames_out_, first) : every_frame);
  append({.buffer = std::move(buffer), .event = nullptr});
  if (known)
    frames_out_ = std::max(frames_out_, newest + 1);
  release_waiting(frames_out_);
  return core::OpResult::Ok;
}

// What is queued will not leave. With the lock.
void OutputPort::drop_queued() {
  buffers_dropped_ += queued_buffers_;
  queued_buffers_ = 0;
}

void OutputPort::on_end(bool eof) {
  std::lock_guard lock(mutex_);
  // A run that was stopped or failed ends in end_run, behind its error message.
  if (!eof || !active_ || flushing_)
    return;
  drained_ = true;
  release_waiting(every_frame);
  if (eos_ != nullptr)
    append_eos(std::move(eos_));
}

void OutputPort::interrupt() noexcept {
  std::lock_guard lock(mutex_);
  interrupted_ = true;
  not_full_.notify_all();
}

bool OutputPort::activate(bool active) {
  if (active) {
    {
      std::lock_guard lock(mutex_);
      active_ = true;
      flushing_ = eos_received_ = eos_sent_ = running_ = drained_ = interrupted_ = false;
      flow_ = GST_FLOW_OK;
    }
    return gst_pad_start_task(pad_, run_task, this, nullptr) != FALSE;
  }
  {
    std::lock_guard lock(mutex_);
    active_ = false;
    not_empty_.notify_all();
    not_full_.notify_all();
  }
  const bool stopped = gst_pad_stop_task(pad_) != FALSE;
  std::deque<Item> dropped;
  std::deque<Waiting> dropped_waiting;
  {
    std::lock_guard lock(mutex_);
    dropped.swap(queue_);
    dropped_waiting.swap(waiting_);
    drop_queued();
    eos_.reset();
    caps_.reset();
    layout_.reset();
  }
  pushed_layout_.reset();
  pushed_caps_.reset();
  video_meta_.reset();
  return stopped;
}

void OutputPort::flush_start(EventPtr event) {
  {
    std::lock_guard lock(mutex_);
    flushing_ = true;
    not_empty_.notify_all();
    not_full_.notify_all();
  }
  gst_pad_push_event(pad_, event.release());
  gst_pad_pause_task(pad_);
}

std::deque<OutputPort::Item> OutputPort::take_sticky() {
  std::deque<Item> kept;
  const auto keep = [&](Item &item) {
    if (item.event != nullptr && survives_flush(item.event.get()))
      kept.push_back(std::move(item));
  };
  for (auto &item : queue_)
    keep(item);
  for (auto &each : waiting_)
    keep(each.item);
  return kept;
}

void OutputPort::flush_stop(EventPtr event) {
  std::deque<Item> dropped;
  std::deque<Waiting> dropped_waiting;
  {
    std::lock_guard lock(mutex_);
    auto kept = take_sticky();
    dropped.swap(queue_);
    dropped_waiting.swap(waiting_);
    drop_queued();
    for (auto &item : kept)
      waiting_.push_back({std::move(item), 0});
    eos_.reset();
    running_ = drained_ = false;
    eos_sent_ = eos_received_ = false;
    flow_ = GST_FLOW_OK;
  }
  gst_pad_push_event(pad_, event.release());
  std::lock_guard lock(mutex_);
  flushing_ = false;
  release_waiting(every_frame);
  if (active_)
    gst_pad_start_task(pad_, run_task, this, nullptr);
}

GstFlowReturn OutputPort::flow() const {
  std::lock_guard lock(mutex_);
  return !active_ || flushing_ ? GST_FLOW_FLUSHING : flow_;
}

void OutputPort::reconfigure() {
  std::lock_guard lock(mutex_);
  ask_again_ = true;
  if (flow_ == GST_FLOW_NOT_LINKED)
    flow_ = GST_FLOW_OK;
}

OutputPort::Counts OutputPort::counts() const {
  std::lock_guard lock(mutex_);
  return {buffers_out_, buffers_dropped_, queued_buffers_ + (pushing_ ? 1 : 0)};
}

void OutputPort::reset_count() {
  std::lock_guard lock(mutex_);
  buffers_out_ = buffers_dropped_ = 0;
}

CapsPtr OutputPort::current_caps() const {
  std::lock_guard lock(mutex_);
  return caps_ != nullptr ? share(caps_.get()) : nullptr;
}

void OutputPort::run_task(gpointer self) {
  static_cast<OutputPort *>(self)->push_next();
}

void OutputPort::push_next() {
  Item item;
  {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return !queue_.empty() || flushing_ || !active_; });
    if (flushing_ || !active_) {
      lock.unlock();
      gst_pad_pause_task(pad_);
      return;
    }
    item = std::move(queue_.front());
    queue_.pop_front();
    if (item.buffer != nullptr) {
      --queued_buffers_;
      pushing_ = true;
      not_full_.notify_one();
    }
    if (ask_again_)
      video_meta_.reset();
    ask_again_ = false;
  }
  if (item.event != nullptr)
    return push_event(std::move(item));
  const bool left = push_buffer(std::move(item.buffer));
  std::lock_guard lock(mutex_);
  pushing_ = false;
  ++(left ? buffers_out_ : buffers_dropped_);
}

void OutputPort::push_event(Item item) {
  GST_LOG_OBJECT(pad_, "%" GST_PTR_FORMAT, item.event.get());
  if (item.layout != nullptr) {
    GstCaps *caps = nullptr;
    gst_event_parse_caps(item.event.get(), &caps);
    pushed_caps_ = share(caps);
    pushed_layout_ = item.layout;
    video_meta_.reset();
  }
  gst_pad_push_event(pad_, item.event.release());
}

bool OutputPort::push_buffer(BufferPtr buffer) {
  {
    std::lock_guard lock(mutex_);
    if (flow_ != GST_FLOW_OK)
      return false;  // downstream wants no more; events still pass
  }
  if (pushed_layout_ != nullptr && pushed_layout_->kind == CapsRow::Kind::Video &&
      !packed_is_default(*pushed_layout_)) {
    const bool meta = takes_video_meta();
    buffer = to_downstream_layout(std::move(buffer), *pushed_layout_, meta);
    if (buffer == nullptr) {
      post_error(
          element_, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
          "there is not enough memory for an output frame", "");
      answer(GST_FLOW_ERROR);
      return false;
    }
  }
  const GstFlowReturn flow = gst_pad_push(pad_, buffer.release());
  if (flow != GST_FLOW_OK)
    answer(flow);
  return flow == GST_FLOW_OK;
}

bool OutputPort::takes_video_meta() {
  if (!video_meta_) {
    const QueryPtr query(gst_query_new_allocation(pushed_caps_.get(), FALSE));
    video_meta_ = gst_pad_peer_query(pad_, query.get()) &&
        gst_query_find_allocation_meta(query.get(), GST_VIDEO_META_API_TYPE, nullptr);
  }
  return *video_meta_;
}

void OutputPort::answer(GstFlowReturn flow) {
  std::deque<Item> dropped;
  bool post = false;
  {
    std::lock_guard lock(mutex_);
    GST_DEBUG_OBJECT(pad_, "downstream answers %s", gst_flow_get_name(flow));
    if (flow_ == GST_FLOW_OK)
      flow_ = flow;
    // Like a queue: who learns nothing from a return value must be told by a message.
    post = eos_received_ && (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS);
    for (auto &item : queue_)
      if (item.event != nullptr)
        dropped.push_back(std::move(item));
    dropped.swap(queue_);
    drop_queued();
    not_full_.notify_all();
  }
  on_flow_(flow);
  if (flow == GST_FLOW_FLUSHING)
    gst_pad_pause_task(pad_);
  if (post)
    GST_ELEMENT_FLOW_ERROR(element_, flow);
}

}  // namespace holoflow::gst
