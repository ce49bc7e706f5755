// SPDX-License-Identifier: LGPL-2.1-or-later
// Index arithmetic over several strided tensors of one shape, for Host loops and CUDA kernels
// alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#ifdef __CUDACC__
#define HOLOFLOW_HOST_DEVICE __host__ __device__
#else
#define HOLOFLOW_HOST_DEVICE
#endif

namespace holoflow::tasks {

/// Most axes that a computing task takes.
inline constexpr size_t max_rank = 8;

/// One walk over N tensors of the same shape in row-major order. A plain value: kernels get it by
/// value. Axes that all tensors run through evenly are merged, so N packed tensors have one axis.
template <size_t N> struct StridedLoop {
  uint64_t count = 0;  ///< elements in all
  uint32_t rank = 0;  ///< axes left after merging
  bool small = false;  ///< count fits 32 bits, so kernels divide in 32 bits
  uint64_t shape[max_rank] = {};
  uint64_t strides[N][max_rank] = {};  ///< bytes; 0 where a tensor repeats

  /// Byte offsets of element `index` (row-major) from each tensor's first element.
  template <typename Index>
  HOLOFLOW_HOST_DEVICE void offsets(Index index, uint64_t (&out)[N]) const {
    for (size_t n = 0; n < N; ++n)
      out[n] = 0;
    for (uint32_t axis = rank; axis-- > 1;) {
      const Index extent = static_cast<Index>(shape[axis]);
      const Index next = index / extent;
      const Index at = index - next * extent;
      for (size_t n = 0; n < N; ++n)
        out[n] += static_cast<uint64_t>(at) * strides[n][axis];
      index = next;
    }
    if (rank == 0)
      return;
    for (size_t n = 0; n < N; ++n)
      out[n] += static_cast<uint64_t>(index) * strides[n][0];
  }
};

/// Makes a loop over `shape` (at most max_rank axes) with the byte strides of each tensor.
template <size_t N>
StridedLoop<N> make_loop(
    const std::vector<size_t> &shape, const std::array<std::vector<size_t>, N> &strides) {
  StridedLoop<N> loop;
  loop.count = 1;
  for (const size_t extent : shape)
    loop.count *= extent;
  loop.small = loop.count <= UINT32_MAX;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1)
      continue;
    bool merges = loop.rank > 0;  // into the axis before it
    for (size_t n = 0; n < N && merges; ++n)
      merges = loop.strides[n][loop.rank - 1] == strides[n][axis] * shape[axis];
    if (!merges) {
      loop.shape[loop.rank++] = shape[axis];
    } else {
      loop.shape[loop.rank - 1] *= shape[axis];
    }
    for (size_t n = 0; n < N; ++n)
      loop.strides[n][loop.rank - 1] = strides[n][axis];
  }
  return loop;
}

/// Whether tensor `n` of the loop is packed: its elements follow each other without gaps.
template <size_t N>
[[nodiscard]] bool runs_packed(const StridedLoop<N> &loop, size_t n, size_t element_size) {
  return loop.rank == 0 || (loop.rank == 1 && loop.strides[n][0] == element_size);
}

/// Calls `row(pointers, steps, count)` for each innermost row, in row-major order: `pointers` are
/// the row's first elements, `steps` the bytes from element to element.
template <size_t N, typename Row>
void for_each_row(const StridedLoop<N> &loop, std::array<std::byte *, N> base, Row &&row) {
  if (loop.count == 0)
    return;
  std::array<size_t, N> steps{};
  if (loop.rank == 0) {
    row(base, steps, size_t{1});
    return;
  }
  const uint32_t inner = loop.rank - 1;
  for (size_t n = 0; n < N; ++n)
    steps[n] = loop.strides[n][inner];
  uint64_t at[max_rank] = {};
  while (true) {
    row(base, steps, static_cast<size_t>(loop.shape[inner]));
    uint32_t axis = inner;
    while (axis-- > 0) {
      for (size_t n = 0; n < N; ++n)
        base[n] += loop.strides[n][axis];
      if (++at[axis] < loop.shape[axis])
        break;
      for (size_t n = 0; n < N; ++n)
        base[n] -= loop.strides[n][axis] * loop.shape[axis];
      at[axis] = 0;
    }
    if (axis == UINT32_MAX)
      return;  // every axis has turned over
  }
}

}  // namespace holoflow::tasks
