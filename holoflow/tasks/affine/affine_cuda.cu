// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of Affine.
#include "holoflow/tasks/affine/affine_cuda.hh"
#include "holoflow/tasks/common/map_cuda.cuh"

namespace holoflow::tasks {
namespace {

struct AffineByValue {
  AffineCoefficients coefficients;

  template <typename In> __device__ AffineOut<In> operator()(In x) const {
    return AffineOp{}(x, coefficients);
  }
};

}  // namespace

void enqueue_affine(
    core::DType dtype, const StridedLoop<2> &loop, const std::byte *in,
    AffineCoefficients coefficients, std::byte *out, cudaStream_t stream) {
  with_type(dtype, [&](auto tag) {
    using In = typename decltype(tag)::type;
    map_cuda<In, AffineOut<In>>(loop, in, out, AffineByValue{coefficients}, stream);
  });
}

void enqueue_affine(
    core::DType dtype, const StridedLoop<3> &loop, const std::byte *in, const std::byte *table,
    std::byte *out, cudaStream_t stream) {
  with_type(dtype, [&](auto tag) {
    using In = typename decltype(tag)::type;
    map_cuda<In, AffineCoefficients, AffineOut<In>>(loop, in, table, out, AffineOp{}, stream);
  });
}

}  // namespace holoflow::tasks
