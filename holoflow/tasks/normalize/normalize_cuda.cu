// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of Normalize.
#include "holoflow/tasks/normalize/normalize_cuda.hh"

#include "holoflow/tasks/common/map_cuda.cuh"

namespace holoflow::tasks {
namespace {

struct NormalizeByRange {
  NormalizeOp op;
  const MinMax *range;

  template <typename In> __device__ float operator()(In x) const { return op(x, *range); }
};

}  // namespace

void enqueue_normalize(
    NormalizeOp op, core::DType dtype, const StridedLoop<2> &loop, const std::byte *in,
    const MinMax *range, std::byte *out, cudaStream_t stream) {
  with_type(dtype, [&](auto tag) {
    using In = typename decltype(tag)::type;
    map_cuda<In, float>(loop, in, out, NormalizeByRange{op, range}, stream);
  });
}

void enqueue_normalize(
    NormalizeOp op, core::DType dtype, const StridedLoop<3> &loop, const std::byte *in,
    const MinMax *ranges, std::byte *out, cudaStream_t stream) {
  with_type(dtype, [&](auto tag) {
    using In = typename decltype(tag)::type;
    map_cuda<In, MinMax, float>(
        loop, in, reinterpret_cast<const std::byte *>(ranges), out, op, stream);
  });
}

}  // namespace holoflow::tasks
