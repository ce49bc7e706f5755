// SPDX-License-Identifier: LGPL-2.1-or-later
// Suggestions for misspelt names, and lists of those there are.
#include "holoflow/core/near_name.hh"

#include <algorithm>
#include <utility>

#include "holoflow/core/graph_fault.hh"

namespace holoflow::core {

namespace {

// Names longer than this are nobody's typing error; it bounds the work for hostile files.
constexpr size_t max_length = 100;
// Cells of the tables of all distances of one search, some milliseconds.
constexpr size_t max_cells = size_t{1} << 20;
constexpr size_t max_quoted_names = 20;

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Optimal string alignment: insertions, deletions, substitutions, swapped neighbours.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string> &candidates) {
  if (name.empty() || name.size() > max_length)
    return "";
  std::string nearest;
  size_t nearest_distance = 0;
  size_t cells = 0;
  for (const std::string &candidate : candidates) {
    if (candidate.empty() || candidate.size() > max_length)
      continue;
    // Every third letter may be wrong, and one of a short name.
    const size_t longest = std::max(name.size(), candidate.size());
    const size_t allowed = std::max<size_t>(1, longest / 3);
    // One is at least as far as the lengths differ.
    if (longest - std::min(name.size(), candidate.size()) > allowed)
      continue;
    cells += name.size() * candidate.size();
    if (cells > max_cells)
      break;
    const size_t distance = edit_distance(name, candidate);
    if (distance > allowed || distance >= longest)
      continue;
    if (nearest.empty() || distance < nearest_distance ||
        (distance == nearest_distance && candidate < nearest)) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  return nearest;
}

std::string suggestion(std::string_view name, const std::vector<std::string> &candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "; did you mean " + quote(nearest) + "?";
}

std::string suggestion_or_names(
    std::string_view name, const std::vector<std::string> &candidates,
    std::string_view introduction) {
  const std::string near = suggestion(name, candidates);
  if (!near.empty())
    return near;
  return candidates.empty() ? ""
                            : "; " + std::string(introduction) + " " + quoted_names(candidates);
}

std::string type_suggestion(std::string_view type, const std::vector<std::string> &types) {
  const std::string near = suggestion(type, types);
  return near.empty() ? "; \"holoflow tasks\" lists the types there are" : near;
}

std::string quoted_names(const std::vector<std::string> &names, std::string_view separator) {
  std::string text;
  const size_t shown = std::min(names.size(), max_quoted_names);
  for (size_t i = 0; i < shown; ++i)
    text += (i == 0 ? std::string() : std::string(separator)) + quote(names[i]);
  if (names.size() > shown)
    text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

std::string alternatives(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i != 0)
      text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace holoflow::core
