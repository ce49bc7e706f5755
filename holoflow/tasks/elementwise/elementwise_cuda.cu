// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of the element-wise tasks.
#include "holoflow/tasks/common/map_cuda.cuh"
#include "holoflow/tasks/elementwise/elementwise_cuda.hh"

namespace holoflow::tasks {

void enqueue_elementwise(
    Elementwise function, core::DType dtype, const StridedLoop<2> &loop, const std::byte *in,
    std::byte *out, cudaStream_t stream) {
  with_elementwise(function, dtype, [&](auto op, auto tag) {
    using In = typename decltype(tag)::type;
    map_cuda<In, decltype(op(In{}))>(loop, in, out, op, stream);
  });
}

}  // namespace holoflow::tasks
