// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/media/picture_formats.hh"

#include <algorithm>

namespace holoflow::media {

namespace {

using core::DType;

constexpr std::array<PictureFormat, 10> rows{{
    {"GRAY8", DType::U8, 1, {0, 0, 0, opaque}},
    {"GRAY16_LE", DType::U16, 1, {0, 0, 0, opaque}},
    {"NV12", DType::U8, 1, {0, 0, 0, opaque}, true},
    {"I420", DType::U8, 1, {0, 0, 0, opaque}, true},
    {"RGB", DType::U8, 3, {0, 1, 2, opaque}},
    {"BGR", DType::U8, 3, {2, 1, 0, opaque}},
    {"RGBA", DType::U8, 4, {0, 1, 2, 3}},
    {"BGRA", DType::U8, 4, {2, 1, 0, 3}},
    {"RGBx", DType::U8, 4, {0, 1, 2, opaque}},
    {"BGRx", DType::U8, 4, {2, 1, 0, opaque}},
}};

}  // namespace

std::span<const PictureFormat> picture_formats() {
  return rows;
}

const PictureFormat *find_picture_format(std::string_view name) {
  for (const PictureFormat &format : rows)
    if (format.name == name)
      return &format;
  return nullptr;
}

bool as_they_come(std::string_view as) {
  return as.empty() || as == "TENSOR";
}

bool takes_format(const PictureFormat &format, std::string_view as) {
  if (as_they_come(as))
    return !format.luma_of_yuv;
  return as == "GRAY" || (!format.luma_of_yuv && format.dtype == DType::U8);
}

std::vector<const PictureFormat *> formats_for(std::string_view as) {
  std::vector<const PictureFormat *> taken;
  for (const PictureFormat &format : rows)
    if (takes_format(format, as))
      taken.push_back(&format);
  // A grey picture costs a repetition where colour is wanted: last.
  if (as == "RGB" || as == "RGBA")
    std::rotate(taken.begin(), taken.begin() + 1, taken.end());
  return taken;
}

size_t channels_as(const PictureFormat &format, std::string_view as) {
  return as == "GRAY" ? 1 : as == "RGB" ? 3 : as == "RGBA" ? 4 : format.channels;
}

core::TDesc picture_tensor(
    const PictureFormat &format, std::string_view as, size_t width, size_t height) {
  const size_t channels = channels_as(format, as);
  std::vector<size_t> shape = {1, height, width};
  if (channels > 1)
    shape.push_back(channels);
  core::TDesc frame(shape, format.dtype, core::MemLoc::Host);
  frame.media.emplace();
  if (as == "TENSOR")
    return frame;
  auto &media = *frame.media;
  media.pixel_format = format.name;
  if (format.channels != channels || format.luma_of_yuv)
    media.pixel_format = channels == 1 ? "GRAY8" : channels == 3 ? "RGB" : "RGBA";
  if (channels > 1)
    media.channel_axis = 3;
  return frame;
}

}  // namespace holoflow::media
