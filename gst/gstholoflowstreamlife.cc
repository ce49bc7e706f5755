// SPDX-License-Identifier: LGPL-2.1-or-later
// Life of a stream: start, halt, stop; runs begin and end; flushes. What others may ask is in
// gstholoflowstats.cc.
#include <utility>

#include "gstholoflowlog.h"
#include "gstholoflowstream.h"
#include "gstholoflowtasks.h"

namespace holoflow::gst {

Stream::Stream(GstElement *element)
    : element_(element), output_(element, [this](GstFlowReturn) { request_stop(); }) {
  register_tasks(registry_);
}

Stream::~Stream() = default;

void Stream::set_pads(GstPad *sink, GstPad *src) {
  sink_ = sink;
  output_.set_pad(src);
}

void Stream::set_model(std::shared_ptr<const GraphModel> model) {
  std::lock_guard lock(state_mutex_);
  model_ = std::move(model);
  model_changed_ = true;
}

void Stream::start() {
  output_.reset_count();
  std::string trace_fault;
  {
    std::lock_guard lock(state_mutex_);
    try {
      trace_.start(model_->settings().trace_location);
    } catch (const std::exception &error) {
      trace_fault = error.what();
    }
    started_ = true;
    flushing_ = failed_ = explained_ = false;
    totals_ = {};
    dropped_ = 0;
  }
  if (!trace_fault.empty())
    warn_of_trace(trace_fault);
}

bool Stream::is_started() const {
  std::lock_guard lock(state_mutex_);
  return started_;
}

void Stream::halt() {
  {
    std::lock_guard lock(state_mutex_);
    started_ = false;
  }
  request_stop();
}

void Stream::stop() {
  end_run();
  discard_run();
  write_trace();
  input_caps_.reset();
  refused_caps_.reset();
  announced_delay_.reset();
  warned_of_drop_ = false;
  warned_.clear();
  std::lock_guard lock(state_mutex_);
  delay_.reset();
  device_.clear();
  failed_ = false;
}

void Stream::request_stop() {
  std::lock_guard lock(run_mutex_);
  if (run_ != nullptr)
    run_->scheduler->request_stop();
}

GstFlowReturn Stream::state_flow() const {
  std::lock_guard lock(state_mutex_);
  if (!started_ || flushing_)
    return GST_FLOW_FLUSHING;
  return failed_ ? GST_FLOW_ERROR : GST_FLOW_OK;
}

// The graph took no more: because it is stopped, has failed, or downstream wants no more.
GstFlowReturn Stream::why_closed() {
  {
    std::unique_lock lock(state_mutex_);
    run_over_.wait(lock, [this] { return !run_active_; });
  }
  if (const auto flow = state_flow(); flow != GST_FLOW_OK)
    return flow;
  const auto flow = output_.flow();
  return flow != GST_FLOW_OK ? flow : GST_FLOW_EOS;
}

bool Stream::ensure_running() {
  {
    std::lock_guard lock(state_mutex_);
    if (!started_ || flushing_)
      return false;
    if (run_active_)
      return true;
    run_active_ = true;
  }
  output_.begin_run();
  try {
    std::lock_guard lock(run_mutex_);
    count_run();
    keep_trace();
    run_->started = true;
    run_->scheduler->start();
  } catch (const std::exception &error) {
    on_finished(std::make_exception_ptr(core::Error(error.what())));
    return false;
  }
  bool stopped = false;
  {
    std::lock_guard lock(state_mutex_);
    stopped = !started_ || flushing_;
  }
  // halt or a flush that came before the start found nothing to stop.
  if (stopped)
    request_stop();
  return true;
}

void Stream::on_finished(std::exception_ptr error) {
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
  output_.end_run(error != nullptr);
  // Notified with the lock: the stream may be gone as soon as it is free.
  std::lock_guard lock(state_mutex_);
  run_active_ = false;
  failed_ = failed_ || error != nullptr;
  run_over_.notify_all();
}

void Stream::end_run() {
  {
    std::unique_lock lock(state_mutex_);
    run_over_.wait(lock, [this] { return !run_active_; });
  }
  if (run_ == nullptr)
    return;
  try {
    run_->scheduler->wait();
  } catch (const std::exception &error) {
    GST_DEBUG_OBJECT(element_, "the run ended: %s", error.what());  // on_finished has posted it
  }
  keep_trace();
}

// Of a run that is over; the scheduler forgets it when the next one starts.
void Stream::keep_trace() {
  if (std::exchange(run_->started, false))
    trace_.add_run(*run_->scheduler);
}

void Stream::write_trace() {
  try {
    trace_.write();
  } catch (const std::exception &error) {
    warn_of_trace(error.what());
  }
}

void Stream::warn_of_trace(const std::string &fault) {
  post_warning(
      element_, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE, fault,
      "there will be no trace of this run");
}

void Stream::drain() {
  if (run_ == nullptr)
    return;
  bool active = false;
  {
    std::lock_guard lock(state_mutex_);
    active = run_active_;
  }
  if (active)
    run_->input->end();
  end_run();
}

void Stream::discard_run() {
  std::unique_ptr<Run> old;
  std::lock_guard lock(run_mutex_);
  if (run_ == nullptr)
    return;
  count_run();
  old = std::move(run_);
  // With the lock: whoever asked for stats has left. The threads are joined already.
  old.reset();
}

// Adds what the last run counted; the ledger starts anew with the next one. With run_mutex_.
void Stream::count_run() {
  const auto counts = count(run_->scheduler->ledger(), *run_);
  std::lock_guard lock(state_mutex_);
  totals_.entered += counts.entered;
  // What a run that was stopped still held will never come out.
  totals_.dropped += counts.dropped + counts.held;
  totals_.failed += counts.failed;
}

Stream::Totals Stream::count(
    const std::map<std::string, runtime::NodeLedger> &ledger, const Run &run) {
  Totals totals;
  for (const auto &[name, node] : ledger) {
    if (name == run.model->inputs().front().name)
      totals.entered += node.entered;
    for (const auto &[reason, frames] : node.dropped)
      totals.dropped += frames;
    totals.dropped += node.skipped;
    totals.failed += node.failed;
    totals.held += node.held;
  }
  return totals;
}

bool Stream::begin_flush(EventPtr event) {
  {
    std::lock_guard lock(state_mutex_);
    flushing_ = true;
  }
  request_stop();
  output_.flush_start(std::move(event));
  return true;
}

bool Stream::end_flush(EventPtr event) {
  end_run();
  output_.flush_stop(std::move(event));
  std::lock_guard lock(state_mutex_);
  flushing_ = failed_ = false;
  return true;
}

uint64_t Stream::frames_entered() const {
  return run_ != nullptr ? run_->input->frames_entered() : 0;
}

void Stream::drop(const std::string &why) {
  {
    std::lock_guard lock(state_mutex_);
    ++dropped_;
  }
  GST_WARNING_OBJECT(sink_, "a buffer is dropped: %s", why.c_str());
  if (warned_of_drop_)
    return;
  warned_of_drop_ = true;
  post_warning(
      element_, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "a buffer is dropped: " + why,
      "further ones are counted in \"stats\" without a message");
}

bool Stream::first_explanation() {
  std::lock_guard lock(state_mutex_);
  return !std::exchange(explained_, true);
}

std::optional<Stream::Delay> Stream::delay() const {
  std::lock_guard lock(state_mutex_);
  return delay_;
}

}  // namespace holoflow::gst
