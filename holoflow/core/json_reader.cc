// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads JSON with places: a recursive descent over the grammar of RFC 8259.
#include "holoflow/core/json_reader.hh"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "holoflow/core/graph_fault.hh"

namespace holoflow::core {

namespace {

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

void append_utf8(std::string &string, uint32_t code) {
  if (code < 0x80) {
    string += static_cast<char>(code);
  } else if (code < 0x800) {
    string += static_cast<char>(0xc0 | (code >> 6));
    string += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    string += static_cast<char>(0xe0 | (code >> 12));
    string += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    string += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    string += static_cast<char>(0xf0 | (code >> 18));
    string += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    string += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    string += static_cast<char>(0x80 | (code & 0x3f));
  }
}

}  // namespace

// Unicode table 3-7.
size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  size_t length = 4;
  if (first < 0x80)
    length = 1;
  else if (first < 0xc2 || first >= 0xf5)
    return 0;
  else if (first < 0xf0)
    length = first < 0xe0 ? 2 : 3;
  if (text.size() < length)
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool too_large = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

JsonReader::JsonReader(std::string_view text, std::string origin)
    : text_(text), origin_(std::move(origin)) {}

nlohmann::json JsonReader::read_document() {
  if (text_.starts_with("\xef\xbb\xbf"))
    offset_ = line_start_ = 3;
  auto value = read_value(0);
  skip_blanks();
  if (!at_end())
    fail(offset_, "expected nothing behind the graph, got " + found_here());
  return value;
}

nlohmann::json JsonReader::read_value_at(
    size_t offset, SourceMap::Position position, const std::string &pointer) {
  offset_ = offset;
  line_ = position.line;
  line_start_ = offset - (static_cast<size_t>(position.column) - 1);
  path_ = pointer;
  return read_value(0);
}

SourceMap::Position JsonReader::position_of(size_t offset) const noexcept {
  return {line_, static_cast<int>(offset - line_start_) + 1};
}

void JsonReader::fail(size_t offset, const std::string &message, Reason reason) const {
  throw graph_fault(origin_, position_of(offset), path_, message, reason);
}

std::string JsonReader::found_here() const {
  return at_end() ? "the end of the text" : describe_byte(peek());
}

void JsonReader::skip_blanks() {
  while (!at_end()) {
    const char c = peek();
    if (c == '\n') {
      ++line_;
      line_start_ = ++offset_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++offset_;
    } else if (text_.substr(offset_).starts_with("//")) {
      offset_ = std::min(text_.find('\n', offset_), text_.size());
    } else if (c == '/') {
      fail(
          offset_,
          "expected \"//\", got \"/\"; a comment begins with \"//\" and ends with its line");
    } else {
      return;
    }
  }
}

nlohmann::json JsonReader::read_value(int depth) {
  skip_blanks();
  source_.add(path_, position_of(offset_));
  if (at_end())
    fail(offset_, "expected a value, got the end of the text");
  const char c = peek();
  if ((c == '{' || c == '[') && depth >= max_graph_depth)
    fail(
        offset_,
        "objects and arrays are nested more than " + std::to_string(max_graph_depth) + " deep",
        Reason::TooLarge);
  if (c == '{')
    return read_object(depth + 1);
  if (c == '[')
    return read_array(depth + 1);
  if (c == '"')
    return read_string();
  if (c == '-' || is_digit(c))
    return read_number();
  return read_word();
}

nlohmann::json JsonReader::read_object(int depth) {
  auto object = nlohmann::json::object();
  ++offset_;
  skip_blanks();
  if (!at_end() && peek() == '}') {
    ++offset_;
    return object;
  }
  while (true) {
    read_member(object, depth);
    skip_blanks();
    if (at_end() || (peek() != ',' && peek() != '}'))
      fail(offset_, "expected \",\" or \"}\" behind a member, got " + found_here());
    if (text_[offset_++] == '}')
      return object;
    skip_blanks();
    if (!at_end() && peek() == '}')
      fail(offset_, "expected another member behind \",\", got \"}\"; remove the comma");
  }
}

void JsonReader::read_member(nlohmann::json &object, int depth) {
  if (at_end() || peek() != '"')
    fail(offset_, "expected a key in double quotes, got " + found_here());
  const auto key_position = position_of(offset_);
  std::string key = read_string();
  const size_t parent_size = path_.size();
  path_ += '/';
  path_ += escape_pointer_token(key);
  const bool duplicate = object.contains(key);
  if (duplicate && faults_.is_full()) {
    faults_.add_unlisted();
  } else if (duplicate) {
    const auto first = source_.find_key(path_);
    faults_.add(graph_fault(
        origin_, key_position, path_,
        "duplicate key " + quote(key) + "; it is already at line " + std::to_string(first.line) +
            ", column " + std::to_string(first.column)));
  } else {
    source_.add_key(path_, key_position);
  }
  skip_blanks();
  if (at_end() || peek() != ':')
    fail(offset_, "expected \":\" behind the key " + quote(key) + ", got " + found_here());
  ++offset_;
  auto value = read_value(depth);
  if (!duplicate)
    object.emplace(std::move(key), std::move(value));
  path_.resize(parent_size);
}

nlohmann::json JsonReader::read_array(int depth) {
  auto array = nlohmann::json::array();
  ++offset_;
  skip_blanks();
  if (!at_end() && peek() == ']') {
    ++offset_;
    return array;
  }
  const size_t parent_size = path_.size();
  while (true) {
    path_ += '/';
    path_ += std::to_string(array.size());
    array.push_back(read_value(depth));
    path_.resize(parent_size);
    skip_blanks();
    if (at_end() || (peek() != ',' && peek() != ']'))
      fail(offset_, "expected \",\" or \"]\" behind an element, got " + found_here());
    if (text_[offset_++] == ']')
      return array;
    skip_blanks();
    if (!at_end() && peek() == ']')
      fail(offset_, "expected another element behind \",\", got \"]\"; remove the comma");
  }
}

nlohmann::json JsonReader::read_number() {
  const size_t begin = offset_;
  const auto digits = [this] {
    const size_t first = offset_;
    while (!at_end() && is_digit(peek()))
      ++offset_;
    return offset_ - first;
  };
  if (peek() == '-')
    ++offset_;
  const size_t first_digit = offset_;
  const size_t count = digits();
  if (count == 0)
    fail(offset_, "expected a digit behind \"-\", got " + found_here());
  if (count > 1 && text_[first_digit] == '0')
    fail(begin, "a number does not begin with 0");
  bool is_integer = true;
  if (!at_end() && peek() == '.') {
    is_integer = false;
    ++offset_;
    if (digits() == 0)
      fail(offset_, "expected a digit behind \".\", got " + found_here());
  }
  if (!at_end() && (peek() == 'e' || peek() == 'E')) {
    is_integer = false;
    ++offset_;
    if (!at_end() && (peek() == '+' || peek() == '-'))
      ++offset_;
    if (digits() == 0)
      fail(offset_, "expected a digit in the exponent, got " + found_here());
  }
  const std::string_view number = text_.substr(begin, offset_ - begin);
  const auto parse = [&](auto value) -> nlohmann::json {
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc())
      fail(begin, "the number " + quote(number) + " does not fit in 64 bits");
    return value;
  };
  if (!is_integer)
    return parse(double{});
  return number.front() == '-' ? parse(int64_t{}) : parse(uint64_t{});
}

