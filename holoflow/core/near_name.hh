// SPDX-License-Identifier: LGPL-2.1-or-later
// Suggestions for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holoflow::core {

/// The candidate nearest to `name` by edit distance, without regard to case; "" where none is near
/// enough to be worth suggesting.
[[nodiscard]] std::string nearest_name(
    std::string_view name, const std::vector<std::string> &candidates);

/// `; did you mean "Mean"?` or "" where nothing is near.
[[nodiscard]] std::string suggestion(
    std::string_view name, const std::vector<std::string> &candidates);

}  // namespace holoflow::core
