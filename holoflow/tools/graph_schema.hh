// SPDX-License-Identifier: LGPL-2.1-or-later
// Documents made from the task specs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "holoflow/core/registry.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tools {

/// The specs of the registry's types and of Graph, which no factory makes; by name.
[[nodiscard]] std::vector<tasks::TaskSpec> all_specs(const core::Registry &registry);

/// JSON Schema (draft 2020-12) of a graph file for the registry's types.
[[nodiscard]] nlohmann::ordered_json graph_schema(const core::Registry &registry);

/// docs/tasks.md.
[[nodiscard]] std::string tasks_markdown(const core::Registry &registry);

/// "an integer ≥ 1 or null", "block or drop".
[[nodiscard]] std::string describe_values(const tasks::ParamSpec &param);
/// "any shape; F32 or CF32".
[[nodiscard]] std::string describe_slot(const tasks::SlotSpec &slot, bool is_output);

}  // namespace holoflow::tools
