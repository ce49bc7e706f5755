// SPDX-License-Identifier: LGPL-2.1-or-later
// A plan for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "holoflow/runtime/compiler.hh"

namespace holoflow::tools {

/// Sections in order, tensors, storages, the memory bill, and the reason for each decision.
[[nodiscard]] std::string plan_text(const runtime::CompilerOutput &plan);

/// The same: {"device", "sections", "tensors", "storages", "memory", "decisions"}.
[[nodiscard]] nlohmann::ordered_json plan_json(const runtime::CompilerOutput &plan);

}  // namespace holoflow::tools
