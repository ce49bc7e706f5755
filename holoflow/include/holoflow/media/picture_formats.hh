// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of pictures that an Input takes: of the caps of holoflowbin, and of what `holoflow` is
// given by --caps and --like. docs/graph-file.md shows it to users.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "holoflow/core/tensor.hh"

namespace holoflow::media {

/// Where a colour stands in a pixel that has none of it: 255 is written for alpha.
inline constexpr int opaque = -1;

struct PictureFormat {
  std::string_view name;  ///< GStreamer's, ends with a zero byte
  core::DType dtype;
  size_t channels;  ///< of the first plane, the one that is read: 1 is [1, H, W]
  std::array<int, 4> colour;  ///< where R, G, B, A stand in a pixel
  bool luma_of_yuv = false;  ///< taken with "as": "GRAY" only
};

/// Every row, most specific first.
[[nodiscard]] std::span<const PictureFormat> picture_formats();
/// Null for a name that is not in the table.
[[nodiscard]] const PictureFormat *find_picture_format(std::string_view name);

/// Whether frames enter as they stand: "" for no `as`, or "TENSOR".
[[nodiscard]] bool as_they_come(std::string_view as);
/// Whether an Input with this `as` takes the format.
[[nodiscard]] bool takes_format(const PictureFormat &format, std::string_view as);
/// The formats that it takes, the cheapest first.
[[nodiscard]] std::vector<const PictureFormat *> formats_for(std::string_view as);
/// Channels of its frames.
[[nodiscard]] size_t channels_as(const PictureFormat &format, std::string_view as);
/// One frame of the format: Host, with the pixel format that the graph sees, none for "TENSOR".
[[nodiscard]] core::TDesc picture_tensor(
    const PictureFormat &format, std::string_view as, size_t width, size_t height);

}  // namespace holoflow::media
