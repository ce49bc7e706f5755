// SPDX-License-Identifier: LGPL-2.1-or-later
// The session's graphs: compiled for the caps that came, replaced, announced downstream.
#include <chrono>

#include "gstholoflowchange.h"
#include "gstholoflowinput.h"
#include "gstholoflowlog.h"
#include "gstholoflowoutput.h"

namespace holoflow::gst {

namespace {

// Of the rates in "stats": whoever asks once a second gets those of the last second.
constexpr std::chrono::milliseconds rates_interval{250};

Rate scaled(Rate rate, Rate factor) {
  Rate result;
  if (!rate.known() || !factor.known() ||
      !gst_util_fraction_multiply(
          rate.numerator, rate.denominator, factor.numerator, factor.denominator, &result.numerator,
          &result.denominator))
    return {};
  return result;
}

Frames frames_of(const std::map<std::string, InputStream> &streams) {
  Frames frames;
  for (const auto &[node, stream] : streams)
    frames.emplace(node, stream.frame);
  return frames;
}

GstClockTime time_of(size_t frames, Rate rate) {
  return gst_util_uint64_scale(
      frames, GST_SECOND * static_cast<guint64>(rate.denominator),
      static_cast<guint64>(rate.numerator));
}

std::string texts_of(const std::map<std::string, InputStream> &streams) {
  std::string text;
  for (const auto &[node, stream] : streams)
    text += (text.empty() ? "" : "; ") + to_text(stream.caps.get());
  return text;
}

}  // namespace

Graph::Place Graph::place_at(const std::string &output) const {
  const auto resumed = resumed_shapes.find(output);
  const auto &shape =
      resumed != resumed_shapes.end() ? resumed->second : inference->outputs.at(output).shape;
  const auto counted = entered_before.find(shape.input);
  const uint64_t before = counted != entered_before.end() ? counted->second : 0;
  const uint64_t entered = session->input(shape.input).frames_entered() - before;
  const uint64_t shown = shape.frames_shown(entered);
  return {before + shape.frames_settled(entered), shown > 0 ? before + shown : 0};
}

void Graph::begin_places(bool goes_on) {
  entered_before.clear();
  resumed_shapes.clear();
  if (!goes_on)
    return;
  for (const auto &[node, input] : session->inputs())
    entered_before.emplace(node, input->frames_entered());
  const auto ledger = session->scheduler().ledger();
  for (const auto &[node, output] : inference->outputs)
    resumed_shapes.emplace(node, output.shape.resumed(ledger));
}

std::shared_ptr<Graph> Session::build(
    std::shared_ptr<const GraphModel> model, std::map<std::string, InputStream> streams) {
  auto graph = std::make_shared<Graph>();
  graph->model = std::move(model);
  graph->streams = std::move(streams);
  const auto frames = frames_of(graph->streams);
  graph->inference = graph->model->infer(frames);
  if (!graph->inference->ok())
    throw core::CompileError(graph->inference->faults);
  auto compiled =
      runtime::Compiler(registry_, graph->model->config(frames)).compile(graph->model->spec());
  trace_.add_compile(compiled->report);
  graph->session = std::make_unique<runtime::GraphSession>(
      std::move(compiled),
      runtime::GraphSession::Options{
          .metrics_interval = rates_interval,
          .trace_spans = trace_.is_on() ? TraceLog::spans_of_a_section : 0});
  for (OutputPort *output : outputs())
    if (graph->session->outputs().contains(output->node()))
      graph->session->output(output->node()).set_sink(output);
  graph->session->set_on_over([this](std::exception_ptr error) { on_over(std::move(error)); });
  return graph;
}

// With a Change, without the lock, and without a graph.
bool Session::compile() {
  std::shared_ptr<const GraphModel> model;
  std::map<std::string, InputStream> streams;
  {
    std::lock_guard lock(mutex_);
    model = model_;
    streams = this->streams();
  }
  const auto texts = texts_of(streams);
  try {
    adopt(build(std::move(model), std::move(streams)));
    return true;
  } catch (...) {
    post_compile_error(element_, texts, std::current_exception());
    return false;
  }
}

void Session::adopt(std::shared_ptr<Graph> graph) {
  const auto &report = graph->session->compiled().report;
  say_device(report);
  post_warnings(report);
  announce(*graph, false);
  std::lock_guard lock(mutex_);
  graph_ = std::move(graph);
  if (state_ == StreamState::Waiting)
    move_to(StreamState::Ready);
}

// Its memory is free when this returns, unless somebody asks for stats just now.
void Session::discard_graph() {
  std::shared_ptr<Graph> graph;
  {
    std::lock_guard lock(mutex_);
    graph = graph_;
  }
  if (graph == nullptr)
    return;
  graph->session->stop();
  graph->session->wait();
  keep_trace(*graph);
  close_run();
  std::lock_guard lock(mutex_);
  graph_.reset();
  if (state_ == StreamState::Ready)
    move_to(StreamState::Waiting);
}

Session::CapsAnswer Session::set_caps(InputPort &port, GstCaps *caps) {
  std::unique_lock lock(mutex_);
  if (!wait_for_turn(port, lock))
    return CapsAnswer::Interrupted;
  const auto stream = parse_input_caps(caps, port.node().as);
  const auto &before = port.shared.stream;
  const bool same_frames = graph_ != nullptr && before && stream.row == before->row &&
      stream.frame == before->frame && stream.frames == before->frames;
  if (same_frames) {
    // Another rate, aspect or colour: the graph stands, only what is said of its frames changes.
    port.shared.stream = stream;
    const auto graph = graph_;
    graph->streams.at(port.node().name) = stream;
    Change change(*this, lock);
    lock.unlock();
    announce(*graph, true);
    lock.lock();
    return CapsAnswer::Taken;
  }
  Change change(*this, lock);
  if (state_ == StreamState::Running && !end_run(lock))
    return CapsAnswer::Interrupted;
  const auto former = std::exchange(port.shared.stream, stream);
  if (!has_all_streams()) {
    changed_.notify_all();
    return CapsAnswer::Taken;
  }
  lock.unlock();
  discard_graph();  // its memory is free before the new graph asks for some
  const bool made = compile();
  if (made)
    write_trace();  // over the compiler's own, which has this compile only
  lock.lock();
  if (made)
    return CapsAnswer::Taken;
  // The next buffer brings the former graph back.
  port.shared.stream = former;
  return CapsAnswer::Refused;
}

// Other settings while the stream runs: the old graph drains first and stays if the new one fails.
// With a Change, without the lock.
bool Session::replace_settings() {
  std::shared_ptr<const GraphModel> model;
  std::map<std::string, InputStream> streams;
  {
    std::unique_lock lock(mutex_);
    if (state_ == StreamState::Running && !end_run(lock))
      return false;
    model = model_;
    streams = this->streams();
  }
  try {
    for (const auto &input : model->inputs())
      streams.at(input.name) = parse_input_caps(streams.at(input.name).caps.get(), input.as);
    auto graph = build(model, std::move(streams));
    discard_graph();
    adopt(std::move(graph));
    write_trace();
  } catch (const std::exception &error) {
    post_warning(
        element_, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, error.what(),
        "the graph keeps its former settings");
    std::function<void()> refused;
    {
      std::lock_guard lock(mutex_);
      if (model_ == model) {
        model_ = graph_->model;
        refused = std::exchange(refused_, {});
      }
    }
    if (refused)
      refused();
  }
  return true;
}

// `between_frames`: behind those that have entered.
void Session::announce(const Graph &graph, bool between_frames) {
  std::map<std::string, Delay> delays;
  std::map<std::string, InputStream> streams;
  {
    std::lock_guard lock(mutex_);
    streams = graph.streams;
  }
  for (OutputPort *output : outputs()) {
    const auto found = graph.inference->outputs.find(output->node());
    if (found == graph.inference->outputs.end())
      continue;
    const auto &[layout, shape, one] = found->second;
    const auto from = streams.find(shape.input);
    const InputStream *stream = from != streams.end() ? &from->second : nullptr;
    const Rate rate = stream != nullptr ? stream->rate : Rate{};
    uint64_t after = 0;
    if (between_frames && stream != nullptr)
      after = graph.place_at(output->node()).shown;
    output->queue_caps(
        output_caps(layout, stream, scaled(rate, found->second.buffers_per_frame())), layout,
        after);
    if (rate.known())
      delays[output->node()] = {
          time_of(shape.delay_frames, rate), time_of(shape.held_frames, rate)};
  }
  {
    std::lock_guard lock(mutex_);
    if (delays_ == delays && !delays.empty())
      return;
    delays_ = std::move(delays);
  }
  gst_element_post_message(element_, gst_message_new_latency(GST_OBJECT(element_)));
}

// Other caps or settings may bring the same warning again.
void Session::post_warnings(const runtime::CompileReport &report) {
  for (const auto &decision : report.decisions)
    if (decision.kind == runtime::Decision::Kind::Warning && warned_.insert(decision.text).second)
      post_warning(
          element_, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, decision.text,
          "the graph runs all the same");
}

// One input waits for the caps of others, which may never come: that is said once, at once where a
// pad is not linked. With the lock; returns when something has changed.
void Session::await_others(const InputPort &port, std::unique_lock<std::mutex> &lock) {
  std::string missing;
  bool is_linked = true;
  for (const InputPort *each : inputs_)
    if (!each->shared.stream) {
      missing += (missing.empty() ? "\"" : ", \"") + each->node().name + "\"";
      is_linked = is_linked && each->is_linked();
    }
  constexpr std::chrono::seconds patience{3};
  if (said_.contains(Once::MissingInput)) {
    changed_.wait(lock);
    return;
  }
  if (is_linked && changed_.wait_for(lock, patience) == std::cv_status::no_timeout)
    return;
  said_.insert(Once::MissingInput);
  lock.unlock();
  post_warning(
      element_, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "frames of input \"" + port.node().name + "\" wait: nothing has come at input " + missing +
          (is_linked ? "; let its upstream send caps" : "; link its pad") +
          ", or take the node out of the graph",
      "");
  lock.lock();
}

void Session::say_device(const runtime::CompileReport &report) {
  GST_INFO_OBJECT(element_, "the graph runs on %s", report.device.c_str());
  std::string notes;
  for (const auto &note : report.notes) {
    GST_INFO_OBJECT(element_, "%s", note.c_str());
    notes += (notes.empty() ? "" : "\n") + note;
  }
  {
    std::lock_guard lock(mutex_);
    if (device_ == report.device)
      return;
    device_ = report.device;
  }
  gst_element_post_message(
      element_,
      gst_message_new_element(
          GST_OBJECT(element_),
          gst_structure_new(
              "holoflow-device", "device", G_TYPE_STRING, report.device.c_str(), "device-index",
              G_TYPE_INT, report.device_index, "notes", G_TYPE_STRING, notes.c_str(), nullptr)));
}

void Session::keep_trace(Graph &graph) {
  if (std::exchange(graph.has_untraced_run, false))
    trace_.add_run(graph.session->scheduler());
}

void Session::write_trace() {
  try {
    trace_.write();
  } catch (const std::exception &error) {
    warn_of_trace(error.what());
  }
}

void Session::warn_of_trace(const std::string &fault) {
  post_warning(
      element_, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE, fault,
      "there will be no trace of this run");
}

}  // namespace holoflow::gst
