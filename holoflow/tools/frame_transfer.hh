// SPDX-License-Identifier: LGPL-2.1-or-later
// Moves frames from files into a running graph and from it into files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "holoflow/core/graph_spec.hh"
#include "holoflow/runtime/compiler.hh"
#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/run_record.hh"

namespace holoflow::tools {

struct TransferResult {
  size_t frames_in = 0;  ///< read
  size_t frames_out = 0;  ///< written
  std::vector<std::string> losses;  ///< sentences about frames that were dropped or not read
  double seconds = 0;  ///< from the first read to the last write
  std::string device;
};

/// Runs the graph until every file has been read and everything has come out; then finishes the
/// writers. One thread for each Input and each Output, so that neither waits for the other.
/// `record` is finished in every case. Rethrows the first error; the writers are not finished then.
/// Progress goes to standard error
/// where that is a terminal.
[[nodiscard]] TransferResult transfer_frames(
    const core::GraphSpec &graph, runtime::CompilerConfig config, RunRecord &record,
    const std::map<std::string, std::unique_ptr<FrameReader>> &readers,
    const std::map<std::string, std::unique_ptr<FrameWriter>> &writers);

}  // namespace holoflow::tools
