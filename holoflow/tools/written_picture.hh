// SPDX-License-Identifier: LGPL-2.1-or-later
// A tensor's frames as the pictures of PNG and TIFF files.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "holoflow/core/tensor.hh"

namespace holoflow::tools {

/// [N, H, W] and [H, W] are grey; [N, H, W, 3] and [N, H, W, 4] have colours, written as RGB(A).
class WrittenPicture {
public:
  /// `format`: "PNG" or "TIFF"; `takes_f32`: whether it holds F32. Throws FileError for tensors
  /// that are no pictures of it.
  WrittenPicture(
      const std::string &path, const core::TDesc &tensor, const std::string &format,
      bool takes_f32);

  [[nodiscard]] size_t width() const { return width_; }
  [[nodiscard]] size_t height() const { return height_; }
  /// In the file: 1, 3 or 4.
  [[nodiscard]] size_t channels() const { return channels_; }
  [[nodiscard]] core::DType dtype() const { return dtype_; }
  [[nodiscard]] size_t row_bytes() const { return width_ * channels_ * core::size_of(dtype_); }
  [[nodiscard]] size_t frame_bytes() const { return frame_bytes_; }
  /// The frame with its colours in the file's order; lives until the next call.
  [[nodiscard]] const std::byte *arrange(const std::byte *frame);

private:
  size_t width_ = 0;
  size_t height_ = 0;
  size_t channels_ = 1;
  size_t tensor_channels_ = 1;
  core::DType dtype_;
  size_t frame_bytes_;
  std::array<size_t, 4> order_ = {0, 1, 2, 3};  // where R, G, B, A stand in the tensor's pixel
  std::vector<std::byte> arranged_;
};

}  // namespace holoflow::tools
