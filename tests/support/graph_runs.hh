// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a graph from its first frame to its last and keeps what comes out.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "holoflow/core/graph_spec.hh"
#include "holoflow/runtime/graph_runner.hh"

namespace holoflow::test {

using Bytes = std::vector<std::byte>;
using Outputs = std::map<std::string, std::vector<Bytes>>;  ///< tensors by Output node

struct Run {
  core::GraphSpec graph;
  std::map<std::string, core::TDesc> inputs;  ///< by Input node
  int pushes = 0;  ///< tensors for each of them
  core::Registry *registry = nullptr;  ///< as for GraphRunner
  /// Where pushed tensors lie; empty: anywhere. Called by several threads.
  std::function<std::shared_ptr<std::byte[]>(size_t bytes)> memory = {};
};

/// The graph `chain`, whose one Input takes `tensor`.
[[nodiscard]] Run chain_run(const std::string &chain, const core::TDesc &tensor, int pushes);
[[nodiscard]] Run json_run(const std::string &json, const core::TDesc &tensor, int pushes);

/// A frame minus the one half a window before it.
inline constexpr const char *dual_reader_graph =
    R"({"nodes": {"input": {"type": "Input"}, "up": {"type": "Upload"},
                  "dual": {"type": "DualReaderBatchQueue", "params": {"window_size": 3}},
                  "subtract": {"type": "Subtract"}, "down": {"type": "Download"},
                  "output": {"type": "Output"}},
        "edges": ["input -> up", "up -> dual", "dual:0 -> subtract:0", "dual:1 -> subtract:1",
                  "subtract -> down", "down -> output"]})";

struct Outcome {
  Outputs outputs;
  int not_released = 0;  ///< pushed tensors that did not come back exactly once
  std::string error;  ///< what ended the run, empty where it came to its end
  bool is_device_error = false;  ///< it is a core::DeviceError
  std::vector<std::string> other_errors;  ///< thrown too, but not the same
  std::vector<runtime::ReplayStats> replays;  ///< where the graph could be made
};

/// One thread per Input and Output. Pushed memory is overwritten the moment it is given back, so
/// whoever still reads it reads wrong. Throws nothing that the graph throws.
[[nodiscard]] Outcome run(const Run &what, runtime::CompilerConfig::Device device);
/// The same; the tensors of Input nodes are those of `what`.
[[nodiscard]] Outcome run(const Run &what, const runtime::CompilerConfig &config);

}  // namespace holoflow::test
