// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/number_text.hh"

#include <charconv>
#include <optional>
#include <stdexcept>

namespace holoflow::tools {

namespace {

constexpr double longest_seconds = 86400;

/// The whole text as a number.
template <typename Number> std::optional<Number> read(const std::string &text) {
  Number value{};
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse(const std::string &expected, const std::string &got) {
  throw std::invalid_argument("expected " + expected + ", got \"" + got + "\"");
}

}  // namespace

size_t parse_count(const std::string &text) {
  const auto value = read<size_t>(text);
  if (!value || *value == 0)
    refuse("a whole number of at least 1", text);
  return *value;
}

double parse_seconds(const std::string &text) {
  const auto value = read<double>(text);
  if (!value || !(*value > 0 && *value <= longest_seconds))
    refuse("a number of seconds between 0 and 86400", text);
  return *value;
}

FrameSize parse_frame_size(const std::string &text) {
  const size_t cross = text.find('x');
  const auto width = read<size_t>(text.substr(0, cross));
  const auto height =
      cross == std::string::npos ? std::nullopt : read<size_t>(text.substr(cross + 1));
  if (!width || !height || *width == 0 || *height == 0)
    refuse("a size as WIDTHxHEIGHT", text);
  return {*width, *height};
}

}  // namespace holoflow::tools
