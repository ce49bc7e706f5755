// SPDX-License-Identifier: LGPL-2.1-or-later
// Normalize on a GPU: what the task calls.
#pragma once

#include "curaii/cuda.hh"
#include "holoflow/tasks/normalize/normalize.hh"

namespace holoflow::tasks {

/// Enqueue the mapping, with one range for all elements (operands of the loop: in, out) …
void enqueue_normalize(
    NormalizeOp op, core::DType dtype, const StridedLoop<2> &loop, const std::byte *in,
    const MinMax *range, std::byte *out, cudaStream_t stream);
/// … or with one per group (operands: in, ranges, out). Ranges are in device memory. Throw
/// curaii::CudaError.
void enqueue_normalize(
    NormalizeOp op, core::DType dtype, const StridedLoop<3> &loop, const std::byte *in,
    const MinMax *ranges, std::byte *out, cudaStream_t stream);

}  // namespace holoflow::tasks
