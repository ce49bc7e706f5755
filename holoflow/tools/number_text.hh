// SPDX-License-Identifier: LGPL-2.1-or-later
// Numbers on command lines. All throw std::invalid_argument: expected, got.
#pragma once

#include <cstddef>
#include <string>

namespace holoflow::tools {

/// A whole number of at least 1.
[[nodiscard]] size_t parse_count(const std::string &text);

/// A time of more than 0 and at most a day.
[[nodiscard]] double parse_seconds(const std::string &text);

struct FrameSize {
  size_t width = 0;
  size_t height = 0;
};
/// "640x480".
[[nodiscard]] FrameSize parse_frame_size(const std::string &text);

}  // namespace holoflow::tools
