// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads JSON with places: nlohmann's parser tells neither line and column nor duplicate keys.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"

namespace holoflow::core {

/// Length of the well-formed UTF-8 sequence at the front of the text (which is not empty), 0 if
/// none.
[[nodiscard]] size_t utf8_length(std::string_view text) noexcept;

/// Reads JSON text (RFC 8259, plus `//` comments), value by value. A syntax fault is thrown as
/// core::Error with pointer, line and column; faults that leave the text readable (duplicate keys)
/// are collected. Nesting is limited to max_graph_depth.
class JsonReader {
public:
  /// `origin` names the text in messages. The text must outlive the reader.
  JsonReader(std::string_view text, std::string origin);

  /// The one value of the text; anything but blanks and comments behind it is a fault.
  [[nodiscard]] nlohmann::json read_document();
  /// The value that begins at byte `offset`, whose place is `pointer` in the whole and `position`
  /// in the text; nothing before or behind it is looked at.
  [[nodiscard]] nlohmann::json read_value_at(
      size_t offset, SourceMap::Position position, const std::string &pointer);

  /// First byte behind what has been read.
  [[nodiscard]] size_t offset() const noexcept { return offset_; }
  [[nodiscard]] FaultList &faults() noexcept { return faults_; }
  [[nodiscard]] SourceMap &source() noexcept { return source_; }

private:
  [[nodiscard]] bool at_end() const noexcept { return offset_ >= text_.size(); }
  [[nodiscard]] char peek() const noexcept { return text_[offset_]; }
  [[nodiscard]] SourceMap::Position position_of(size_t offset) const noexcept;
  [[noreturn]] void fail(
      size_t offset, const std::string &message, Reason reason = Reason::BadGraph) const;
  [[nodiscard]] std::string found_here() const;

  void skip_blanks();
  [[nodiscard]] nlohmann::json read_value(int depth);
  [[nodiscard]] nlohmann::json read_object(int depth);
  void read_member(nlohmann::json &object, int depth);
  [[nodiscard]] nlohmann::json read_array(int depth);
  [[nodiscard]] nlohmann::json read_number();
  [[nodiscard]] nlohmann::json read_word();
  [[nodiscard]] std::string read_string();
  void read_escape(std::string &string);
  [[nodiscard]] unsigned read_hex4();
  void copy_utf8(std::string &string);

  std::string_view text_;
  std::string origin_;
  size_t offset_ = 0;
  int line_ = 1;  // of offset_; strings hold no line breaks, so only blanks change it
  size_t line_start_ = 0;  // offset of the line's first byte
  std::string path_;  // JSON pointer of the value being read
  SourceMap source_;
  FaultList faults_;
};

}  // namespace holoflow::core
