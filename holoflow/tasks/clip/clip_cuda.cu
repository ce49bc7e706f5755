// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of Clip.
#include "holoflow/tasks/clip/clip_cuda.hh"

#include "holoflow/tasks/common/map_cuda.cuh"

namespace holoflow::tasks {

void enqueue_clip(
    ClipBounds bounds, core::DType dtype, const StridedLoop<2> &loop, const std::byte *in,
    std::byte *out, cudaStream_t stream) {
  with_real_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map_cuda<T, T>(loop, in, out, bounds.op<T>(), stream);
  });
}

}  // namespace holoflow::tasks
