// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames into the graph: when it is compiled, when a run begins and ends. Graphs are made in
// gstholoflowgraph.cc, flushes are in gstholoflowflush.cc, what others may ask is in
// gstholoflowstats.cc.
#include "gstholoflowsession.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gstholoflowchange.h"
#include "gstholoflowinput.h"
#include "gstholoflowlog.h"
#include "gstholoflowoutput.h"
#include "gstholoflowtasks.h"

namespace holoflow::gst {

namespace {

using State = StreamState;

struct Move {
  State from, to;
};
// The drawing in the header. From everywhere a stop leads to Stopped, and from where something is
// started a flush leads to Flushing.
constexpr std::array moves{
    Move{State::Stopped, State::Waiting},  Move{State::Waiting, State::Ready},
    Move{State::Ready, State::Waiting},    Move{State::Ready, State::Running},
    Move{State::Running, State::Draining}, Move{State::Running, State::Ready},
    Move{State::Draining, State::Ready},   Move{State::Running, State::Failed},
    Move{State::Draining, State::Failed},  Move{State::Flushing, State::Ready},
    Move{State::Flushing, State::Waiting},
};

}  // namespace

const char *to_string(StreamState state) {
  switch (state) {
  case State::Stopped:
    return "stopped";
  case State::Waiting:
    return "waiting";
  case State::Ready:
    return "ready";
  case State::Running:
    return "running";
  case State::Draining:
    return "draining";
  case State::Flushing:
    return "flushing";
  case State::Failed:
    return "failed";
  }
  return "unknown";
}

bool may_follow(StreamState from, StreamState to) {
  if (to == State::Stopped)
    return from != State::Stopped;
  if (to == State::Flushing)
    return from != State::Stopped && from != State::Flushing;
  return std::any_of(moves.begin(), moves.end(), [&](const Move &move) {
    return move.from == from && move.to == to;
  });
}

Session::Session(GstElement *element) : element_(element) {
  register_tasks(registry_);
}

Session::~Session() = default;

void Session::move_to(State next) {
  if (!may_follow(state_, next))
    GST_ERROR_OBJECT(
        element_, "internal error: a stream that is %s became %s", to_string(state_),
        to_string(next));
  GST_LOG_OBJECT(element_, "from %s to %s", to_string(state_), to_string(next));
  state_ = next;
  changed_.notify_all();
}

void Session::set_ports(std::vector<InputPort *> inputs, std::vector<OutputPort *> outputs) {
  std::lock_guard lock(mutex_);
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
}

void Session::set_model(std::shared_ptr<const GraphModel> model, std::function<void()> refused) {
  std::lock_guard lock(mutex_);
  model_ = std::move(model);
  refused_ = std::move(refused);
}

void Session::start() {
  std::string trace_fault;
  {
    std::lock_guard lock(mutex_);
    try {
      trace_.start(model_->settings().trace_location);
    } catch (const std::exception &error) {
      trace_fault = error.what();
    }
    move_to(State::Waiting);
    said_.clear();
    totals_ = {};
    departed_.clear();
    closed_runs_.clear();
    flush_seqnum_.reset();
    upstream_seqnum_.reset();
    qos_.clear();
  }
  if (!trace_fault.empty())
    warn_of_trace(trace_fault);
}

bool Session::start_sources() {
  std::unique_lock lock(mutex_);
  if (!inputs_.empty() || outputs_.empty() || state_ != State::Waiting)
    return true;
  Change change(*this, lock);
  const auto outputs = outputs_;
  lock.unlock();
  const guint group = gst_util_group_id_next();
  for (OutputPort *output : outputs) {
    const TextPtr id(gst_pad_create_stream_id(output->pad(), element_, output->node().c_str()));
    EventPtr stream(gst_event_new_stream_start(id.get()));
    gst_event_set_group_id(stream.get(), group);
    output->queue_event(std::move(stream), 0);
  }
  bool runs = compile();
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  for (OutputPort *output : outputs)
    output->queue_event(EventPtr(gst_event_new_segment(&segment)), 0);
  runs = runs && begin_run();
  for (OutputPort *output : outputs)
    output->queue_eos(EventPtr(gst_event_new_eos()));  // behind the last frame
  lock.lock();
  return runs || state_ == State::Ready;  // it may be over already
}

void Session::end_sources(EventPtr eos) {
  std::shared_ptr<Graph> graph;
  {
    std::lock_guard lock(mutex_);
    graph = graph_;
  }
  for (OutputPort *output : outputs())
    output->queue_eos(share(eos.get()));
  if (graph != nullptr)
    graph->session->stop();
}

void Session::halt() {
  std::shared_ptr<Graph> graph;
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::Stopped)
      move_to(State::Stopped);
    graph = graph_;
  }
  if (graph != nullptr)
    graph->session->stop();
}

