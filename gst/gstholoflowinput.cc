// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers and events of one sink pad into the graph.
#include "gstholoflowinput.h"

#include <utility>

#include "gstholoflowlog.h"
#include "gstholoflowmemory.h"
#include "gstholoflowoutput.h"

namespace holoflow::gst {

namespace {

// A buffer that has nothing to say but its time.
EventPtr gap_of(GstBuffer *buffer) {
  if (!GST_BUFFER_PTS_IS_VALID(buffer))
    return nullptr;
  return EventPtr(gst_event_new_gap(GST_BUFFER_PTS(buffer), GST_BUFFER_DURATION(buffer)));
}

bool is_serialized(GstEvent *event) {
  return (gst_event_type_get_flags(GST_EVENT_TYPE(event)) & GST_EVENT_TYPE_SERIALIZED) != 0;
}

}  // namespace

InputPort::InputPort(Session &session, GstPad *pad, PortNode node)
    : session_(session), pad_(pad), node_(std::move(node)) {
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
}

bool InputPort::judge_caps(GstCaps *caps) {
  if (refused_caps_ != nullptr && gst_caps_is_equal(refused_caps_.get(), caps))
    return false;
  session_.settle_settings(*this);
  const auto faults = session_.model()->refusal(node_, caps, session_.known_frames(this));
  if (faults.empty()) {
    refused_caps_.reset();
    return true;
  }
  refused_caps_ = share(caps);
  (void)session_.first_explanation();  // this is it
  post_error(
      session_.element(), GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, core::to_text(faults),
      "caps: " + to_text(caps));
  return false;
}

GstFlowReturn InputPort::handle_event(EventPtr event) {
  GST_LOG_OBJECT(pad_, "%" GST_PTR_FORMAT, event.get());
  switch (GST_EVENT_TYPE(event.get())) {
  case GST_EVENT_FLUSH_START:
    session_.begin_flush(*this, std::move(event));
    return GST_FLOW_OK;
  case GST_EVENT_FLUSH_STOP:
    gap_time_ = 0;
    session_.end_flush(*this, std::move(event));
    return GST_FLOW_OK;
  case GST_EVENT_EOS:
    session_.end_input(*this, std::move(event));
    return GST_FLOW_OK;
  default:
    break;
  }
  if (!is_serialized(event.get())) {
    bool sent = true;
    for (OutputPort *output : session_.outputs_of(node_.name))
      sent = output->push_now(share(event.get())) && sent;
    return sent ? GST_FLOW_OK : GST_FLOW_ERROR;
  }
  session_.await_turn(*this);
  switch (GST_EVENT_TYPE(event.get())) {
  case GST_EVENT_CAPS: {
    GstCaps *caps = nullptr;
    gst_event_parse_caps(event.get(), &caps);
    return handle_caps(caps);
  }
  case GST_EVENT_GAP:
    queue_gap(std::move(event));
    return GST_FLOW_OK;
  case GST_EVENT_SEGMENT_DONE:
    if (!session_.drain(*this))
      return GST_FLOW_FLUSHING;
    break;
  case GST_EVENT_SEGMENT:
    gst_event_copy_segment(event.get(), &segment_);
    break;
  default:
    break;
  }
  queue_serialized(std::move(event));
  return GST_FLOW_OK;
}

GstFlowReturn InputPort::handle_caps(GstCaps *caps) {
  if (caps_ != nullptr && gst_caps_is_equal(caps_.get(), caps))
    return GST_FLOW_OK;
  if (!judge_caps(caps))
    return GST_FLOW_NOT_NEGOTIATED;
  switch (session_.set_caps(*this, caps)) {
  case Session::CapsAnswer::Taken:
    caps_ = share(caps);
    return GST_FLOW_OK;
  case Session::CapsAnswer::Refused:
    refused_caps_ = share(caps);
    return GST_FLOW_NOT_NEGOTIATED;
  case Session::CapsAnswer::Interrupted:  // they may come again
    return GST_FLOW_FLUSHING;
  }
  return GST_FLOW_ERROR;
}

// In its place between the frames, as far as those come without another one.
void InputPort::queue_serialized(EventPtr event) {
  const auto inside = session_.inside(*this);
  for (OutputPort *output : session_.outputs_of(node_.name))
    output->queue_event(share(event.get()), inside.place(output->node()).shown);
}

// Frames that wait for others let a gap pass once it is longer than what they could wait for.
void InputPort::queue_gap(EventPtr event) {
  const auto inside = session_.inside(*this);
  const uint64_t settled = inside.entered - inside.unsettled;
  if (inside.unsettled == 0 || std::exchange(gap_after_, settled) != settled)
    gap_time_ = 0;
  if (inside.unsettled > 0) {
    GstClockTime duration = GST_CLOCK_TIME_NONE;
    gst_event_parse_gap(event.get(), nullptr, &duration);
    const bool known = inside.span > 0 && GST_CLOCK_TIME_IS_VALID(duration);
    gap_time_ += known ? duration : 0;
    if (!known || gap_time_ > inside.span) {
      gap_time_ = 0;
      (void)session_.drain(*this);
    }
  }
  // Behind the last frame, but not behind frames that a window skips.
  for (OutputPort *output : session_.outputs_of(node_.name)) {
    const auto place = inside.place(output->node());
    output->queue_event(
        share(event.get()), place.settled < inside.entered ? inside.entered : place.shown);
  }
}

bool InputPort::handle_drain(GstQuery *query) {
  session_.await_turn(*this);
  if (!session_.drain(*this))
    return false;
  bool drained = true;
  for (OutputPort *output : session_.outputs_of(node_.name))
    drained = output->wait_until_pushed() && gst_pad_peer_query(output->pad(), query) && drained;
  return drained;
}

GstFlowReturn InputPort::handle_buffer(BufferPtr buffer) {
  if (gst_buffer_get_size(buffer.get()) > 0)
    return push(std::move(buffer));
  if (auto gap = gap_of(buffer.get()))
    queue_gap(std::move(gap));
  return GST_FLOW_OK;
}

GstFlowReturn InputPort::push(BufferPtr buffer) {
  for (;;) {
    // What downstream says reaches upstream one buffer later.
    const auto entry = session_.enter(*this);
    if (entry.flow != GST_FLOW_OK)
      return entry.flow;
    if (graph_ != entry.graph) {
      graph_ = entry.graph;
      rim_ = &graph_->session->input(node_.name);
    }
    runtime::InputFrames frames;
    try {
      frames = map_input(
          entry.is_shared ? BufferPtr(gst_buffer_ref(buffer.get())) : std::move(buffer),
          graph_->streams.at(node_.name));
    } catch (const BufferError &error) {
      drop(error.what(), error.timestamp, error.duration);
      return GST_FLOW_OK;
    }
    if (lost_)
      frames.records.front().flags |= core::FrameRecord::Discontinuity;
    try {
      if (rim_->push(std::move(frames)) == runtime::IFrameInput::PushResult::Ok) {
        lost_ = false;
        return session_.flow(*this);
      }
    } catch (const std::exception &error) {
      post_error(session_.element(), GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, error.what(), "");
      return GST_FLOW_ERROR;
    }
    // One that another input's caps interrupted is pushed again.
    const auto why = session_.why_closed(*this, entry);
    if (why != GST_FLOW_OK || !entry.is_shared)
      return why != GST_FLOW_OK ? why : GST_FLOW_EOS;
  }
}

// As elements tell that drop for quality of service, so that applications count these too.
void InputPort::drop(const std::string &why, GstClockTime timestamp, GstClockTime duration) {
  lost_ = true;
  ++dropped_;
  session_.count_refused();
  GST_WARNING_OBJECT(pad_, "a buffer is dropped: %s", why.c_str());
  const bool has_time = segment_.format == GST_FORMAT_TIME && GST_CLOCK_TIME_IS_VALID(timestamp);
  const auto in_segment = [&](auto convert) {
    return has_time ? convert(&segment_, GST_FORMAT_TIME, timestamp) : GST_CLOCK_TIME_NONE;
  };
  GstMessage *message = gst_message_new_qos(
      GST_OBJECT(session_.element()), FALSE, in_segment(gst_segment_to_running_time),
      in_segment(gst_segment_to_stream_time), timestamp, duration);
  gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, session_.inside(*this).entered, dropped_);
  gst_element_post_message(session_.element(), message);
  if (std::exchange(warned_of_drop_, true))
    return;
  post_warning(
      session_.element(), GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "a buffer is dropped: " + why,
      "further ones are counted in \"stats\" without a warning");
}

void InputPort::set_active(bool active) {
  if (active)
    session_.activate(*this);
  else
    session_.deactivate(*this);
}

bool InputPort::is_linked() const {
  const PadPtr proxy(gst_pad_get_peer(pad_));
  if (proxy == nullptr || !GST_IS_PROXY_PAD(proxy.get()))
    return proxy != nullptr;
  GstProxyPad *ghost = gst_proxy_pad_get_internal(GST_PROXY_PAD(proxy.get()));
  const bool linked = ghost != nullptr && gst_pad_is_linked(GST_PAD(ghost));
  gst_clear_object(&ghost);
  return linked;
}

void InputPort::reset() {
  caps_.reset();
  refused_caps_.reset();
  graph_.reset();
  rim_ = nullptr;
  gap_time_ = 0;
  dropped_ = 0;
  warned_of_drop_ = lost_ = false;
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
}

}  // namespace holoflow::gst
