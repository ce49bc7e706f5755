// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel of Filter2D's mask.
#include <algorithm>

#include "curaii/cuda.hh"
#include "holoflow/tasks/filter2d/mask_kernel.hh"

namespace holoflow::tasks {

namespace {

constexpr unsigned block_size = 256;
constexpr size_t most_rows_of_blocks = 65535;  // CUDA's limit of gridDim.y

// A thread serves one frequency of every gridDim.y-th picture and so reads its mask value once.
__global__ void mask_kernel(float2 *spectra, const float *mask, size_t size, size_t pictures) {
  const size_t k = static_cast<size_t>(blockIdx.x) * block_size + threadIdx.x;
  if (k >= size)
    return;
  const float factor = mask[k];
  for (size_t picture = blockIdx.y; picture < pictures; picture += gridDim.y) {
    float2 &value = spectra[picture * size + k];
    value = {value.x * factor, value.y * factor};
  }
}

}  // namespace

void apply_mask(
    float *spectra, const float *mask, size_t size, size_t pictures, CUstream_st *stream) {
  if (size == 0 || pictures == 0)
    return;
  const dim3 blocks(
      static_cast<unsigned>((size + block_size - 1) / block_size),
      static_cast<unsigned>(std::min(pictures, most_rows_of_blocks)));
  mask_kernel<<<blocks, block_size, 0, stream>>>(
      reinterpret_cast<float2 *>(spectra), mask, size, pictures);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace holoflow::tasks
