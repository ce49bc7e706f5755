// SPDX-License-Identifier: LGPL-2.1-or-later
// What caps or a file say about a frame, and the tensor that an Input makes of it.
#pragma once

#include <string>
#include <string_view>

#include "holoflow/core/tensor.hh"

namespace holoflow::tools {

/// One frame as a file or a stream brings it, without gaps, before an Input's "as".
struct MediaFrame {
  core::TDesc tensor;  ///< [1, …], or the whole array for rank ≤ 2
  std::string picture_format = {};  ///< GStreamer's name where it can be read as a picture
  size_t width = 0;  ///< of a picture
  size_t height = 0;
  bool is_array = false;  ///< an array: a picture only where "as" says so
  size_t bytes = 0;  ///< in the file
};

/// A picture of GStreamer's format. Throws std::invalid_argument where the table of
/// docs/graph-file.md lacks the format, or where a size is missing or too large.
[[nodiscard]] MediaFrame picture_frame(const std::string &format, size_t width, size_t height);
/// An array whose axis 0 is the frame axis for rank ≥ 3. Throws std::overflow_error.
[[nodiscard]] MediaFrame array_frame(std::vector<size_t> shape, core::DType dtype);
/// A picture with `channels` samples of `dtype` for each pixel, colours in the order R, G, B, A.
[[nodiscard]] MediaFrame sampled_frame(
    size_t width, size_t height, size_t channels, core::DType dtype);
/// The frame that caps name. Throws std::invalid_argument: expected, got, what to do.
[[nodiscard]] MediaFrame frame_of_caps(std::string_view caps);

/// The tensor of one frame for an Input with this `as` ("" for none). Throws std::invalid_argument.
[[nodiscard]] core::TDesc input_tensor(const MediaFrame &frame, const std::string &as);
/// Whether the frame's bytes are the tensor's as they stand.
[[nodiscard]] bool is_tensor_as_it_stands(const MediaFrame &frame, const core::TDesc &tensor);
/// Writes the tensor's bytes from the frame's.
void convert_frame(
    const MediaFrame &frame, const std::byte *from, const core::TDesc &tensor, std::byte *to);

}  // namespace holoflow::tools
