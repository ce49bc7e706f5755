// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel that makes half spectra Hermitian.
#include "holoflow/tasks/common/map_cuda.cuh"
#include "holoflow/tasks/fft/half_spectrum.hh"

namespace holoflow::tasks {

namespace {

/// One thread per pair of rows that mirror each other; it alone reads and writes both elements.
__global__ void make_hermitian_kernel(HalfSpectrumEdges edges, uint64_t pairs, float2 *spectra) {
  const uint64_t columns = edges.last_column != 0 ? 2 : 1;
  for (uint64_t i = thread_index(); i < edges.batch * pairs * columns; i += thread_count()) {
    const uint64_t item = i % edges.batch;
    const uint64_t row = i / edges.batch % pairs;
    const uint64_t column = i / edges.batch / pairs * edges.last_column;
    const uint64_t mirrored = row == 0 ? 0 : edges.rows - row;
    float2 *first = spectra + item * edges.batch_stride + column;
    float2 *a = first + row * edges.row_stride;
    float2 *b = first + mirrored * edges.row_stride;
    if (a == b) {
      a->y = 0;  // whatever it was, also NaN
      continue;
    }
    const float2 x = *a;
    const float2 y = *b;
    // Halved before they are added, so that no sum overflows.
    const float re = 0.5F * x.x + 0.5F * y.x;
    const float im = 0.5F * x.y - 0.5F * y.y;
    *a = {re, im};
    *b = {re, -im};
  }
}

}  // namespace

void make_hermitian(const HalfSpectrumEdges &edges, float *spectra, CUstream_st *stream) {
  const uint64_t pairs = edges.rows / 2 + 1;
  const uint64_t columns = edges.last_column != 0 ? 2 : 1;
  if (edges.batch == 0)
    return;
  make_hermitian_kernel<<<
      blocks_for(edges.batch * pairs * columns), threads_per_block, 0, stream>>>(
      edges, pairs, reinterpret_cast<float2 *>(spectra));
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace holoflow::tasks
