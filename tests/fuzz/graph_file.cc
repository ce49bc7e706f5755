// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzzing: any text as a graph file; what can be read is planned with the built-in tasks.
#include <string_view>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/graph_json.hh"
#include "holoflow/runtime/compiler.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace holoflow;
  static core::Registry registry;
  if (registry.keys().empty())
    register_builtin_tasks(registry);
  const auto text =
      core::read_graph_json(std::string_view(reinterpret_cast<const char *>(data), size), "fuzz");
  runtime::CompilerConfig config;
  const core::TDesc frame({1, 6, 8}, core::DType::U8, core::MemLoc::Host);
  for (const auto &node : text.graph.nodes)
    if (node.kind == "Input")
      config.inputs.emplace(node.name, frame);
  config.device =
      size % 2 == 0 ? runtime::CompilerConfig::Device::Cpu : runtime::CompilerConfig::Device::Cuda;
  try {
    (void)runtime::Compiler(registry, config).plan(text.graph);
  } catch (const core::CompileError &) {
    // Refused; "internal error" is a logic_error and ends the search.
  }
  return 0;
}
