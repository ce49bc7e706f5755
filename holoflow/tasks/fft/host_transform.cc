// SPDX-License-Identifier: LGPL-2.1-or-later
// The one file that compiles pocketfft: it is heavy, and its caches exist once.
#include "holoflow/tasks/fft/host_transform.hh"

// A graph with many sizes must not rebuild tables each frame; a miss costs more than the search.
#define POCKETFFT_CACHE_SIZE 64
// Sections are the threads of a graph.
#define POCKETFFT_NO_MULTITHREADING
// pocketfft then aligns its arrays itself; AddressSanitizer refuses the sizes with which it would
// call aligned_alloc.
#ifndef _LIBCPP_HAS_NO_ALIGNED_ALLOCATION
#define _LIBCPP_HAS_NO_ALIGNED_ALLOCATION
#endif
#if defined(HOLOFLOW_POCKETFFT_FROM_GEMMI)
#include <gemmi/third_party/pocketfft_hdronly.h>
#else
#include <pocketfft_hdronly.h>
#endif

namespace holoflow::tasks {

namespace {

std::complex<float> *at(std::complex<float> *base, std::ptrdiff_t bytes) {
  return reinterpret_cast<std::complex<float> *>(reinterpret_cast<std::byte *>(base) + bytes);
}

/// The next index over all axes but `skipped`; false once every one has been visited.
bool advance(std::vector<size_t> &index, const std::vector<size_t> &shape, size_t skipped) {
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (axis == skipped)
      continue;
    if (++index[axis] < shape[axis])
      return true;
    index[axis] = 0;
  }
  return false;
}

/// Fills what transform_real_to_half left out: X[−k] = conj(X[k]), where −k negates the index along
/// every transformed axis.
void mirror_half(const HostTransform &transform, std::complex<float> *out) {
  const size_t half_axis = transform.axes.back();
  const size_t length = transform.shape[half_axis];
  const std::ptrdiff_t step = transform.out_strides[half_axis];
  const size_t rank = transform.shape.size();
  std::vector<bool> negated(rank, false);
  for (const size_t axis : transform.axes)
    negated[axis] = true;

  std::vector<size_t> index(rank, 0);
  while (true) {
    std::ptrdiff_t to = 0;
    std::ptrdiff_t from = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (axis == half_axis)
        continue;
      const size_t n = transform.shape[axis];
      const size_t source = negated[axis] ? (n - index[axis]) % n : index[axis];
      to += static_cast<std::ptrdiff_t>(index[axis]) * transform.out_strides[axis];
      from += static_cast<std::ptrdiff_t>(source) * transform.out_strides[axis];
    }
    for (size_t k = length / 2 + 1; k < length; ++k) {
      *at(out, to + static_cast<std::ptrdiff_t>(k) * step) =
          std::conj(*at(out, from + static_cast<std::ptrdiff_t>(length - k) * step));
    }
    if (!advance(index, transform.shape, half_axis))
      return;
  }
}

}  // namespace

void transform_complex(
    const HostTransform &transform, const std::complex<float> *in, std::complex<float> *out) {
  pocketfft::c2c(
      transform.shape, transform.in_strides, transform.out_strides, transform.axes,
      transform.forward, in, out, transform.scale);
}

void transform_real_to_half(
    const HostTransform &transform, const float *in, std::complex<float> *out) {
  pocketfft::r2c(
      transform.shape, transform.in_strides, transform.out_strides, transform.axes,
      transform.forward, in, out, transform.scale);
}

void transform_real_to_full(
    const HostTransform &transform, const float *in, std::complex<float> *out) {
  for (const size_t extent : transform.shape)
    if (extent == 0)
      return;
  transform_real_to_half(transform, in, out);
  mirror_half(transform, out);
}

void transform_half_to_real(
    const HostTransform &transform, const std::complex<float> *in, float *out) {
  pocketfft::c2r(
      transform.shape, transform.in_strides, transform.out_strides, transform.axes.front(),
      transform.forward, in, out, transform.scale);
}

}  // namespace holoflow::tasks
