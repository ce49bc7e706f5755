// SPDX-License-Identifier: LGPL-2.1-or-later
// From pictures as media frameworks hand them out to the packed frames of a tensor. Pure functions.
//
//   picture                                  tensor [N, H, W]        tensor [N, H, W, C]
//   GRAY8, luma plane of NV12 and I420       U8, as it stands        U8, repeated
//   GRAY16_LE                                U16, as it stands       –
//   RGB, BGR, RGBA, BGRA, RGBx, BGRx         U8, luma of RGB         U8, in the tensor's order
//
// The order of colours in a tensor is that of its media pixel format; without one it is the
// picture's where the number of channels agrees, else RGB(A).
#pragma once

#include <cstddef>

#include "holoflow/core/tensor.hh"
#include "holoflow/runtime/rim.hh"

namespace holoflow::tasks {

/// Bytes of one frame of a packed tensor: the whole tensor for rank ≤ 2.
[[nodiscard]] size_t frame_bytes(const core::TDesc &tensor);
/// Frames in a tensor: shape[0] for rank ≥ 3, else one.
[[nodiscard]] size_t frame_count(const core::TDesc &tensor);

/// Throws std::invalid_argument where the picture cannot become a frame of the tensor: expected,
/// got.
void check_picture(const runtime::Picture &picture, const core::TDesc &tensor);

/// Memory of the picture that is a packed frame of the tensor as it stands, or null.
[[nodiscard]] const std::byte *packed_frame(
    const runtime::Picture &picture, const core::TDesc &tensor);

/// Writes one packed frame of the tensor. The picture has passed check_picture.
/// Grey of colours is round(0.299 R + 0.587 G + 0.114 B), halves upwards.
void copy_picture(const runtime::Picture &picture, const core::TDesc &tensor, std::byte *to);

}  // namespace holoflow::tasks
