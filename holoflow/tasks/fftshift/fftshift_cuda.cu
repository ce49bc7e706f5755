// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel of FFTShift and IFFTShift.
#include <stdexcept>

#include "curaii/cuda.hh"
#include "holoflow/tasks/fftshift/shift_kernel.hh"

namespace holoflow::tasks {

namespace {

constexpr unsigned block_size = 256;

// Index is 32 bits wide where the array allows: 64-bit divisions are several times slower.
template <typename Element, typename Index>
__global__ void shift_kernel(ShiftLoop loop, const char *in, Element *out) {
  const Index i = static_cast<Index>(blockIdx.x) * block_size + threadIdx.x;
  if (i >= loop.count)
    return;
  Index rest = i;
  uint64_t offset = 0;
  for (uint32_t axis = loop.rank; axis-- > 0;) {
    const Index extent = static_cast<Index>(loop.shape[axis]);
    const Index above = rest / extent;
    uint64_t at = rest - above * extent + loop.starts[axis];
    if (at >= extent)
      at -= extent;
    offset += at * loop.strides[axis];
    rest = above;
  }
  out[i] = *reinterpret_cast<const Element *>(in + offset);
}

template <typename Element>
void launch(const ShiftLoop &loop, const std::byte *in, std::byte *out, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((loop.count + block_size - 1) / block_size);
  const auto *bytes = reinterpret_cast<const char *>(in);
  auto *elements = reinterpret_cast<Element *>(out);
  if (loop.count <= UINT32_MAX) {
    shift_kernel<Element, uint32_t><<<blocks, block_size, 0, stream>>>(loop, bytes, elements);
  } else {
    shift_kernel<Element, uint64_t><<<blocks, block_size, 0, stream>>>(loop, bytes, elements);
  }
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_shift(
    const ShiftLoop &loop, const std::byte *in, std::byte *out, size_t element_size,
    CUstream_st *stream) {
  if (loop.count == 0)
    return;
  switch (element_size) {
  case 1:
    return launch<uint8_t>(loop, in, out, stream);
  case 2:
    return launch<uint16_t>(loop, in, out, stream);
  case 4:
    return launch<uint32_t>(loop, in, out, stream);
  case 8:
    return launch<uint2>(loop, in, out, stream);
  default:
    throw std::logic_error("internal error: no rotation for elements of this size");
  }
}

}  // namespace holoflow::tasks
