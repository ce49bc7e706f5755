// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors to caps: what an Output's tensor leaves as.
#include <algorithm>
#include <optional>

#include "gstholoflowcaps.h"
#include "gstholoflowtensorcaps.h"
#include "holoflow/core/text.hh"

namespace holoflow::gst {

namespace {

using core::DType;
using Kind = CapsRow::Kind;

// A tensor of one frame: [1, H, W(, C)], or [H, W] of a tensor of rank 2.
struct FrameShape {
  size_t height = 0, width = 0, channels = 1;
};

std::optional<FrameShape> picture_shape(const core::TDesc &frame) {
  const auto &shape = frame.shape;
  FrameShape picture;
  if (shape.size() == 2)
    picture = {shape[0], shape[1], 1};
  else if (shape.size() == 3 && shape[0] == 1)
    picture = {shape[1], shape[2], 1};
  else if (shape.size() == 4 && shape[0] == 1)
    picture = {shape[1], shape[2], shape[3]};
  else
    return std::nullopt;
  if (picture.height == 0 || picture.width == 0 || picture.height > G_MAXINT ||
      picture.width > G_MAXINT)
    return std::nullopt;
  return picture;
}

const CapsRow *video_row(const std::string &format) {
  for (const CapsRow &row : caps_rows())
    if (row.kind == Kind::Video && row.name() == format)
      return &row;
  return nullptr;
}

// Height of the picture in a packed YUV tensor of 3H/2 rows, 0 where it is none.
size_t yuv_height(const FrameShape &picture) {
  return picture.height % 3 == 0 && picture.width % 2 == 0 && picture.height / 3 > 0
      ? picture.height / 3 * 2
      : 0;
}

// The picture of that format in the frame, or nothing where dtype or channels differ.
std::optional<OutputLayout> as_video(const core::TDesc &frame, const CapsRow &row) {
  const auto picture = picture_shape(frame);
  if (!picture || frame.dtype != row.dtype || picture->channels != row.channels)
    return std::nullopt;
  OutputLayout layout;
  layout.kind = Kind::Video;
  layout.format = row.format;
  layout.width = picture->width;
  layout.height = row.luma_of_yuv ? yuv_height(*picture) : picture->height;
  layout.tensor = frame;
  GstVideoInfo info;
  if (layout.height == 0 ||
      !gst_video_info_set_format(
          &info, layout.format, static_cast<guint>(layout.width),
          static_cast<guint>(layout.height)))
    return std::nullopt;
  return layout;
}

OutputLayout as_tensor(const core::TDesc &tensor, Kind kind) {
  OutputLayout layout;
  layout.kind = kind;
  layout.tensor = tensor;
  return layout;
}

std::optional<OutputLayout> by_annotation(const core::TDesc &frame) {
  if (!frame.media || frame.media->pixel_format.empty())
    return std::nullopt;
  const CapsRow *row = video_row(frame.media->pixel_format);
  // The luma plane alone carries no such name; a packed YUV tensor comes from a later release.
  if (row == nullptr || row->luma_of_yuv)
    return std::nullopt;
  return as_video(frame, *row);
}

OutputLayout by_shape(const core::TDesc &frame) {
  for (const char *format : {"GRAY8", "GRAY16_LE", "RGB", "RGBA"})
    if (const auto layout = as_video(frame, *video_row(format)))
      return *layout;
  return as_tensor(frame, Kind::HoloflowTensor);
}

[[noreturn]] void refuse_unknown_format(const std::string &format) {
  std::vector<std::string> names = {"tensors"};
  for (const CapsRow &row : caps_rows())
    if (row.kind == Kind::Video)
      names.push_back(row.name());
  std::string known;
  for (const auto &name : names)
    known += (known.empty() ? "" : ", ") + name;
  throw CapsError(
      "expected \"format\" of the Output as " + known + ", got \"" + format + "\"" +
      core::suggestion(format, names));
}

OutputLayout by_param(const core::TDesc &frame, const std::string &format, bool one_frame) {
  if (format == "tensors") {
    if (nnstreamer_type(frame.dtype) == nullptr)
      throw CapsError(
          "expected U8, U16 or F32 for \"format\": \"tensors\", got " + core::to_string(frame) +
          "; other/tensors has no complex type, leave \"format\" out or add a "
          "\"Conversion\" node (target F32) before the Output");
    return as_tensor(frame, Kind::Tensors);
  }
  const CapsRow *row = video_row(format);
  if (row == nullptr)
    refuse_unknown_format(format);
  if (!one_frame)
    throw CapsError(
        "expected one frame a buffer for \"format\": \"" + format + "\", got " +
        core::to_string(frame) + " with one record; use \"format\": \"tensors\" or leave it out");
  if (const auto layout = as_video(frame, *row))
    return *layout;
  const std::string wanted = std::string(core::to_string(row->dtype)) +
      (row->luma_of_yuv         ? " [N, 3H/2, W]"
           : row->channels == 1 ? " [N, H, W]"
                                : " [N, H, W, " + std::to_string(row->channels) + "]");
  throw CapsError(
      "expected " + wanted + " for \"format\": \"" + format + "\", got " + core::to_string(frame) +
      "; change \"format\" or add a \"Conversion\" node before "
      "the Output");
}

}  // namespace

OutputLayout output_layout(const core::TDesc &tensor, size_t records, const std::string &format) {
  core::TDesc frame(tensor.shape, tensor.dtype, core::MemLoc::Host);
  frame.media = tensor.media;
  bool one_frame = true;
  if (frame.rank() >= 3 && frame.shape[0] != 1) {
    one_frame = records == frame.shape[0];
    if (one_frame) {
      auto shape = frame.shape;
      shape[0] = 1;
      frame = core::TDesc(shape, tensor.dtype, core::MemLoc::Host);
      frame.media = tensor.media;
    }
  }
  if (!format.empty())
    return by_param(frame, format, one_frame);
  if (!one_frame)
    return as_tensor(frame, Kind::HoloflowTensor);
  if (const auto layout = by_annotation(frame))
    return *layout;
  return by_shape(frame);
}

CapsPtr output_caps(const OutputLayout &layout, const InputStream *from, Rate rate) {
  if (layout.kind != Kind::Video) {
    CapsPtr caps = open_output_caps(layout, false);
    gst_caps_set_simple(
        caps.get(), "framerate", GST_TYPE_FRACTION, rate.numerator, rate.denominator, nullptr);
    return caps;
  }
  GstVideoInfo info;
  gst_video_info_set_format(
      &info, layout.format, static_cast<guint>(layout.width), static_cast<guint>(layout.height));
  info.fps_n = rate.numerator;
  info.fps_d = rate.denominator;
  if (from != nullptr && from->row != nullptr && from->row->kind == Kind::Video) {
    const GstVideoInfo &video = from->video;
    if (static_cast<size_t>(video.width) == layout.width &&
        static_cast<size_t>(video.height) == layout.height) {
      info.par_n = video.par_n;
      info.par_d = video.par_d;
    }
    if (GST_VIDEO_INFO_FORMAT(&video) == layout.format) {
      info.colorimetry = video.colorimetry;
      info.chroma_site = video.chroma_site;
    }
  }
  return CapsPtr(gst_video_info_to_caps(&info));
}

CapsPtr open_output_caps(const OutputLayout &layout, bool open_size) {
  if (layout.kind == Kind::Video) {
    const auto row = std::find_if(caps_rows().begin(), caps_rows().end(), [&](const auto &each) {
      return each.kind == Kind::Video && each.format == layout.format;
    });
    CapsPtr caps = row_caps(*row);
    if (!open_size)
      gst_caps_set_simple(
          caps.get(), "width", G_TYPE_INT, static_cast<int>(layout.width), "height", G_TYPE_INT,
          static_cast<int>(layout.height), nullptr);
    return caps;
  }
  const bool nnstreamer = layout.kind == Kind::Tensors;
  const auto row = std::find_if(caps_rows().begin(), caps_rows().end(), [&](const auto &each) {
    return each.kind == layout.kind && each.dtype == layout.tensor.dtype;
  });
  CapsPtr caps = row_caps(*row);
  if (!open_size && nnstreamer)
    gst_caps_set_simple(
        caps.get(), "dimensions", G_TYPE_STRING, nnstreamer_dimensions(layout.tensor).c_str(),
        nullptr);
  else if (!open_size)
    gst_caps_set_simple(
        caps.get(), "shape", G_TYPE_STRING, holoflow_shape(layout.tensor).c_str(), nullptr);
  return caps;
}

GstVideoInfo packed_video_info(const OutputLayout &layout) {
  GstVideoInfo info;
  gst_video_info_set_format(
      &info, layout.format, static_cast<guint>(layout.width), static_cast<guint>(layout.height));
  const size_t width = layout.width, height = layout.height;
  if (layout.format == GST_VIDEO_FORMAT_NV12) {
    info.stride[0] = info.stride[1] = static_cast<gint>(width);
    info.offset[1] = width * height;
  } else if (layout.format == GST_VIDEO_FORMAT_I420) {
    info.stride[0] = static_cast<gint>(width);
    info.stride[1] = info.stride[2] = static_cast<gint>(width / 2);
    info.offset[1] = width * height;
    info.offset[2] = info.offset[1] + width / 2 * (height / 2);
  } else {
    info.stride[0] =
        static_cast<gint>(width * static_cast<size_t>(GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0)));
  }
  info.size = layout.tensor.num_bytes();
  return info;
}

bool packed_is_default(const OutputLayout &layout) {
  GstVideoInfo standard;
  gst_video_info_set_format(
      &standard, layout.format, static_cast<guint>(layout.width),
      static_cast<guint>(layout.height));
  const GstVideoInfo packed = packed_video_info(layout);
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&standard); ++plane)
    if (packed.stride[plane] != standard.stride[plane] ||
        packed.offset[plane] != standard.offset[plane])
      return false;
  return packed.size == standard.size;
}

}  // namespace holoflow::gst
