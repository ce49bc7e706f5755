// SPDX-License-Identifier: LGPL-2.1-or-later
// Element-wise kernels: a vectorised one for packed tensors, an indexed one for any strides.
#pragma once

#include <algorithm>

#include "curaii/cuda.hh"
#include "holoflow/tasks/common/index.hh"

namespace holoflow::tasks {

inline constexpr unsigned threads_per_block = 256;

/// Blocks for `items` threads' worth of work; kernels stride over what exceeds the grid.
inline unsigned blocks_for(uint64_t items) {
  constexpr uint64_t most = 1u << 30;
  return static_cast<unsigned>(
      std::clamp<uint64_t>((items + threads_per_block - 1) / threads_per_block, 1, most));
}

/// `width` elements that one thread reads or writes with one instruction.
template <typename T, int width> struct alignas(sizeof(T) * width) Pack { T item[width]; };

template <typename T, int width> bool is_aligned(const void *ptr) {
  return reinterpret_cast<uintptr_t>(ptr) % alignof(Pack<T, width>) == 0;
}

/// Elements per thread: at most 16 bytes of the widest type, at most 8 elements.
template <typename... T> constexpr int pack_width() {
  return static_cast<int>(std::min<size_t>(8, 16 / std::max({sizeof(T)...})));
}

__device__ inline uint64_t thread_index() {
  return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline uint64_t thread_count() {
  return static_cast<uint64_t>(gridDim.x) * blockDim.x;
}

/// Byte offsets of an element; 32-bit division wherever the loop is small enough.
template <size_t N>
__device__ void element_offsets(const StridedLoop<N> &loop, uint64_t index, uint64_t (&out)[N]) {
  if (loop.small) {
    loop.offsets(static_cast<uint32_t>(index), out);
  } else {
    loop.offsets(index, out);
  }
}

template <int width, typename In, typename Out, typename Op>
__global__ void map_packed(const In *in, Out *out, uint64_t count, Op op) {
  const uint64_t packs = count / width;
  for (uint64_t i = thread_index(); i < packs; i += thread_count()) {
    const auto from = reinterpret_cast<const Pack<In, width> *>(in)[i];
    Pack<Out, width> to;
#pragma unroll
    for (int k = 0; k < width; ++k)
      to.item[k] = op(from.item[k]);
    reinterpret_cast<Pack<Out, width> *>(out)[i] = to;
  }
  for (uint64_t i = packs * width + thread_index(); i < count; i += thread_count())
    out[i] = op(in[i]);
}

template <typename In, typename Out, typename Op>
__global__ void map_strided(StridedLoop<2> loop, const std::byte *in, std::byte *out, Op op) {
  for (uint64_t i = thread_index(); i < loop.count; i += thread_count()) {
    uint64_t at[2];
    element_offsets(loop, i, at);
    *reinterpret_cast<Out *>(out + at[1]) = op(*reinterpret_cast<const In *>(in + at[0]));
  }
}

/// Enqueues out = op(in); operands of the loop: in, out.
template <typename In, typename Out, typename Op>
void map_cuda(
    const StridedLoop<2> &loop, const std::byte *in, std::byte *out, Op op, cudaStream_t stream) {
  if (loop.count == 0)
    return;
  constexpr int width = pack_width<In, Out>();
  const bool packed = runs_packed(loop, 0, sizeof(In)) && runs_packed(loop, 1, sizeof(Out));
  if (packed && is_aligned<In, width>(in) && is_aligned<Out, width>(out)) {
    map_packed<width>
        <<<blocks_for((loop.count + width - 1) / width), threads_per_block, 0, stream>>>(
            reinterpret_cast<const In *>(in), reinterpret_cast<Out *>(out), loop.count, op);
  } else {
    map_strided<In, Out>
        <<<blocks_for(loop.count), threads_per_block, 0, stream>>>(loop, in, out, op);
  }
  CUDA_CHECK(cudaGetLastError());
}

template <int width, typename A, typename B, typename Out, typename Op>
__global__ void map_packed(const A *a, const B *b, Out *out, uint64_t count, Op op) {
  const uint64_t packs = count / width;
  for (uint64_t i = thread_index(); i < packs; i += thread_count()) {
    const auto left = reinterpret_cast<const Pack<A, width> *>(a)[i];
    const auto right = reinterpret_cast<const Pack<B, width> *>(b)[i];
    Pack<Out, width> to;
#pragma unroll
    for (int k = 0; k < width; ++k)
      to.item[k] = op(left.item[k], right.item[k]);
    reinterpret_cast<Pack<Out, width> *>(out)[i] = to;
  }
  for (uint64_t i = packs * width + thread_index(); i < count; i += thread_count())
    out[i] = op(a[i], b[i]);
}

template <typename A, typename B, typename Out, typename Op>
__global__ void map_strided(
    StridedLoop<3> loop, const std::byte *a, const std::byte *b, std::byte *out, Op op) {
  for (uint64_t i = thread_index(); i < loop.count; i += thread_count()) {
    uint64_t at[3];
    element_offsets(loop, i, at);
    *reinterpret_cast<Out *>(out + at[2]) =
        op(*reinterpret_cast<const A *>(a + at[0]), *reinterpret_cast<const B *>(b + at[1]));
  }
}

/// Enqueues out = op(a, b); operands of the loop: a, b, out.
template <typename A, typename B, typename Out, typename Op>
void map_cuda(
    const StridedLoop<3> &loop, const std::byte *a, const std::byte *b, std::byte *out, Op op,
    cudaStream_t stream) {
  if (loop.count == 0)
    return;
  constexpr int width = pack_width<A, B, Out>();
  const bool packed = runs_packed(loop, 0, sizeof(A)) && runs_packed(loop, 1, sizeof(B)) &&
      runs_packed(loop, 2, sizeof(Out));
  if (packed && is_aligned<A, width>(a) && is_aligned<B, width>(b) && is_aligned<Out, width>(out)) {
    map_packed<width>
        <<<blocks_for((loop.count + width - 1) / width), threads_per_block, 0, stream>>>(
            reinterpret_cast<const A *>(a), reinterpret_cast<const B *>(b),
            reinterpret_cast<Out *>(out), loop.count, op);
  } else {
    map_strided<A, B, Out>
        <<<blocks_for(loop.count), threads_per_block, 0, stream>>>(loop, a, b, out, op);
  }
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace holoflow::tasks
