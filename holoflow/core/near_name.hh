// SPDX-License-Identifier: LGPL-2.1-or-later
// Suggestions for misspelt names, and lists of those there are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holoflow/core/text.hh"

namespace holoflow::core {

/// The candidate nearest to `name` by edit distance, without regard to case; "" where none is near
/// enough to be worth suggesting. The work is bounded: of very many candidates only the first are
/// compared.
[[nodiscard]] std::string nearest_name(
    std::string_view name, const std::vector<std::string> &candidates);

/// The same; where nothing is near, what there is: `; the graph has "a", "b"` for the introduction
/// "the graph has", as quoted_names() writes it.
[[nodiscard]] std::string suggestion_or_names(
    std::string_view name, const std::vector<std::string> &candidates,
    std::string_view introduction);

/// The same for a task type; where nothing is near, who lists them.
[[nodiscard]] std::string type_suggestion(
    std::string_view type, const std::vector<std::string> &types);

/// `"a", "b"`; of many names the first and `and 12 more`. Names are cut.
[[nodiscard]] std::string quoted_names(
    const std::vector<std::string> &names, std::string_view separator = ", ");

/// `a`, `a or b`, `a, b or c`.
[[nodiscard]] std::string alternatives(const std::vector<std::string> &names);

}  // namespace holoflow::core
