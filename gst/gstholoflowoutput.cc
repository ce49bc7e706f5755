// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames and events to buffers and events in order, and the task that pushes them.
#include "gstholoflowoutput.h"

#include <algorithm>
#include <limits>
#include <utility>

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

OutputPort::OutputPort(
    GstElement *element, GstPad *pad, std::string node, std::function<void()> on_flow)
    : element_(element), pad_(pad), node_(std::move(node)), on_flow_(std::move(on_flow)) {}

OutputPort::~OutputPort() = default;

void OutputPort::append(Item item) {
  if (item.buffer != nullptr)
    ++queued_buffers_;
  queue_.push_back(std::move(item));
  not_empty_.notify_one();
}

void OutputPort::append_eos(EventPtr event) {
  release_all();
  if (end_ == End::Sent)
    return;
  end_ = End::Sent;
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
  release_waiting(waits_for_frames() ? frames_out_ : every_frame);
}

void OutputPort::restart_stream() {
  end_ = End::Open;
  closed_ = false;
  if (flow_ == GST_FLOW_EOS)
    flow_ = GST_FLOW_OK;
}

void OutputPort::queue_event(EventPtr event, uint64_t after_frames) {
  std::lock_guard lock(mutex_);
  if (pad_state_ != Pad::Active)
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
  if (pad_state_ == Pad::Inactive)
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
  release_waiting(waits_for_frames() ? frames_out_ : every_frame);
}

void OutputPort::queue_eos(EventPtr event) {
  std::lock_guard lock(mutex_);
  if (pad_state_ != Pad::Active)
    return;
  if (end_ == End::Open)
    end_ = End::Received;
  if (waits_for_frames())
    eos_ = std::move(event);
  else
    append_eos(std::move(event));
}

void OutputPort::begin_drain() {
  std::lock_guard lock(mutex_);
  if (run_ == Run::Running)
    run_ = Run::Draining;
}

void OutputPort::begin_run(std::shared_ptr<DepartedFrames> departed, bool goes_on) {
  std::lock_guard lock(mutex_);
  run_ = Run::Running;
  departed_ = std::move(departed);
  if (goes_on)
    return;
  frames_out_ = 0;
  ++run_number_;
}

void OutputPort::end_run(bool failed) {
  std::lock_guard lock(mutex_);
  const bool goes_on = std::exchange(run_, Run::None) == Run::Draining && !failed;
  if (pad_state_ != Pad::Active)
    return;
  release_waiting(every_frame);
  if (goes_on)
    return;
  if (eos_ != nullptr)
    append_eos(std::move(eos_));
  else if (failed)
    append_eos(EventPtr(gst_event_new_eos()));
}

void OutputPort::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  not_full_.notify_all();
}

bool OutputPort::expects_frames() const {
  std::lock_guard lock(mutex_);
  return run_ == Run::Running || run_ == Run::Draining;
}

core::OpResult OutputPort::on_frames(runtime::OutputFrames &&frames) {
  std::unique_lock lock(mutex_);
  timed_.wait(not_full_, lock, [this] {
    return queued_buffers_ < queue_limit || !takes_frames() || flow_ != GST_FLOW_OK;
  });
  const auto turn_away = [&](core::OpResult result) {
    lock.unlock();  // the Output counts what is turned away
    if (frames.release)
      frames.release();
    return result;
  };
  if (!takes_frames())
    return turn_away(core::OpResult::Cancelled);
  if (closed_)
    return turn_away(core::OpResult::Eof);
  const auto layout = layout_;
  const uint64_t run = run_number_;
  lock.unlock();
  const auto span = span_of(frames.records);
  Item item{.buffer = wrap_output(std::move(frames), *layout), .event = nullptr};
  lock.lock();
  // The pad may have been flushed or deactivated meanwhile, and even be in another life.
  if (!takes_frames() || run != run_number_)
    return core::OpResult::Cancelled;
  append_frames(std::move(item), span);
  return core::OpResult::Ok;
}

