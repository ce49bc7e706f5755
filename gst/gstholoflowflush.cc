// SPDX-License-Identifier: LGPL-2.1-or-later
// The session's flushes: of one pad or several, by events or by deactivation, and what goes
// upstream.
#include <algorithm>

#include "gstholoflowinput.h"
#include "gstholoflowoutput.h"

namespace holoflow::gst {

using Pad = InputPort::Shared::Pad;

bool Session::anyone_flushes() const {
  return has_inactive_output() ||
      std::any_of(inputs_.begin(), inputs_.end(), [](const InputPort *port) {
           return port->shared.pad != Pad::Active || port->shared.awaited_flush.has_value();
         });
}

// Everything inside is to be thrown away. Does not wait.
void Session::throw_away() {
  std::shared_ptr<Graph> graph;
  {
    std::lock_guard lock(mutex_);
    graph = graph_;
  }
  for (OutputPort *output : outputs())
    output->interrupt_flow();
  if (graph != nullptr)
    graph->session->stop();
}

void Session::begin_flush(InputPort &port, EventPtr event) {
  const guint32 seqnum = gst_event_get_seqnum(event.get());
  bool is_repeated = false;
  {
    std::lock_guard lock(mutex_);
    if (port.shared.pad == Pad::Active)
      port.shared.pad = Pad::Flushing;
    // One seek may reach several inputs.
    is_repeated = inputs_.size() > 1 && state_ == StreamState::Flushing && flush_seqnum_ == seqnum;
    flush_seqnum_ = seqnum;
    qos_.clear();
    if (may_follow(state_, StreamState::Flushing))
      move_to(StreamState::Flushing);
    changed_.notify_all();
  }
  throw_away();
  if (is_repeated)
    return;
  for (OutputPort *output : outputs())
    output->flush_start(share(event.get()));
}

void Session::end_flush(InputPort &port, EventPtr event) {
  bool is_alone = false;
  {
    std::lock_guard lock(mutex_);
    if (port.shared.pad == Pad::Flushing)
      port.shared.pad = Pad::Active;
    port.shared.ended = false;
    port.shared.awaited_flush.reset();
    is_alone = may_follow(state_, StreamState::Flushing);
    if (is_alone)
      move_to(StreamState::Flushing);
    if (state_ == StreamState::Flushing && anyone_flushes())
      return;  // the last one ends it for all
  }
  if (is_alone)
    throw_away();
  end_flushing(std::move(event));
}

// Waits for what executes just now. `event`: FLUSH_STOP for the outputs, null for a pad that is
// active again.
void Session::end_flushing(EventPtr event) {
  std::shared_ptr<Graph> graph;
  {
    std::unique_lock lock(mutex_);
    // Another input may be about to start the graph, and stops it when it sees the flush.
    changed_.wait(lock, [this] { return !changing_; });
    graph = graph_;
  }
  if (graph != nullptr)
    graph->session->wait();
  close_run();
  for (OutputPort *output : outputs())
    output->flush_stop(event != nullptr ? share(event.get()) : nullptr);
  std::lock_guard lock(mutex_);
  ++run_number_;  // what another input pushed into that run comes again
  if (state_ == StreamState::Flushing && !anyone_flushes())
    move_to(graph_ != nullptr ? StreamState::Ready : StreamState::Waiting);
}

void Session::deactivate(InputPort &port) {
  {
    std::lock_guard lock(mutex_);
    port.shared.pad = Pad::Inactive;
    changed_.notify_all();
  }
  begin_inactivity();
}

void Session::begin_inactivity() {
  {
    std::lock_guard lock(mutex_);
    if (state_ == StreamState::Stopped)
      return;
    if (may_follow(state_, StreamState::Flushing))
      move_to(StreamState::Flushing);
    changed_.notify_all();
  }
  throw_away();
}

void Session::activate(InputPort &port) {
  {
    std::lock_guard lock(mutex_);
    port.shared.pad = Pad::Active;
    port.shared.ended = false;
  }
  end_inactivity();
}

void Session::end_inactivity() {
  {
    std::lock_guard lock(mutex_);
    if (state_ != StreamState::Flushing || anyone_flushes())
      return;
  }
  end_flushing(nullptr);
}

// Frames that are paired by their order must not be left out at one of their inputs.
bool Session::send_qos(const OutputPort &from, EventPtr event) {
  std::vector<std::pair<InputPort *, EventPtr>> due;
  {
    std::lock_guard lock(mutex_);
    const auto inputs = model_->inputs_of(from.node());
    for (InputPort *input : inputs_) {
      const auto &name = input->node().name;
      if (!inputs.contains(name) || model_->is_paired(name))
        continue;
      if (auto combined = qos_[name].add(from.node(), event.get()))
        due.emplace_back(input, std::move(combined));
    }
  }
  bool taken = due.empty();
  for (auto &[input, combined] : due)
    taken = gst_pad_push_event(input->pad(), combined.release()) != FALSE || taken;
  return taken;
}

bool Session::send_upstream(OutputPort &from, EventPtr event) {
  const auto type = GST_EVENT_TYPE(event.get());
  if (type == GST_EVENT_QOS)
    return send_qos(from, std::move(event));
  if (type == GST_EVENT_RECONFIGURE)
    from.reconfigure();
  const guint32 seqnum = gst_event_get_seqnum(event.get());
  std::vector<InputPort *> ports;
  {
    std::lock_guard lock(mutex_);
    ports = inputs_;
    // What a bin sends to all of its sinks comes once from each.
    const bool reaches_all = type == GST_EVENT_SEEK || type == GST_EVENT_LATENCY;
    if (reaches_all && outputs_.size() > 1 && upstream_seqnum_ == seqnum)
      return true;
    if (reaches_all)
      upstream_seqnum_ = seqnum;
    GstSeekFlags flags = GST_SEEK_FLAG_NONE;
    if (type == GST_EVENT_SEEK)
      gst_event_parse_seek(
          event.get(), nullptr, nullptr, &flags, nullptr, nullptr, nullptr, nullptr);
    if ((flags & GST_SEEK_FLAG_FLUSH) != 0 && ports.size() > 1)
      for (InputPort *port : ports)
        port->shared.awaited_flush = seqnum;
  }
  bool taken = false;
  for (InputPort *port : ports) {
    const bool takes = gst_pad_push_event(port->pad(), share(event.get()).release()) != FALSE;
    taken = taken || takes;
    if (!takes)
      forget_flush(*port, seqnum);
  }
  return taken;
}

// The seek that was to bring a flush has failed on that pad.
void Session::forget_flush(InputPort &port, guint32 seqnum) {
  {
    std::lock_guard lock(mutex_);
    if (port.shared.awaited_flush != seqnum)
      return;
    port.shared.awaited_flush.reset();
    if (state_ != StreamState::Flushing || anyone_flushes())
      return;
  }
  EventPtr stop(gst_event_new_flush_stop(TRUE));
  gst_event_set_seqnum(stop.get(), seqnum);
  end_flushing(std::move(stop));
}

}  // namespace holoflow::gst
