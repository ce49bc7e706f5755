// SPDX-License-Identifier: LGPL-2.1-or-later
// Clip on a GPU: what the task calls.
#pragma once

#include "curaii/cuda.hh"
#include "holoflow/tasks/clip/clip.hh"

namespace holoflow::tasks {

/// Enqueues out = min(max(in, lo), hi); operands of the loop: in, out. Throws curaii::CudaError.
void enqueue_clip(
    ClipBounds bounds, core::DType dtype, const StridedLoop<2> &loop, const std::byte *in,
    std::byte *out, cudaStream_t stream);

}  // namespace holoflow::tasks
