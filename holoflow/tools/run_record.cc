// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/run_record.hh"

#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>
#include <utility>

#include "holoflow/tools/command.hh"
#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/metrics_text.hh"

namespace holoflow::tools {

namespace {

// Of each section: what a few seconds of small frames leave.
constexpr size_t trace_spans = 100'000;

// A task that does not return within it is left behind.
constexpr std::chrono::seconds patience{5};

[[noreturn]] void refuse(const std::string &file) {
  throw FileError(file, "expected a file that can be written for --trace; name another one");
}

}  // namespace

RunRecord::~RunRecord() {
  close_unused_trace();
}

void RunRecord::prepare(runtime::CompilerConfig &config) {
  if (arguments_.trace.empty())
    return;
  config.trace_spans = trace_spans;
  const std::lock_guard lock(mutex_);
  file_.open(arguments_.trace);
  if (!file_)
    refuse(arguments_.trace);
}

// A run that never began has an empty trace.
void RunRecord::close_unused_trace() {
  if (!file_.is_open())
    return;
  file_ << nlohmann::json{{"traceEvents", nlohmann::json::array()}} << '\n';
  file_.close();
}

void RunRecord::begin(runtime::Scheduler &scheduler) {
  const std::lock_guard lock(mutex_);
  scheduler_ = &scheduler;
  if (arguments_.metrics)
    begin_metrics(scheduler);
}

void RunRecord::finish() {
  const std::lock_guard lock(mutex_);
  tell();
}

void RunRecord::interrupt() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (scheduler_ == nullptr)
      return close_unused_trace();
    scheduler_->request_stop();
    // Only one thread may wait() for the run, and that one may be reading a pipe without end.
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (scheduler_->is_running() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    tell();
  } catch (const std::exception &error) {
    print_fault(std::string("holoflow: ") + error.what());
  }
}

void RunRecord::tell() {
  if (scheduler_ == nullptr)
    return;
  auto &scheduler = *std::exchange(scheduler_, nullptr);
  if (arguments_.metrics) {
    const auto metrics = take_metrics(scheduler);
    const auto text = "sections:\n" + section_lines(metrics) + "nodes:\n" + node_lines(metrics);
    std::fputs(text.c_str(), stderr);
  }
  if (arguments_.trace.empty())
    return;
  file_ << scheduler.trace().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  file_.close();
  if (!file_)
    refuse(arguments_.trace);
}

}  // namespace holoflow::tools
