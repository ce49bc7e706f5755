// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults of a graph text: one way to write their place and what was found there.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"

namespace holoflow::core {

/// `origin, line 3, column 7, /nodes/a/type: message`; what is unknown (position {0, 0}, empty
/// pointer) is left out.
[[nodiscard]] Error graph_fault(
    const std::string &origin, SourceMap::Position position, const std::string &pointer,
    const std::string &message);

/// What a message calls a value: `"text"`, `4.0`, `an array`, `an object`; long strings are cut.
[[nodiscard]] std::string describe(const nlohmann::json &value);

/// `"x"` for printable ASCII, else `byte 0x0a`.
[[nodiscard]] std::string describe_byte(char c);

/// `there is no such file`, and where a relative path was looked for.
[[nodiscard]] std::string no_such_file(const std::filesystem::path &path);

/// The text as a JSON string, cut where it is long; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace holoflow::core
