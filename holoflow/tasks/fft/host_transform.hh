// SPDX-License-Identifier: LGPL-2.1-or-later
// Fourier transforms of strided host arrays; the only door to pocketfft.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace holoflow::tasks {

/// One transform of an n-dimensional array along some of its axes, any lengths ≥ 1. Strides are in
/// bytes, one per axis. Everything is fixed when the task is created, so that a call only computes;
/// tables for each length are cached by pocketfft, process-wide.
struct HostTransform {
  std::vector<size_t> shape;
  std::vector<std::ptrdiff_t> in_strides;
  std::vector<std::ptrdiff_t> out_strides;
  std::vector<size_t> axes;  ///< different ones, at least one
  bool forward = true;  ///< exponent −2πi; else +2πi
  float scale = 1;  ///< multiplies the result
};

/// Complex to complex. `in` may be `out` where the strides agree.
void transform_complex(
    const HostTransform &transform, const std::complex<float> *in, std::complex<float> *out);

/// Real to the half spectrum: along the last of `axes` only the indices 0 … n/2 are written.
/// `shape` is the real array's.
void transform_real_to_half(
    const HostTransform &transform, const float *in, std::complex<float> *out);

/// Real to the whole spectrum: the half spectrum, then its mirror image.
void transform_real_to_full(
    const HostTransform &transform, const float *in, std::complex<float> *out);

/// Half spectrum to real along the one axis in `axes`. `shape` is the real array's. Allocates
/// nothing of the array's size, unlike pocketfft's form for several axes: transform the others
/// before.
void transform_half_to_real(
    const HostTransform &transform, const std::complex<float> *in, float *out);

}  // namespace holoflow::tasks
