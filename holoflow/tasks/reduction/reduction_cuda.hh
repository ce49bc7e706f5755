// SPDX-License-Identifier: LGPL-2.1-or-later
// Mean, Max and Min on a GPU: what the task calls.
#pragma once

#include "curaii/cuda.hh"
#include "holoflow/tasks/reduction/reduction_plan.hh"

namespace holoflow::tasks {

/// Enqueues the reduction. `memory` is reduction_memory_bytes() of device memory. The same input
/// gives the same bits every time. Throws curaii::CudaError.
void enqueue_reduction(
    Reduction reduction, core::DType dtype, const ReductionPlan &plan, const std::byte *in,
    std::byte *out, std::byte *memory, cudaStream_t stream);

}  // namespace holoflow::tasks
