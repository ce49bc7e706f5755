// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads caps from left to right; every refusal names its column.
#include "holoflow/tools/caps_text.hh"

#include <algorithm>
#include <stdexcept>

#include "holoflow/core/graph_fault.hh"

namespace holoflow::tools {

namespace {

constexpr std::string_view blanks = " \t\r\n";
// What ends a value that is not quoted.
constexpr std::string_view value_ends = " \t\r\n,;\"{}[]<>";

class CapsReader {
public:
  explicit CapsReader(std::string_view text) : text_(text) {}

  CapsText read() {
    CapsText caps;
    skip_blanks();
    caps.media_type = read_word(" \t\r\n,;(=");
    if (caps.media_type.find('/') == std::string::npos)
      refuse("a media type like video/x-raw", 0);
    skip_blanks();
    if (next() == '(')
      refuse("caps of system memory, without features in parentheses", at_);
    while (next() == ',') {
      ++at_;
      skip_blanks();
      if (at_ == text_.size())
        refuse("a field behind \",\"", at_);
      add(caps, read_field());
      skip_blanks();
    }
    if (next() == ';') {
      ++at_;
      skip_blanks();
      if (at_ < text_.size())
        refuse("one structure", at_);
    }
    if (at_ < text_.size())
      refuse("\",\" or the end", at_);
    return caps;
  }

private:
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    while (at_ < text_.size() && blanks.find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  std::string read_word(std::string_view ends) {
    const size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    std::string word(text_.substr(at_, end - at_));
    at_ = end;
    return word;
  }

  CapsText::Field read_field() {
    CapsText::Field field;
    const size_t begin = at_;
    field.name = read_word(" \t\r\n=,;");
    skip_blanks();
    if (field.name.empty() || next() != '=')
      refuse("a field as name=value", begin);
    ++at_;
    skip_blanks();
    if (next() == '(') {
      const size_t close = text_.find(')', at_);
      if (close == std::string_view::npos)
        refuse("\")\" behind the type", at_);
      field.type = text_.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
      skip_blanks();
    }
    field.value = next() == '"' ? read_quoted() : read_plain(field.name);
    return field;
  }

  std::string read_quoted() {
    const size_t begin = at_++;
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\')
        ++at_;
      if (at_ < text_.size())
        value += text_[at_++];
    }
    if (at_ >= text_.size())
      refuse("a closing quote", begin);
    ++at_;
    return value;
  }

  std::string read_plain(const std::string &name) {
    if (next() == '{' || next() == '[' || next() == '<')
      refuse("one value for \"" + name + "\", no list or range", at_);
    const size_t begin = at_;
    std::string value = read_word(value_ends);
    if (value.empty())
      refuse("a value for \"" + name + "\"", begin);
    return value;
  }

  void add(CapsText &caps, CapsText::Field field) const {
    if (caps.find(field.name) != nullptr)
      throw std::invalid_argument(
          "caps: expected each field once, got \"" + field.name + "\" twice; leave one out");
    caps.fields.push_back(std::move(field));
  }

  [[noreturn]] void refuse(const std::string &expected, size_t at) const {
    const std::string got = at < text_.size() ? core::quote(text_.substr(at)) : "the end";
    throw std::invalid_argument(
        "caps, column " + std::to_string(at + 1) + ": expected " + expected + ", got " + got +
        "; write them like video/x-raw,format=GRAY8,width=640,height=480");
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

const CapsText::Field *CapsText::find(std::string_view name) const {
  for (const Field &field : fields)
    if (field.name == name)
      return &field;
  return nullptr;
}

std::string CapsText::value(std::string_view name) const {
  const Field *field = find(name);
  return field != nullptr ? field->value : "";
}

CapsText parse_caps(std::string_view text) {
  return CapsReader(text).read();
}

}  // namespace holoflow::tools
