// SPDX-License-Identifier: LGPL-2.1-or-later
// The files that the Inputs of a graph read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/graph_arguments.hh"

namespace holoflow::tools {

/// As on the command line; each text is [NODE=]VALUE.
struct InputArguments {
  std::vector<std::string> in;  ///< files
  std::vector<std::string> skip, gap;  ///< bytes in raw files
  std::vector<std::string> batch;  ///< "all"
  bool partial = false;  ///< goes on where frames stay unread
};

void add_input_arguments(CLI::App &command, InputArguments &arguments);

using Readers = std::map<std::string, std::unique_ptr<FrameReader>>;

/// Opens `files`, by node; faults go to `loaded`, as do the tensors of the Inputs and their
/// "batch".
[[nodiscard]] Readers open_readers(
    LoadedGraph &loaded, const std::map<std::string, std::string> &files,
    const InputArguments &arguments);

/// Advice to append to a sentence about frames that were not read.
[[nodiscard]] std::string advise_partial(const std::string &sentence);

}  // namespace holoflow::tools
