// SPDX-License-Identifier: LGPL-2.1-or-later
// The spans of a compile as Chrome's trace format.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "holoflow/runtime/compiler.hh"

namespace holoflow::runtime {

/// Elements of "traceEvents", in microseconds since `origin`; they go with those of
/// Scheduler::trace().
[[nodiscard]] nlohmann::json chrome_events(
    const std::vector<CompileSpan> &spans, std::chrono::steady_clock::time_point origin);

}  // namespace holoflow::runtime
