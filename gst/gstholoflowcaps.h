// SPDX-License-Identifier: LGPL-2.1-or-later
// The table between caps and tensors. Pure functions: no pipeline, no device, any thread.
//
//   caps                                   frame tensor of an Input          with "as"
//   GRAY8                                  U8  [1, H, W]                     GRAY, RGB, RGBA
//   GRAY16_LE                              U16 [1, H, W]                     GRAY
//   RGB, BGR                               U8  [1, H, W, 3]                  GRAY, RGB, RGBA
//   RGBA, BGRA, RGBx, BGRx                 U8  [1, H, W, 4]                  GRAY, RGB, RGBA
//   NV12, I420                             –                                 GRAY: the luma plane
//   other/tensors                          U8, U16, F32, as its dimensions   –
//   application/x-holoflow-tensor          any dtype, as its shape           –
// With "as": "TENSOR" a frame has the same tensor as without "as", and is no picture.
#pragma once

#include <gst/video/video.h>

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gstholoflowpointers.h"
#include "holoflow/core/tensor.hh"

namespace holoflow::gst {

/// Caps that a graph cannot take or make: expected, got, what to insert.
class CapsError : public std::invalid_argument {
public:
  using std::invalid_argument::invalid_argument;
};

[[nodiscard]] inline std::string to_text(const GstCaps *caps) {
  const TextPtr text(gst_caps_to_string(caps));
  return text.get();
}

/// A row of the table.
struct CapsRow {
  enum class Kind { Video, Tensors, HoloflowTensor };
  Kind kind = Kind::Video;
  GstVideoFormat format = GST_VIDEO_FORMAT_UNKNOWN;  ///< of Kind::Video
  core::DType dtype = core::DType::U8;
  size_t channels = 1;  ///< Video: 1 is [1, H, W], else [1, H, W, channels]
  bool luma_of_yuv = false;  ///< taken with "as": "GRAY" only

  /// "GRAY8", "other/tensors of F32", …
  [[nodiscard]] std::string name() const;
};

/// Every row, most specific first.
[[nodiscard]] std::span<const CapsRow> caps_rows();
/// The rows that an Input with this `as` ("" for none) takes, most specific first.
[[nodiscard]] std::vector<const CapsRow *> input_rows(const std::string &as);

/// Caps of a row with everything else open.
[[nodiscard]] CapsPtr row_caps(const CapsRow &row);
/// Caps of the pad templates.
[[nodiscard]] CapsPtr template_caps();

/// A frame rate; 0/1 where it is unknown or varies.
struct Rate {
  int numerator = 0;
  int denominator = 1;
  [[nodiscard]] bool known() const { return numerator > 0 && denominator > 0; }
  friend bool operator==(const Rate &, const Rate &) = default;
};

/// What one set of fixed caps means for an Input.
struct InputStream {
  SharedCaps caps;  ///< themselves
  const CapsRow *row = nullptr;
  GstVideoInfo video = {};  ///< Kind::Video; a missing frame rate is 0/1
  core::TDesc frame;  ///< what the graph gets for one frame, [1, …]; the whole for rank ≤ 2
  core::TDesc buffer;  ///< other kinds: the packed tensor in a buffer, one or more frames
  size_t frames = 1;  ///< frames in a buffer
  Rate rate;  ///< frames per second
};

/// Throws CapsError: expected, got and what to insert.
[[nodiscard]] InputStream parse_input_caps(const GstCaps *caps, const std::string &as);
/// One frame of a row, for inference: video as the table says, tensor rows as [1, height, width].
[[nodiscard]] core::TDesc placeholder_frame(
    const CapsRow &row, const std::string &as, size_t width, size_t height);

/// How tensors of one Output leave.
struct OutputLayout {
  CapsRow::Kind kind = CapsRow::Kind::HoloflowTensor;
  GstVideoFormat format = GST_VIDEO_FORMAT_UNKNOWN;
  size_t width = 0;  ///< Video
  size_t height = 0;  ///< Video
  core::TDesc tensor;  ///< what one buffer holds, packed
  friend bool operator==(const OutputLayout &a, const OutputLayout &b) {
    return a.kind == b.kind && a.format == b.format && a.width == b.width && a.height == b.height &&
        a.tensor == b.tensor;
  }
};

/// `tensor` with `records` frame records leaves like this. `format`: the Output's param, "" for
/// none. Throws CapsError where the format does not fit the tensor.
[[nodiscard]] OutputLayout output_layout(
    const core::TDesc &tensor, size_t records, const std::string &format);
/// Fixed caps for the layout. `from` gives pixel aspect ratio and colorimetry where they still
/// hold.
[[nodiscard]] CapsPtr output_caps(const OutputLayout &layout, const InputStream *from, Rate rate);
/// The same with frame rate, and sizes where `open_size`, left open.
[[nodiscard]] CapsPtr open_output_caps(const OutputLayout &layout, bool open_size);

/// Strides, offsets and size of the packed picture in a tensor of Kind::Video.
[[nodiscard]] GstVideoInfo packed_video_info(const OutputLayout &layout);
/// Whether GStreamer's default layout of the format is the packed one.
[[nodiscard]] bool packed_is_default(const OutputLayout &layout);

}  // namespace holoflow::gst
