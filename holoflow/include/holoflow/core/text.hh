// SPDX-License-Identifier: LGPL-2.1-or-later
// How messages show what came from outside, and what was probably meant.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace holoflow::core {

/// The text as a JSON string, cut after 120 bytes; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string quote(std::string_view text);
/// The value as JSON, cut.
[[nodiscard]] std::string show(const nlohmann::json &value);

/// `; did you mean "Mean"?` or "" where nothing is near.
[[nodiscard]] std::string suggestion(
    std::string_view name, const std::vector<std::string> &candidates);

}  // namespace holoflow::core