nlohmann::json JsonReader::read_word() {
  const size_t begin = offset_;
  const char c = peek();
  if (c == '\'')
    fail(begin, "expected a value, got \"'\"; strings stand in double quotes");
  while (!at_end() && ((peek() >= 'a' && peek() <= 'z') || (peek() >= 'A' && peek() <= 'Z')))
    ++offset_;
  const std::string_view word = text_.substr(begin, offset_ - begin);
  if (word == "true")
    return true;
  if (word == "false")
    return false;
  if (word == "null")
    return nullptr;
  if (word.empty())
    fail(begin, "expected a value, got " + describe_byte(c));
  fail(
      begin,
      "expected a value, got " + quote(word) +
          "; strings stand in double quotes, other words are true, false and null");
}

std::string JsonReader::read_string() {
  std::string string;
  const size_t begin = offset_++;
  while (true) {
    if (at_end())
      fail(begin, "the string that begins here does not end; a \" is missing");
    if (string.size() > max_string_bytes)
      fail(
          begin,
          "expected strings of at most " + std::to_string(max_string_bytes) +
              " bytes, a longer one begins here",
          Reason::TooLarge);
    const char c = peek();
    if (c == '"') {
      ++offset_;
      return string;
    }
    if (c == '\n' || c == '\r')
      fail(begin, "the string that begins here does not end on its line; a \" is missing");
    if (static_cast<unsigned char>(c) < 0x20)
      fail(offset_, describe_byte(c) + " in a string; write it as an escape (\\t, \\u0009)");
    if (c == '\\')
      read_escape(string);
    else
      copy_utf8(string);
  }
}

void JsonReader::read_escape(std::string &string) {
  const size_t begin = offset_++;
  if (at_end())
    return;
  const char c = text_[offset_++];
  switch (c) {
  case '"':
  case '\\':
  case '/':
    string += c;
    return;
  case 'b':
    string += '\b';
    return;
  case 'f':
    string += '\f';
    return;
  case 'n':
    string += '\n';
    return;
  case 'r':
    string += '\r';
    return;
  case 't':
    string += '\t';
    return;
  case 'u':
    break;
  default:
    fail(
        begin,
        "unknown escape \"\\\" with " + describe_byte(c) +
            "; expected \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX");
  }
  uint32_t code = read_hex4();
  if (code >= 0xdc00 && code < 0xe000)
    fail(begin, "a low surrogate without a high one before it");
  if (code >= 0xd800 && code < 0xdc00) {
    if (!text_.substr(offset_).starts_with("\\u"))
      fail(begin, "a high surrogate without a low one behind it");
    offset_ += 2;
    const unsigned low = read_hex4();
    if (low < 0xdc00 || low >= 0xe000)
      fail(begin, "a high surrogate without a low one behind it");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(string, code);
}

unsigned JsonReader::read_hex4() {
  unsigned code = 0;
  const auto digits = text_.substr(offset_, 4);
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (digits.size() != 4 || result.ptr != digits.data() + 4 || digits.front() == '-')
    fail(offset_, "expected four hexadecimal digits behind \\u");
  offset_ += 4;
  return code;
}

void JsonReader::copy_utf8(std::string &string) {
  const size_t length = utf8_length(text_.substr(offset_));
  if (length == 0)
    fail(offset_, describe_byte(peek()) + " is no UTF-8 text; save the file as UTF-8");
  string.append(text_.substr(offset_, length));
  offset_ += length;
}

}  // namespace holoflow::core
