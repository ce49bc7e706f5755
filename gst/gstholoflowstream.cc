// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers and events into the graph; compiles, runs, flushes. Its life is in
// gstholoflowstreamlife.cc.
#include "gstholoflowstream.h"

#include <chrono>

#include "gstholoflowlog.h"
#include "gstholoflowmemory.h"

namespace holoflow::gst {

namespace {

// Of the rates in "stats": whoever asks once a second gets those of the last second.
constexpr std::chrono::milliseconds rates_interval{250};

std::string to_text(const GstCaps *caps) {
  const TextPtr text(gst_caps_to_string(caps));
  return text.get();
}

Rate scaled(Rate rate, Rate factor) {
  Rate result;
  if (!rate.known() || !factor.known() ||
      !gst_util_fraction_multiply(
          rate.numerator, rate.denominator, factor.numerator, factor.denominator, &result.numerator,
          &result.denominator))
    return {};
  return result;
}

// A buffer that has nothing to say but its time.
EventPtr gap_of(GstBuffer *buffer) {
  if (!GST_BUFFER_PTS_IS_VALID(buffer))
    return nullptr;
  return EventPtr(gst_event_new_gap(GST_BUFFER_PTS(buffer), GST_BUFFER_DURATION(buffer)));
}

}  // namespace

bool Stream::judge_caps(GstCaps *caps) {
  if (refused_caps_ != nullptr && gst_caps_is_equal(refused_caps_.get(), caps))
    return false;
  std::shared_ptr<const GraphModel> model;
  {
    std::lock_guard lock(state_mutex_);
    model = model_;
  }
  const auto faults = model->refusal(caps);
  if (faults.empty()) {
    refused_caps_.reset();
    return true;
  }
  refused_caps_ = share(caps);
  post_error(
      element_, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, core::to_text(faults),
      "caps: " + to_text(caps));
  return false;
}

bool Stream::handle_event(EventPtr event) {
  GST_LOG_OBJECT(sink_, "%" GST_PTR_FORMAT, event.get());
  switch (GST_EVENT_TYPE(event.get())) {
  case GST_EVENT_FLUSH_START:
    return begin_flush(std::move(event));
  case GST_EVENT_FLUSH_STOP:
    return end_flush(std::move(event));
  case GST_EVENT_EOS:
    return end_stream(std::move(event));
  case GST_EVENT_CAPS: {
    GstCaps *caps = nullptr;
    gst_event_parse_caps(event.get(), &caps);
    return handle_caps(caps);
  }
  default:
    break;
  }
  if ((gst_event_type_get_flags(GST_EVENT_TYPE(event.get())) & GST_EVENT_TYPE_SERIALIZED) == 0)
    return output_.push_now(std::move(event));
  output_.queue_event(std::move(event), frames_entered());
  return true;
}

bool Stream::handle_caps(GstCaps *caps) {
  if (run_ != nullptr && input_caps_ != nullptr && gst_caps_is_equal(input_caps_.get(), caps))
    return true;
  if (!judge_caps(caps))
    return false;
  std::string as;
  {
    std::lock_guard lock(state_mutex_);
    as = model_->inputs().front().as;
  }
  const auto stream = parse_input_caps(caps, as);
  const bool same_frames = run_ != nullptr && stream.row == run_->stream.row &&
      stream.frame == run_->stream.frame && stream.frames == run_->stream.frames;
  if (same_frames) {
    // Another rate, aspect or colour: the graph stands, only what is said of its frames changes.
    announce(*run_, stream, frames_entered());
    run_->stream = stream;
  } else if (!compile(stream, to_text(caps))) {
    refused_caps_ = share(caps);
    return false;
  }
  input_caps_ = share(caps);
  return true;
}

std::unique_ptr<Stream::Run> Stream::build(
    const InputStream &stream, std::shared_ptr<const GraphModel> model) {
  auto run = std::make_unique<Run>();
  run->stream = stream;
  run->model = std::move(model);
  runtime::Compiler compiler(registry_, run->model->config(stream.frame));
  run->compiled = compiler.compile(run->model->spec());
  trace_.add_compile(run->compiled->report);
  auto &tasks = run->compiled->resources.tasks;
  run->input =
      dynamic_cast<runtime::IFrameInput *>(tasks.at(run->model->inputs().front().name).get());
  auto *output =
      dynamic_cast<runtime::IFrameOutput *>(tasks.at(run->model->outputs().front().name).get());
  if (run->input == nullptr || output == nullptr)
    throw std::logic_error("internal error: Input or Output is no rim of the graph");
  output->set_sink(&output_);
  run->scheduler = std::make_unique<runtime::Scheduler>(
      run->compiled->graph, run->compiled->sections, run->compiled->resources, rates_interval);
  if (trace_.is_on())
    run->scheduler->set_trace(TraceLog::spans_of_a_section);
  run->scheduler->set_on_finished([this](std::exception_ptr error) { on_finished(error); });
  return run;
}

bool Stream::compile(const InputStream &stream, const std::string &caps) {
  drain();
  const bool replaces = run_ != nullptr;
  discard_run();  // its memory is free before the new graph asks for some
  std::shared_ptr<const GraphModel> model;
  {
    std::lock_guard lock(state_mutex_);
    if (!started_ || flushing_)
      return false;
    model = model_;
    model_changed_ = false;
  }
  try {
    auto run = build(stream, std::move(model));
    if (replaces)
      write_trace();  // over the compiler's own, which has this compile only
    say_device(run->compiled->report);
    post_warnings(run->compiled->report);
    announce(*run, stream, 0);
    std::lock_guard lock(run_mutex_);
    run_ = std::move(run);
    return true;
  } catch (...) {
    post_compile_error(element_, caps, std::current_exception());
    return false;
  }
}

// Other settings while the stream runs: the old graph drains first and stays if the new one fails.
void Stream::update_graph() {
  std::shared_ptr<const GraphModel> model;
  {
    std::lock_guard lock(state_mutex_);
    if (!model_changed_)
      return;
    model_changed_ = false;
    model = model_;
  }
  drain();
  try {
    const auto stream = parse_input_caps(input_caps_.get(), model->inputs().front().as);
    auto run = build(stream, std::move(model));
    post_warnings(run->compiled->report);
    announce(*run, run->stream, 0);
    write_trace();
    discard_run();
    std::lock_guard lock(run_mutex_);
    run_ = std::move(run);
  } catch (const std::exception &error) {
    post_warning(
        element_, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, error.what(),
        "the graph keeps its former settings");
  }
}

void Stream::announce(const Run &run, const InputStream &stream, uint64_t after_frames) {
  const auto inference = run.model->infer(stream.frame);
  if (!inference->ok())
    throw core::CompileError(inference->faults);
  const auto &layout = inference->layout;
  output_.queue_caps(
      output_caps(layout, &stream, scaled(stream.rate, inference->buffers_per_frame)), layout,
      after_frames);
  std::optional<Delay> delay;
  if (stream.rate.known()) {
    const auto time = [&](size_t frames) {
      return gst_util_uint64_scale(
          frames, GST_SECOND * static_cast<guint64>(stream.rate.denominator),
          static_cast<guint64>(stream.rate.numerator));
    };
    delay = {time(inference->delay_frames), time(inference->held_frames)};
  }
  {
    std::lock_guard lock(state_mutex_);
    delay_ = delay;
  }
  announce_latency();
}

void Stream::announce_latency() {
  const auto now = delay();
  if (now == announced_delay_)
    return;
  announced_delay_ = now;
  gst_element_post_message(element_, gst_message_new_latency(GST_OBJECT(element_)));
}

// Other caps or settings may bring the same warning again.
void Stream::post_warnings(const runtime::CompileReport &report) {
  for (const auto &decision : report.decisions)
    if (decision.kind == runtime::Decision::Kind::Warning && warned_.insert(decision.text).second)
      post_warning(
          element_, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, decision.text,
          "the graph runs all the same");
}

void Stream::say_device(const runtime::CompileReport &report) {
  GST_INFO_OBJECT(element_, "the graph runs on %s", report.device.c_str());
  std::string notes;
  for (const auto &note : report.notes) {
    GST_INFO_OBJECT(element_, "%s", note.c_str());
    notes += (notes.empty() ? "" : "\n") + note;
  }
  {
    std::lock_guard lock(state_mutex_);
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

GstFlowReturn Stream::handle_buffer(BufferPtr buffer) {
  if (const auto flow = state_flow(); flow != GST_FLOW_OK)
    return flow;
  if (const auto flow = output_.flow(); flow != GST_FLOW_OK)
    return flow;
  if (run_ == nullptr) {
    GST_ERROR_OBJECT(sink_, "a buffer came before caps that the graph takes");
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (gst_buffer_get_size(buffer.get()) == 0) {
    if (auto gap = gap_of(buffer.get()))
      output_.queue_event(std::move(gap), frames_entered());
    return GST_FLOW_OK;
  }
  update_graph();
  runtime::InputFrames frames;
  try {
    frames = map_input(std::move(buffer), run_->stream);
  } catch (const CapsError &error) {
    drop(error.what());
    return GST_FLOW_OK;
  }
  if (!ensure_running()) {
    frames.release();
    return why_closed();
  }
  try {
    if (run_->input->push(std::move(frames)) != runtime::IFrameInput::PushResult::Ok)
      return why_closed();
  } catch (const std::exception &error) {
    post_error(element_, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, error.what(), "");
    return GST_FLOW_ERROR;
  }
  // What downstream said meanwhile reaches upstream one buffer earlier.
  return output_.flow();
}

bool Stream::end_stream(EventPtr event) {
  output_.queue_eos(std::move(event));
  bool active = false;
  {
    std::lock_guard lock(state_mutex_);
    active = run_active_;
  }
  // The Output says when everything has come out; on_finished covers a run that ended meanwhile.
  if (active)
    run_->input->end();
  return true;
}

}  // namespace holoflow::gst