void Session::stop() {
  discard_graph();
  write_trace();
  warned_.clear();
  std::lock_guard lock(mutex_);
  for (InputPort *port : inputs_) {
    port->reset();
    port->shared.ended = false;
    port->shared.stream.reset();
    port->shared.awaited_flush.reset();
  }
  for (OutputPort *port : outputs_)
    port->reset();
  delays_.clear();
  device_.clear();
  run_ = RunOf::Nothing;
}

GstFlowReturn Session::refusal_of(const InputPort &port) const {
  if (state_ == State::Stopped || port.shared.pad != InputPort::Shared::Pad::Active)
    return GST_FLOW_FLUSHING;
  if (state_ == State::Failed)
    return GST_FLOW_ERROR;
  // Nobody waits for an output that may never be active again.
  return state_ == State::Flushing && has_inactive_output() ? GST_FLOW_FLUSHING : GST_FLOW_OK;
}

bool Session::has_inactive_output() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [](const OutputPort *output) {
    return !output->is_active();
  });
}

bool Session::has_all_streams() const {
  return std::all_of(inputs_.begin(), inputs_.end(), [](const InputPort *port) {
    return port->shared.stream.has_value();
  });
}

bool Session::is_current() const {
  return graph_ != nullptr && graph_->model == model_;
}

bool Session::all_ended() const {
  return std::all_of(
      inputs_.begin(), inputs_.end(), [](const InputPort *port) { return port->shared.ended; });
}

const InputPort *Session::ended_input() const {
  const auto found = std::find_if(
      inputs_.begin(), inputs_.end(), [](const InputPort *port) { return port->shared.ended; });
  return found != inputs_.end() ? *found : nullptr;
}

std::map<std::string, InputStream> Session::streams() const {
  std::map<std::string, InputStream> streams;
  for (const InputPort *port : inputs_)
    streams.emplace(port->node().name, *port->shared.stream);
  return streams;
}

Session::Entry Session::enter(InputPort &port) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (const auto flow = refusal_of(port); flow != GST_FLOW_OK)
      return {flow};
    if (const auto flow = combined_flow(); flow != GST_FLOW_OK && state_ != State::Flushing)
      return {flow};
    if (state_ == State::Running && is_current() && !changing_)
      return {GST_FLOW_OK, graph_, run_number_, inputs_.size() > 1};
    if (changing_ || state_ == State::Flushing || state_ == State::Draining) {
      changed_.wait(lock);
      continue;
    }
    if (!port.shared.stream) {
      GST_ERROR_OBJECT(port.pad(), "a buffer came before caps that the graph takes");
      return {GST_FLOW_NOT_NEGOTIATED};
    }
    if (!has_all_streams()) {
      // What another input would have to bring does not come any more.
      if (ended_input() != nullptr)
        return {GST_FLOW_EOS};
      await_others(port, lock);
      continue;
    }
    Change change(*this, lock);
    lock.unlock();
    const bool runs = prepare();
    lock.lock();
    change.end();
    if (!runs && refusal_of(port) == GST_FLOW_OK && state_ != State::Flushing)
      return {GST_FLOW_NOT_NEGOTIATED};
  }
}

// What judges caps is what holds: new settings are tried with the frames that there are.
void Session::settle_settings(InputPort &port) {
  std::unique_lock lock(mutex_);
  if (!wait_for_turn(port, lock) || graph_ == nullptr || is_current())
    return;
  Change change(*this, lock);
  lock.unlock();
  (void)replace_settings();
  lock.lock();
}

// The graph for the settings and caps that there are, running. With a Change, without the lock.
bool Session::prepare() {
  std::shared_ptr<Graph> graph;
  std::shared_ptr<const GraphModel> model;
  {
    std::lock_guard lock(mutex_);
    graph = graph_;
    model = model_;
  }
  if (graph != nullptr && graph->model != model && !replace_settings())
    return false;
  if (graph == nullptr && !compile())
    return false;
  return begin_run();
}

