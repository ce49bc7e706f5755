// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps as GStreamer writes them, read without GStreamer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holoflow::tools {

/// `video/x-raw,format=GRAY8,width=(int)640` taken apart. Every field has one value.
struct CapsText {
  struct Field {
    std::string name;
    std::string type;  ///< what stands in parentheses, "" for none
    std::string value;  ///< without quotes
  };

  std::string media_type;
  std::vector<Field> fields;

  /// Null where there is no such field.
  [[nodiscard]] const Field *find(std::string_view name) const;
  /// The field's value, "" where there is none.
  [[nodiscard]] std::string value(std::string_view name) const;
};

/// Throws std::invalid_argument with the column: expected, got, what to do. Lists, ranges, several
/// structures and memory features are refused, since they name no single tensor.
[[nodiscard]] CapsText parse_caps(std::string_view text);

}  // namespace holoflow::tools
