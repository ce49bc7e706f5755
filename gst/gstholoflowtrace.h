// SPDX-License-Identifier: LGPL-2.1-or-later
// The property trace-location: compiles and runs of one element as one file.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>

#include "holoflow/runtime/compiler.hh"
#include "holoflow/runtime/graph_exec.hh"

namespace holoflow::gst {

/// Everything since start(), on one clock, kept as text until it is written as a Chrome trace. The
/// oldest goes where it grows too large. Nothing is kept without a file.
///
/// Threads: one at a time.
class TraceLog {
public:
  /// Spans that each section of a run keeps, the newest.
  static constexpr size_t spans_of_a_section = 50'000;

  /// Forgets what was kept. "": nothing is recorded, and so it is after it has thrown
  /// std::runtime_error, because the file cannot be written.
  void start(const std::string &file);
  [[nodiscard]] bool is_on() const { return !file_.empty(); }

  void add_compile(const runtime::CompileReport &report);
  /// A run that has ended.
  void add_run(const runtime::Scheduler &scheduler);

  /// The whole log, over what the file held before. Nothing where nothing was added. Throws
  /// std::runtime_error.
  void write() const;

private:
  void try_to_open();
  [[nodiscard]] std::ofstream open(std::ios::openmode mode) const;
  [[noreturn]] void refuse() const;
  void add(const nlohmann::json &events);

  std::filesystem::path file_;
  std::chrono::steady_clock::time_point origin_;
  std::deque<std::string> parts_;  // array elements of "traceEvents"
  size_t bytes_ = 0;  // of all parts
};

}  // namespace holoflow::gst
