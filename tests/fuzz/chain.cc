// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzzing: any text as a chain.
#include <string_view>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace holoflow;
  static const auto types = [] {
    core::Registry registry;
    register_builtin_tasks(registry);
    return registry.keys();
  }();
  try {
    const auto graph = core::GraphSpec::from_chain(
        std::string_view(reinterpret_cast<const char *>(data), size), types);
    // What was read can be written and read again.
    if (core::GraphSpec::from_json(graph.to_json()).nodes.size() != graph.nodes.size())
      __builtin_trap();
  } catch (const core::GraphError &) {
  }
  return 0;
}
