// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults of a graph text: one way to write their place and what was found there.
#include "holoflow/core/graph_fault.hh"

#include <array>
#include <cstdio>

namespace holoflow::core {

namespace {

constexpr size_t longest_quote = 60;
constexpr size_t longest_pointer = 200;

// As a JSON string without its quotes, of at most `limit` bytes before escaping.
std::string printable(std::string_view text, size_t limit) {
  const bool cut = text.size() > limit;
  if (cut) {
    text = text.substr(0, limit);
    // Not in the middle of a UTF-8 sequence.
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80)
      text.remove_suffix(1);
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0)
      text.remove_suffix(1);
  }
  const std::string quoted =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2) + (cut ? "…" : "");
}

}  // namespace

Error graph_fault(
    const std::string &origin, SourceMap::Position position, const std::string &pointer,
    const std::string &message) {
  std::string place = origin;
  if (position.line > 0)
    place +=
        ", line " + std::to_string(position.line) + ", column " + std::to_string(position.column);
  if (!pointer.empty())
    place += ", " + printable(pointer, longest_pointer);
  Error fault(place + ": " + message);
  fault.pointer = pointer;
  fault.line = position.line;
  fault.column = position.column;
  return fault;
}

std::string describe(const nlohmann::json &value) {
  if (value.is_string())
    return quote(value.get_ref<const std::string &>());
  if (value.is_array())
    return "an array";
  if (value.is_object())
    return "an object";
  return value.dump();
}

std::string describe_byte(char c) {
  if (c >= 0x20 && c < 0x7f)
    return "\"" + std::string(1, c) + "\"";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "byte 0x%02x", static_cast<unsigned char>(c));
  return text.data();
}

std::string no_such_file(const std::filesystem::path &path) {
  const std::string text = "there is no such file";
  std::error_code error;  // the working folder may have been deleted
  const auto tried = std::filesystem::absolute(path, error).lexically_normal();
  return error || path.is_absolute() ? text : text + "; looked for \"" + tried.string() + "\"";
}

std::string quote(std::string_view text) {
  return '"' + printable(text, longest_quote) + '"';
}

}  // namespace holoflow::core
