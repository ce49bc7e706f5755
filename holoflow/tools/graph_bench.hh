// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a graph with made-up frames and measures.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "holoflow/core/graph_spec.hh"
#include "holoflow/runtime/compiler.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/tools/metrics_text.hh"

namespace holoflow::tools {

/// One run from the first push to the last pop.
struct GraphFigures {
  size_t frames_in = 0;  ///< of all Inputs
  size_t frames_out = 0;  ///< of all Outputs
  size_t bytes_in = 0;
  size_t bytes_out = 0;
  double seconds = 0;
  double busy_cores = 0;
  /// From the push of a frame to the pop of the tensor in which it is the newest, for each popped
  /// tensor; empty where the graph has several Inputs, whose frames cannot be told apart.
  std::vector<double> latencies_us = {};
  std::map<std::string, runtime::NodeLedger> ledger = {};
  RunMetrics metrics = {};  ///< of run_measured
};

/// When a run ends: after so many frames of each Input, or, where that is 0, after so many seconds.
struct RunLength {
  size_t frames = 0;
  double seconds = 0;
};

/// Pushes frames of a ring in memory that the device can read at once (page-locked where it is a
/// GPU) without writing them, and drops what comes out. One thread for each Input and each Output.
class GraphBench {
public:
  /// `config.inputs` names every Input.
  GraphBench(core::GraphSpec graph, runtime::CompilerConfig config);

  /// Compiles the graph and runs it to its end. Rethrows the first error.
  [[nodiscard]] GraphFigures run(const RunLength &length);

  /// The same with the scheduler's metrics, which cost a little; they compare with `rates`.
  [[nodiscard]] GraphFigures run_measured(
      const RunLength &length, const runtime::DeviceRates &rates);

  /// Cores that are busy while the graph waits for its first frame, over so many seconds.
  [[nodiscard]] double idle_cores(double seconds);

  /// Of the last run.
  [[nodiscard]] const std::string &device_name() const { return device_name_; }
  /// The GPU's index, -1 on the CPU.
  [[nodiscard]] int device_index() const { return device_index_; }

private:
  GraphFigures run(const RunLength &length, const runtime::DeviceRates *measured_against);
  void make_frames(const runtime::CompileReport &report);

  core::GraphSpec graph_;
  runtime::CompilerConfig config_;
  std::string device_name_;
  int device_index_ = -1;
  std::map<std::string, std::vector<runtime::MemoryBlock>> frames_;  ///< by Input
};

}  // namespace holoflow::tools
