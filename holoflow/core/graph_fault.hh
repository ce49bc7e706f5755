// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults of a graph text: one way to write their place and what was found there.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/text.hh"

namespace holoflow::core {

/// `origin, line 3, column 7, /nodes/a/type: message`; what is unknown (position {0, 0}, empty
/// pointer) is left out.
[[nodiscard]] Error graph_fault(
    const std::string &origin, SourceMap::Position position, const std::string &pointer,
    const std::string &message, Reason reason = Reason::BadGraph);

// Text from outside comes into messages through these alone, so that no graph makes one long.

/// Bytes of one quotation; where it is cut, "…" follows.
inline constexpr size_t max_quote_bytes = 120;
/// Bytes of one message, for texts that are not quoted: those of foreign tasks.
inline constexpr size_t max_message_bytes = size_t{16} << 10;
/// Bytes of a pointer in an error; a longer one is replaced by the nearest parent that is shorter.
inline constexpr size_t max_pointer_bytes = size_t{16} << 10;

/// The text's first bytes, not ending within a UTF-8 sequence, and "…" where something is missing.
[[nodiscard]] std::string cut(std::string_view text, size_t max_bytes = max_quote_bytes);

/// As quote(), without the quotation marks.
[[nodiscard]] std::string printable(std::string_view text);

/// What a message calls a value: `"text"`, `4.0`, `an array`, `an object`; cut.
[[nodiscard]] std::string describe(const nlohmann::json &value);

/// `"x"` for printable ASCII, else `byte 0x0a`.
[[nodiscard]] std::string describe_byte(char c);

/// `there is no such file`, and where a relative path was looked for.
[[nodiscard]] std::string no_such_file(const std::filesystem::path &path);

/// The pointer, or its nearest parent of at most max_pointer_bytes.
[[nodiscard]] std::string short_pointer(std::string_view pointer);

}  // namespace holoflow::core
