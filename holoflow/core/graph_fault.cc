// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults of a graph text: one way to write their place and what was found there.
#include "holoflow/core/graph_fault.hh"

#include <array>
#include <cstdio>

namespace holoflow::core {

namespace {

// What value.dump() would give, written only until it is longer than a quotation.
void append_json(std::string &text, const nlohmann::json &value) {
  if (text.size() > max_quote_bytes)
    return;
  if (value.is_string()) {
    text += nlohmann::json(value.get_ref<const std::string &>().substr(0, max_quote_bytes + 4))
                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  } else if (value.is_array()) {
    text += '[';
    for (size_t i = 0; i < value.size() && text.size() <= max_quote_bytes; ++i) {
      text += i == 0 ? "" : ",";
      append_json(text, value[i]);
    }
    text += ']';
  } else if (value.is_object()) {
    text += '{';
    bool is_first = true;
    for (auto item = value.begin(); item != value.end() && text.size() <= max_quote_bytes; ++item) {
      text += is_first ? "" : ",";
      is_first = false;
      append_json(text, item.key());
      text += ':';
      append_json(text, item.value());
    }
    text += '}';
  } else {
    text += value.dump();
  }
}

}  // namespace

Error graph_fault(
    const std::string &origin, SourceMap::Position position, const std::string &pointer,
    const std::string &message, Reason reason) {
  std::string place = origin;
  if (position.line > 0)
    place +=
        ", line " + std::to_string(position.line) + ", column " + std::to_string(position.column);
  if (!pointer.empty())
    place += ", " + printable(pointer);
  Error fault(place + ": " + message, reason);
  fault.pointer = short_pointer(pointer);
  fault.line = position.line;
  fault.column = position.column;
  return fault;
}

std::string cut(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes)
    return std::string(text);
  text = text.substr(0, max_bytes);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80)
    text.remove_suffix(1);
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0)
    text.remove_suffix(1);
  return std::string(text) + "…";
}

std::string printable(std::string_view text) {
  const std::string quoted =
      nlohmann::json(cut(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

std::string quote(std::string_view text) {
  return '"' + printable(text) + '"';
}

std::string describe(const nlohmann::json &value) {
  if (value.is_array())
    return "an array";
  if (value.is_object())
    return "an object";
  return value.is_string() ? quote(value.get_ref<const std::string &>()) : value.dump();
}

std::string show(const nlohmann::json &value) {
  std::string text;
  append_json(text, value);
  return cut(text);
}

std::string short_pointer(std::string_view pointer) {
  if (pointer.size() <= max_pointer_bytes)
    return std::string(pointer);
  return std::string(pointer.substr(0, pointer.rfind('/', max_pointer_bytes)));
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
  return error || path.is_absolute() ? text : text + "; looked for " + quote(tried.string());
}

}  // namespace holoflow::core