// Nothing where it is not known: nobody knows then what came before.
std::optional<OutputPort::Span> OutputPort::span_of(std::span<const core::FrameRecord> records) {
  constexpr auto unknown = core::FrameRecord::unknown_sequence;
  if (records.empty() || records.front().sequence == unknown || records.back().sequence == unknown)
    return std::nullopt;
  return Span{records.front().sequence, records.back().sequence + 1};
}

void OutputPort::append_frames(Item item, const std::optional<Span> &span) {
  release_waiting(span ? std::max(frames_out_, span->first) : every_frame);
  if (span) {
    // Overlapping windows show frames again.
    item.frames = {std::max(frames_out_, span->first), std::max(frames_out_, span->end)};
    item.departed = departed_;
    frames_out_ = item.frames.end;
    if (departed_ != nullptr)
      departed_->expect(item.frames.end - item.frames.first);
  }
  if (flow_ == GST_FLOW_OK)
    append(std::move(item));
  else
    count(item, false);
  release_waiting(frames_out_);
}

// Whether its frames have left.
void OutputPort::count(const Item &item, bool left) {
  if (item.departed != nullptr && item.frames.end > item.frames.first)
    item.departed->add(item.frames.first, item.frames.end, left);
}

// What is queued will not leave. With the lock.
void OutputPort::drop_queued() {
  for (const auto &item : queue_)
    if (item.buffer != nullptr)
      count(item, false);
  queued_buffers_ = 0;
}

void OutputPort::on_end(bool eof) {
  std::lock_guard lock(mutex_);
  // A run that was stopped or failed ends in end_run, behind its error message.
  if (!eof || pad_state_ != Pad::Active || run_ != Run::Running)
    return;  // what drains goes on
  run_ = Run::Drained;
  release_waiting(every_frame);
  if (eos_ != nullptr)
    append_eos(std::move(eos_));
}

void OutputPort::interrupt() noexcept {
  std::lock_guard lock(mutex_);
  if (run_ == Run::Running || run_ == Run::Draining)
    run_ = Run::Interrupted;
  not_full_.notify_all();
}

bool OutputPort::activate(bool active) {
  if (active) {
    {
      std::lock_guard lock(mutex_);
      pad_state_ = Pad::Active;
      run_ = Run::None;
      end_ = End::Open;
      begin_life();
    }
    return gst_pad_start_task(pad_, run_task, this, nullptr) != FALSE;
  }
  {
    std::lock_guard lock(mutex_);
    pad_state_ = Pad::Inactive;
    not_empty_.notify_all();
    not_full_.notify_all();
    pushed_.notify_all();
  }
  const bool stopped = gst_pad_stop_task(pad_) != FALSE;
  std::deque<Item> dropped;
  std::deque<Waiting> dropped_waiting;
  std::lock_guard lock(mutex_);
  drop_queued();
  // What describes the stream holds when the pad is active again.
  auto kept = take_sticky();
  dropped.swap(queue_);
  dropped_waiting.swap(waiting_);
  for (auto &item : kept)
    waiting_.push_back({std::move(item), 0});
  eos_.reset();
  return stopped;
}

void OutputPort::reset() {
  std::deque<Waiting> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(waiting_);
  caps_.reset();
  layout_.reset();
  pushed_layout_.reset();
  pushed_caps_.reset();
  video_meta_.reset();
}

void OutputPort::flush_start(EventPtr event) {
  interrupt_flow();
  gst_pad_push_event(pad_, event.release());
}

void OutputPort::interrupt_flow() {
  std::lock_guard lock(mutex_);
  if (pad_state_ == Pad::Active)
    pad_state_ = Pad::Flushing;
  not_empty_.notify_all();
  not_full_.notify_all();
  pushed_.notify_all();
}

