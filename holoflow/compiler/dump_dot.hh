// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures and timings of a compile, written only where a folder is configured.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "holoflow/compiler/plan.hh"

namespace holoflow::compiler {

/// Writes `dot` to `folder/name`; a failure to write is logged, never thrown.
void write_diagnostic(
    const std::filesystem::path &folder, const std::string &name, const std::string &text) noexcept;

/// When a pass ran, for the Chrome trace.
struct PassTiming {
  const char *name;
  std::chrono::steady_clock::time_point begin, end;
};

/// Chrome trace events ("X" phase, microseconds) as JSON text.
[[nodiscard]] std::string trace_of(const std::vector<PassTiming> &timings);

}  // namespace holoflow::compiler
