// SPDX-License-Identifier: LGPL-2.1-or-later
// What `holoflow run` keeps of a run: --trace and --metrics.
#pragma once

#include <fstream>
#include <mutex>
#include <string>
#include <utility>

#include "holoflow/runtime/compiler.hh"

namespace holoflow::tools {

struct RecordArguments {
  std::string trace;  ///< file, "" for none
  bool metrics = false;
};

/// Watches one run and tells of it however it ends.
///
/// Threads: begin and finish on the thread that runs the graph, interrupt on any.
class RunRecord {
public:
  explicit RunRecord(RecordArguments arguments) : arguments_(std::move(arguments)) {}
  ~RunRecord();
  RunRecord(const RunRecord &) = delete;
  RunRecord &operator=(const RunRecord &) = delete;

  /// Before the graph is compiled. Throws FileError where the trace cannot be written.
  void prepare(runtime::CompilerConfig &config);
  /// The run has started; `scheduler` lives until finish.
  void begin(runtime::Scheduler &scheduler);
  /// The run is over: writes the trace, prints the metrics to standard error. Once; nothing happens
  /// where interrupt was faster. Throws FileError where the trace cannot be written.
  void finish();
  /// Stops the run, waits for a while until it has ended, then finishes it. Never throws.
  void interrupt() noexcept;

private:
  void tell();
  void close_unused_trace();

  const RecordArguments arguments_;
  std::mutex mutex_;  // guards what follows; held while interrupt waits, so that the run stays
  std::ofstream file_;  // opened before the run, so that a wrong name costs nothing
  runtime::Scheduler *scheduler_ = nullptr;  // between begin and finish
};

}  // namespace holoflow::tools
