// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/written_picture.hh"

#include <cstring>

#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tools/frame_files.hh"

namespace holoflow::tools {

using core::DType;

WrittenPicture::WrittenPicture(
    const std::string &path, const core::TDesc &tensor, const std::string &format, bool takes_f32)
    : dtype_(tensor.dtype), frame_bytes_(tasks::frame_bytes(tensor)) {
  const bool fits_dtype =
      dtype_ == DType::U8 || dtype_ == DType::U16 || (takes_f32 && dtype_ == DType::F32);
  if (!fits_dtype)
    throw FileError(
        path,
        "expected " + std::string(takes_f32 ? "U8, U16 or F32" : "U8 or U16") + " for " + format +
            ", got " + core::to_string(tensor) +
            "; add a \"Conversion\" node (target U8, strategy Scaled) before the Output, or write "
            ".npy");
  const auto &shape = tensor.shape;
  tensor_channels_ = shape.size() == 4 ? shape[3] : 1;
  const bool fits_shape = (shape.size() >= 2 && shape.size() <= 4) &&
      (tensor_channels_ == 1 || tensor_channels_ == 3 || tensor_channels_ == 4);
  if (!fits_shape || frame_bytes_ == 0)
    throw FileError(
        path,
        "expected [N, H, W], [N, H, W, 3] or [N, H, W, 4] for " + format + ", got " +
            core::to_string(tensor) + "; write .npy instead");
  height_ = shape[shape.size() == 2 ? 0 : 1];
  width_ = shape[shape.size() == 2 ? 1 : 2];
  channels_ = tensor_channels_;
  if (!tensor.media.has_value() || channels_ == 1)
    return;
  const std::string &pixels = tensor.media->pixel_format;
  if (pixels.starts_with("BGR"))
    order_ = {2, 1, 0, 3};
  if (pixels.ends_with("x"))
    channels_ = 3;  // the fourth byte means nothing
}

const std::byte *WrittenPicture::arrange(const std::byte *frame) {
  if (order_[0] == 0 && channels_ == tensor_channels_)
    return frame;
  const size_t bytes = core::size_of(dtype_);
  arranged_.resize(height_ * row_bytes());
  std::byte *to = arranged_.data();
  for (size_t pixel = 0; pixel < width_ * height_; ++pixel)
    for (size_t channel = 0; channel < channels_; ++channel, to += bytes)
      std::memcpy(to, frame + (pixel * tensor_channels_ + order_[channel]) * bytes, bytes);
  return arranged_.data();
}

}  // namespace holoflow::tools
