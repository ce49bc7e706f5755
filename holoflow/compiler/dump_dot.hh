// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures and timings of a compile, written only where a folder is configured.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "holoflow/compiler/plan.hh"

namespace holoflow::compiler {

/// Writes `text` to `folder/name`; a failure to write is logged, never thrown.
void write_diagnostic(
    const std::filesystem::path &folder, const std::string &name, const std::string &text) noexcept;

/// Graphviz source of whatever the passes found before one failed; nodes with faults are red and
/// carry the message.
[[nodiscard]] std::string failure_dot(const Plan &plan);

/// A Chrome trace (microseconds since the first span began) as JSON text, whatever bytes the names
/// hold.
[[nodiscard]] std::string trace_of(const std::vector<runtime::CompileSpan> &spans);

}  // namespace holoflow::compiler
