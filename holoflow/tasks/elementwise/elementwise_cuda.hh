// SPDX-License-Identifier: LGPL-2.1-or-later
// Element-wise functions on a GPU: what the task calls.
#pragma once

#include "curaii/cuda.hh"
#include "holoflow/tasks/elementwise/elementwise.hh"

namespace holoflow::tasks {

/// Enqueues out = function(in); operands of the loop: in, out. Throws curaii::CudaError.
void enqueue_elementwise(
    Elementwise function, core::DType dtype, const StridedLoop<2> &loop, const std::byte *in,
    std::byte *out, cudaStream_t stream);

}  // namespace holoflow::tasks
