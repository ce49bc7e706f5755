// SPDX-License-Identifier: LGPL-2.1-or-later
#include "arguments.hh"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace holoflow::bench {

namespace {

size_t parse_number(const std::string &text, const std::string &what) {
  size_t value = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value == 0)
    throw std::invalid_argument(what + ": expected a number of at least 1, got \"" + text + "\"");
  return value;
}

}  // namespace

std::string Arguments::text(const std::string &option) const {
  const auto found = options.find(option);
  return found == options.end() ? "" : found->second.back();
}

size_t Arguments::number(size_t index, size_t otherwise) const {
  return index < words.size() ? parse_number(words[index], "argument " + std::to_string(index + 1))
                              : otherwise;
}

Size parse_size(const std::string &text) {
  const size_t cross = text.find('x');
  if (cross == std::string::npos)
    throw std::invalid_argument("expected a size as WIDTHxHEIGHT, got \"" + text + "\"");
  return {
      parse_number(text.substr(0, cross), "width of " + text),
      parse_number(text.substr(cross + 1), "height of " + text)};
}

Arguments parse_arguments(int argc, char **argv, const std::vector<std::string> &known) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      arguments.words.push_back(word);
      continue;
    }
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      std::string names;
      for (const auto &option : known)
        names += " " + option;
      throw std::invalid_argument("unknown option " + word + "; there are" + names);
    }
    if (i + 1 == argc)
      throw std::invalid_argument("option " + word + ": expected a value, got none");
    arguments.options[word].emplace_back(argv[++i]);
  }
  return arguments;
}

}  // namespace holoflow::bench
