// SPDX-License-Identifier: LGPL-2.1-or-later
#include "arguments.hh"

#include <algorithm>
#include <stdexcept>

#include "holoflow/tools/number_text.hh"

namespace holoflow::bench {

std::string Arguments::text(const std::string &option) const {
  const auto found = options.find(option);
  return found == options.end() ? "" : found->second.back();
}

size_t Arguments::number(size_t index, size_t otherwise) const {
  return index < words.size() ? tools::parse_count(words[index]) : otherwise;
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
