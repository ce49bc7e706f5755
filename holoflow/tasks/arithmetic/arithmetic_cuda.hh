// SPDX-License-Identifier: LGPL-2.1-or-later
// Arithmetic on a GPU: what the task calls.
#pragma once

#include "curaii/cuda.hh"
#include "holoflow/tasks/arithmetic/arithmetic.hh"

namespace holoflow::tasks {

/// Enqueues out = a op b; operands of the loop: a, b, out. Throws curaii::CudaError.
void enqueue_arithmetic(
    Arithmetic op, core::DType a_dtype, core::DType b_dtype, const StridedLoop<3> &loop,
    const std::byte *a, const std::byte *b, std::byte *out, cudaStream_t stream);

}  // namespace holoflow::tasks
