// SPDX-License-Identifier: LGPL-2.1-or-later
// The command line of a benchmark: numbers and words in order, options with one value each.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace holoflow::bench {

struct Arguments {
  std::vector<std::string> words;
  std::map<std::string, std::vector<std::string>> options;  ///< every value, by option ("--json")

  /// The last value of an option, "" where it was not given.
  [[nodiscard]] std::string text(const std::string &option) const;
  /// Word `index` as a number of at least 1, or `otherwise` where there are fewer words. Throws
  /// std::invalid_argument.
  [[nodiscard]] size_t number(size_t index, size_t otherwise) const;
};

/// Throws std::invalid_argument for an option that is not in `known` or lacks its value.
[[nodiscard]] Arguments parse_arguments(
    int argc, char **argv, const std::vector<std::string> &known);

}  // namespace holoflow::bench
