// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels that pack strided views for cuFFT.
#include "curaii/cuda.hh"
#include "holoflow/tasks/common/map_cuda.cuh"
#include "holoflow/tasks/fft/gather.hh"

namespace holoflow::tasks {

namespace {

constexpr unsigned block_size = 256;

__device__ float convert(float value, float scale, float) {
  return value * scale;
}
__device__ float2 convert(float value, float scale, float2) {
  return {value * scale, 0.0F};
}
__device__ float2 convert(float2 value, float scale, float2) {
  return {value.x * scale, value.y * scale};
}
__device__ float convert(float2 value, float scale, float) {
  return value.x * scale;
}

template <typename Out> struct ScaleTo {
  float scale;

  template <typename In> __device__ Out operator()(In value) const {
    return convert(value, scale, Out{});
  }
};

// Index is 32 bits wide where the array allows: 64-bit divisions are several times slower.
template <typename In, typename Out, typename Index>
__global__ void gather_kernel(GatherLoop loop, const char *in, Out *out, float scale) {
  const Index i = static_cast<Index>(blockIdx.x) * block_size + threadIdx.x;
  if (i >= loop.count)
    return;
  Index rest = i;
  uint64_t offset = 0;
  for (uint32_t axis = loop.rank; axis-- > 1;) {
    const Index extent = static_cast<Index>(loop.shape[axis]);
    const Index above = rest / extent;
    offset += static_cast<uint64_t>(rest - above * extent) * loop.strides[0][axis];
    rest = above;
  }
  offset += static_cast<uint64_t>(rest) * loop.strides[0][0];  // rank 0: rest is 0
  out[i] = convert(*reinterpret_cast<const In *>(in + offset), scale, Out{});
}

template <typename In, typename Out>
void gather(const GatherLoop &loop, const float *in, float *out, float scale, cudaStream_t stream) {
  if (loop.count == 0)
    return;
  const auto blocks = static_cast<unsigned>((loop.count + block_size - 1) / block_size);
  const auto *bytes = reinterpret_cast<const char *>(in);
  auto *elements = reinterpret_cast<Out *>(out);
  if (loop.small) {
    gather_kernel<In, Out, uint32_t>
        <<<blocks, block_size, 0, stream>>>(loop, bytes, elements, scale);
  } else {
    gather_kernel<In, Out, uint64_t>
        <<<blocks, block_size, 0, stream>>>(loop, bytes, elements, scale);
  }
  CUDA_CHECK(cudaGetLastError());
}

template <typename In, typename Out>
void pad(
    const StridedLoop<2> &loop, const float *in, float *out, size_t out_bytes, float scale,
    cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(out, 0, out_bytes, stream));
  map_cuda<In, Out>(
      loop, reinterpret_cast<const std::byte *>(in), reinterpret_cast<std::byte *>(out),
      ScaleTo<Out>{scale}, stream);
}

}  // namespace

void gather_real(
    const GatherLoop &loop, const float *in, float *out, float scale, CUstream_st *stream) {
  gather<float, float>(loop, in, out, scale, stream);
}

void gather_real_to_complex(
    const GatherLoop &loop, const float *in, float *out, float scale, CUstream_st *stream) {
  gather<float, float2>(loop, in, out, scale, stream);
}

void gather_complex(
    const GatherLoop &loop, const float *in, float *out, float scale, CUstream_st *stream) {
  gather<float2, float2>(loop, in, out, scale, stream);
}

void gather_real_part(
    const GatherLoop &loop, const float *in, float *out, float scale, CUstream_st *stream) {
  gather<float2, float>(loop, in, out, scale, stream);
}

void pad_real(
    const StridedLoop<2> &loop, const float *in, float *out, size_t out_bytes, float scale,
    CUstream_st *stream) {
  pad<float, float>(loop, in, out, out_bytes, scale, stream);
}

void pad_real_to_complex(
    const StridedLoop<2> &loop, const float *in, float *out, size_t out_bytes, float scale,
    CUstream_st *stream) {
  pad<float, float2>(loop, in, out, out_bytes, scale, stream);
}

void pad_complex(
    const StridedLoop<2> &loop, const float *in, float *out, size_t out_bytes, float scale,
    CUstream_st *stream) {
  pad<float2, float2>(loop, in, out, out_bytes, scale, stream);
}

}  // namespace holoflow::tasks
