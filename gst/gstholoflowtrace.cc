// SPDX-License-Identifier: LGPL-2.1-or-later
// Spans of compiles and runs as one file.
#include "gstholoflowtrace.h"

#include <fstream>
#include <stdexcept>

#include "holoflow/runtime/compile_trace.hh"

namespace holoflow::gst {

namespace {

// As much as a browser still opens.
constexpr size_t most_bytes = size_t{256} << 20;

}  // namespace

void TraceLog::start(const std::string &file) {
  file_ = file;
  origin_ = std::chrono::steady_clock::now();
  parts_.clear();
  bytes_ = 0;
  if (is_on())
    try_to_open();
}

// Before the run: who looks at the bus when it is over?
void TraceLog::try_to_open() {
  std::error_code error;
  const bool is_new = !std::filesystem::exists(file_, error);
  try {
    (void)open(std::ios::app);
  } catch (...) {
    file_.clear();
    throw;
  }
  if (is_new)
    std::filesystem::remove(file_, error);
}

void TraceLog::add_compile(const runtime::CompileReport &report) {
  if (is_on())
    add(runtime::chrome_events(report.spans, origin_));
}

void TraceLog::add_run(const runtime::Scheduler &scheduler) {
  if (is_on())
    add(scheduler.trace(origin_).at("traceEvents"));
}

void TraceLog::add(const nlohmann::json &events) {
  std::string text;
  for (const auto &event : events) {
    text += text.empty() ? "" : ",\n";
    text += event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  if (text.empty())
    return;
  bytes_ += text.size();
  parts_.push_back(std::move(text));
  while (bytes_ > most_bytes && parts_.size() > 1) {
    bytes_ -= parts_.front().size();
    parts_.pop_front();
  }
}

void TraceLog::write() const {
  if (parts_.empty())
    return;
  auto file = open(std::ios::trunc);
  file << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (size_t i = 0; i < parts_.size(); ++i)
    file << (i == 0 ? "" : ",\n") << parts_[i];
  file << "\n]}\n";
  file.close();
  if (!file)
    refuse();
}

std::ofstream TraceLog::open(std::ios::openmode mode) const {
  std::ofstream file(file_, mode);
  if (!file)
    refuse();
  return file;
}

void TraceLog::refuse() const {
  throw std::runtime_error(
      "trace-location: expected a file that can be written, got \"" + file_.string() +
      "\"; name another one");
}

}  // namespace holoflow::gst