// Throws nothing: where tasks cannot begin, on_over() has said so.
bool Session::begin_run() {
  std::shared_ptr<Graph> graph;
  bool goes_on = false;
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::Running)
      return true;
    if (state_ != State::Ready)
      return false;
    graph = graph_;
    goes_on = run_ == RunOf::FramesToGoOn;
  }
  graph->session->wait();  // on_over() comes a little before the end
  keep_trace(*graph);
  goes_on = goes_on && graph->session->state() == runtime::SessionState::Drained;
  if (!goes_on)
    close_run();
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::Ready)
      return false;
    move_to(State::Running);
    run_ = RunOf::Frames;
    ++run_number_;
    graph->has_untraced_run = true;
    for (const InputPort *port : inputs_)
      if (!goes_on)
        departed_[port->node().name] = std::make_shared<DepartedFrames>();
    for (OutputPort *output : outputs_) {
      const auto found = graph->inference->outputs.find(output->node());
      const bool is_known =
          found != graph->inference->outputs.end() && departed_.contains(found->second.shape.input);
      output->begin_run(is_known ? departed_.at(found->second.shape.input) : nullptr, goes_on);
    }
  }
  try {
    goes_on ? graph->session->resume() : graph->session->start();
    graph->begin_places(goes_on);
  } catch (const std::exception &error) {
    GST_DEBUG_OBJECT(element_, "the run does not begin: %s", error.what());
    return false;
  }
  std::lock_guard lock(mutex_);
  // A flush or a stop that came before the start found nothing to stop.
  if (state_ == State::Stopped || state_ == State::Flushing)
    graph->session->stop();
  // Of inputs that have ended nothing more comes; others may go on.
  for (const InputPort *port : inputs_)
    if (port->shared.ended)
      graph->session->end(port->node().name);
  return state_ == State::Running;
}

void Session::on_over(std::exception_ptr error) {
  if (error != nullptr) {
    std::string text = "the graph failed";
    try {
      std::rethrow_exception(error);
    } catch (const std::exception &failure) {
      text = failure.what();
    } catch (...) {
    }
    post_error(
        element_, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, text,
        "a task of the graph ended the run");
  }
  std::unique_lock lock(mutex_);
  for (OutputPort *output : outputs_)
    output->end_run(error != nullptr);
  // Where all have ended the next stream begins anew; else the others are told of the end.
  const bool begins_anew = all_ended();
  for (InputPort *port : inputs_)
    port->shared.ended = port->shared.ended && !begins_anew;
  if (state_ == State::Draining && begins_anew && error == nullptr) {
    // A graph that keeps its frames is a sink: the pipeline waits for its message.
    if (outputs_.empty())
      post_eos(lock);
    else
      warn_of_nothing_left(lock);
  }
  if (runs())
    move_to(error != nullptr ? State::Failed : State::Ready);
  changed_.notify_all();
}

void Session::post_eos(std::unique_lock<std::mutex> &lock) {
  GstMessage *message = gst_message_new_eos(GST_OBJECT(element_));
  gst_message_set_seqnum(message, eos_seqnum_);
  lock.unlock();
  gst_element_post_message(element_, message);
  lock.lock();
}

void Session::on_flow() {
  std::shared_ptr<Graph> graph;
  {
    std::lock_guard lock(mutex_);
    if (combined_flow() == GST_FLOW_OK)
      return;
    graph = graph_;
    for (OutputPort *output : outputs_)
      output->close();
  }
  if (graph != nullptr)
    graph->session->stop();
}

GstFlowReturn Session::flow(const InputPort &port) const {
  std::lock_guard lock(mutex_);
  if (state_ == State::Flushing)
    return refusal_of(port);
  return combined_flow();
}

// As GstFlowCombiner does it. With the lock.
GstFlowReturn Session::combined_flow() const {
  size_t ended = 0, not_linked = 0;
  for (const OutputPort *output : outputs_) {
    const auto flow = output->flow();
    if (flow < GST_FLOW_EOS || flow == GST_FLOW_FLUSHING)
      return flow;
    ended += flow == GST_FLOW_EOS ? 1 : 0;
    not_linked += flow == GST_FLOW_NOT_LINKED ? 1 : 0;
  }
  if (outputs_.empty() || ended + not_linked < outputs_.size())
    return GST_FLOW_OK;
  return ended > 0 ? GST_FLOW_EOS : GST_FLOW_NOT_LINKED;
}

