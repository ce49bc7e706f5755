// SPDX-License-Identifier: LGPL-2.1-or-later
// Moves frames from files into a running graph and from it into files.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "holoflow/core/graph_spec.hh"
#include "holoflow/runtime/compiler.hh"
#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/measuring.hh"
#include "holoflow/tools/run_record.hh"

namespace holoflow::tools {

struct TransferResult {
  size_t frames_in = 0;  ///< read
  size_t frames_out = 0;  ///< given to the writers
  std::map<std::string, size_t> frames_of_output;
  std::vector<std::string> unread;  ///< sentences about frames of the files that were not used
  std::vector<std::string> losses;  ///< and about frames that were dropped or changed
  std::exception_ptr error;  ///< the first; null where all went well
  Stopwatch since_begin;  ///< the first read
  std::string device;
};

/// Runs the graph until every file has been read and everything has come out; the writers are not
/// finished. One thread for each Input and each Output, so that neither waits for the other.
/// `record` is finished in every case. Throws where the run cannot begin. Progress goes to standard
/// error where that is a terminal.
[[nodiscard]] TransferResult transfer_frames(
    const core::GraphSpec &graph, runtime::CompilerConfig config, RunRecord &record,
    const std::map<std::string, std::unique_ptr<FrameReader>> &readers,
    const std::map<std::string, std::unique_ptr<FrameWriter>> &writers);

}  // namespace holoflow::tools
