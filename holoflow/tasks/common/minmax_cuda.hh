// SPDX-License-Identifier: LGPL-2.1-or-later
// Smallest and largest finite value of each group, on a GPU.
#pragma once

#include "curaii/cuda.hh"
#include "holoflow/tasks/common/minmax.hh"

namespace holoflow::tasks {

/// Enqueues the ranges of all groups into `memory` (minmax_memory_bytes(plan) of device memory),
/// whose first `plan.groups` elements are the results. The host waits for nothing. Throws
/// curaii::CudaError.
void enqueue_minmax(
    const GroupPlan &plan, core::DType dtype, const std::byte *in, MinMax *memory,
    cudaStream_t stream);

}  // namespace holoflow::tasks