GstFlowReturn Session::why_closed(InputPort &port, const Entry &entry) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return run_number_ != entry.run || !runs(); };
  // Others may go on where only the nodes behind this input have ended.
  const bool others_go_on = inputs_.size() > 1 && state_ == State::Running && !changing_;
  if (!others_go_on)
    changed_.wait(lock, is_over);
  const auto combined = combined_flow();
  if (combined != GST_FLOW_OK && combined != GST_FLOW_FLUSHING)
    return combined;
  if (const auto flow = refusal_of(port); flow != GST_FLOW_OK)
    return flow;
  const bool again = changing_ || run_ == RunOf::FramesToGoOn || state_ == State::Flushing ||
      run_number_ != entry.run || graph_ != entry.graph;
  return again ? GST_FLOW_OK : GST_FLOW_EOS;
}

bool Session::drain(InputPort &port) {
  std::unique_lock lock(mutex_);
  if (!wait_for_turn(port, lock))
    return false;
  if (state_ != State::Running)
    return true;
  Change change(*this, lock);
  const bool drained = end_run(lock);
  if (drained)
    run_ = RunOf::FramesToGoOn;
  return drained;
}

// Until no other thread changes the graph, and no EOS drains it. With the lock; false where the
// port is interrupted first.
bool Session::wait_for_turn(InputPort &port, std::unique_lock<std::mutex> &lock) {
  changed_.wait(lock, [&] {
    const bool busy = changing_ || state_ == State::Draining || state_ == State::Flushing;
    return !busy || refusal_of(port) != GST_FLOW_OK;
  });
  return refusal_of(port) == GST_FLOW_OK;
}

// With a Change and the lock, which is given up meanwhile: whether everything came out.
bool Session::end_run(std::unique_lock<std::mutex> &lock) {
  move_to(State::Draining);
  const auto graph = graph_;
  for (OutputPort *output : outputs_)
    output->begin_drain();
  lock.unlock();
  graph->session->end();
  graph->session->wait();
  lock.lock();
  return state_ == State::Ready;
}

void Session::end_input(InputPort &port, EventPtr eos) {
  std::unique_lock lock(mutex_);
  if (!wait_for_turn(port, lock))
    return;
  port.shared.ended = true;
  eos_seqnum_ = gst_event_get_seqnum(eos.get());
  // So that the end reaches those outputs that need this input, and no others.
  if (state_ == State::Ready && !all_ended()) {
    Change change(*this, lock);
    lock.unlock();
    (void)begin_run();
    lock.lock();
  }
  const auto graph = runs() ? graph_ : nullptr;
  if (all_ended() && graph != nullptr)
    move_to(State::Draining);
  else if (all_ended()) {
    for (InputPort *each : inputs_)
      each->shared.ended = false;
    if (outputs_.empty())
      post_eos(lock);
  }
  const auto outputs = outputs_;
  lock.unlock();
  changed_.notify_all();
  for (OutputPort *output : outputs)
    output->queue_eos(share(eos.get()));
  // The Output says when everything has come out; on_over covers a run that ended meanwhile.
  if (graph != nullptr)
    graph->session->end(port.node().name);
}

void Session::await_turn(InputPort &port) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    const bool waits = (port.shared.ended && runs()) || state_ == State::Flushing;
    return !waits || refusal_of(port) != GST_FLOW_OK;
  });
  port.shared.ended = false;
}

Graph::Place Session::Inside::place(const std::string &output) const {
  const auto found = places.find(output);
  return found != places.end() ? found->second : Graph::Place{entered, entered};
}

Session::Inside Session::inside(const InputPort &port) {
  std::unique_lock lock(mutex_);
  // A run that another input begins just now still has the numbers of the last one.
  changed_.wait(lock, [&] { return !changing_ || refusal_of(port) != GST_FLOW_OK; });
  if (graph_ == nullptr || !(runs() || run_ == RunOf::FramesToGoOn))
    return {};
  const auto &name = port.node().name;
  Inside inside;
  inside.entered = graph_->session->input(name).frames_entered();
  size_t window = 0;
  for (const auto &[output, inference] : graph_->inference->outputs) {
    const auto &shape = inference.shape;
    if (shape.input != name)
      continue;
    const auto place = graph_->place_at(output);
    inside.places[output] = place;
    inside.unsettled = std::max(inside.unsettled, inside.entered - place.settled);
    window = std::max(window, shape.window_frames());
  }
  const Rate rate = port.shared.stream ? port.shared.stream->rate : Rate{};
  if (rate.known())
    inside.span = gst_util_uint64_scale(
        window, GST_SECOND * static_cast<guint64>(rate.denominator),
        static_cast<guint64>(rate.numerator));
  return inside;
}

}  // namespace holoflow::gst