// What is still to come from the last life says nothing about this one.
void OutputPort::begin_life() {
  ++life_;
  flow_ = GST_FLOW_OK;
  closed_ = false;
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
    std::unique_lock lock(mutex_);
    // What the task pushes just now comes before the event. It may itself be who flushes.
    pushed_.wait(lock, [this] {
      return !in_hand_ || pad_state_ == Pad::Inactive || task_ == std::this_thread::get_id();
    });
    drop_queued();
    auto kept = take_sticky();
    dropped.swap(queue_);
    dropped_waiting.swap(waiting_);
    for (auto &item : kept)
      waiting_.push_back({std::move(item), 0});
    eos_.reset();
    run_ = Run::None;
    end_ = End::Open;
    begin_life();
  }
  if (event != nullptr)
    gst_pad_push_event(pad_, event.release());
  std::lock_guard lock(mutex_);
  if (pad_state_ == Pad::Inactive)
    return;
  pad_state_ = Pad::Active;
  release_waiting(every_frame);
  not_empty_.notify_all();
}

bool OutputPort::wait_until_pushed() {
  std::unique_lock lock(mutex_);
  pushed_.wait(lock, [this] { return (queue_.empty() && !in_hand_) || pad_state_ != Pad::Active; });
  return pad_state_ == Pad::Active;
}

bool OutputPort::is_active() const {
  std::lock_guard lock(mutex_);
  return pad_state_ != Pad::Inactive;
}

GstFlowReturn OutputPort::flow() const {
  std::lock_guard lock(mutex_);
  return pad_state_ != Pad::Active ? GST_FLOW_FLUSHING : flow_;
}

void OutputPort::reconfigure() {
  std::lock_guard lock(mutex_);
  ask_again_ = true;
  if (flow_ == GST_FLOW_NOT_LINKED)
    flow_ = GST_FLOW_OK;
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
    // A flush does not pause the task: that would wait for it, and another flush may be over by
    // then.
    not_empty_.wait(lock, [this] {
      return pad_state_ == Pad::Inactive || (pad_state_ == Pad::Active && !queue_.empty());
    });
    if (pad_state_ == Pad::Inactive) {
      lock.unlock();
      gst_pad_pause_task(pad_);
      return;
    }
    item = std::move(queue_.front());
    queue_.pop_front();
    in_hand_ = true;
    task_ = std::this_thread::get_id();
    if (item.buffer != nullptr) {
      --queued_buffers_;
      not_full_.notify_one();
    }
    if (ask_again_)
      video_meta_.reset();
    ask_again_ = false;
  }
  bool left = false;
  if (item.event != nullptr)
    push_event(std::move(item));
  else
    left = push_buffer(std::move(item.buffer));
  std::lock_guard lock(mutex_);
  count(item, left);
  in_hand_ = false;
  pushed_.notify_all();
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
  uint64_t life = 0;
  {
    std::lock_guard lock(mutex_);
    if (flow_ != GST_FLOW_OK)
      return false;  // downstream wants no more; events still pass
    life = life_;
  }
  if (pushed_layout_ != nullptr && pushed_layout_->kind == CapsRow::Kind::Video &&
      !packed_is_default(*pushed_layout_)) {
    const bool meta = takes_video_meta();
    buffer = to_downstream_layout(std::move(buffer), *pushed_layout_, meta);
    if (buffer == nullptr) {
      post_error(
          element_, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
          "there is not enough memory for an output frame", "");
      answer(GST_FLOW_ERROR, life);
      return false;
    }
  }
  const GstFlowReturn flow = gst_pad_push(pad_, buffer.release());
  if (flow != GST_FLOW_OK)
    answer(flow, life);
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

void OutputPort::answer(GstFlowReturn flow, uint64_t life) {
  std::deque<Item> dropped;
  bool post = false;
  {
    std::lock_guard lock(mutex_);
    if (life != life_)
      return;
    GST_DEBUG_OBJECT(pad_, "downstream answers %s", gst_flow_get_name(flow));
    if (flow_ == GST_FLOW_OK)
      flow_ = flow;
    // Like a queue: who learns nothing from a return value must be told by a message.
    post = end_ != End::Open && (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS);
    drop_queued();
    for (auto &item : queue_)
      if (item.event != nullptr)
        dropped.push_back(std::move(item));
    dropped.swap(queue_);
    not_full_.notify_all();
  }
  on_flow_();
  if (post)
    GST_ELEMENT_FLOW_ERROR(element_, flow);
}

}  // namespace holoflow::gst
