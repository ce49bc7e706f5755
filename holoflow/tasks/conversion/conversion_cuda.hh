// SPDX-License-Identifier: LGPL-2.1-or-later
// Conversion on a GPU: what the task calls.
#pragma once

#include "curaii/cuda.hh"
#include "holoflow/tasks/conversion/conversion.hh"

namespace holoflow::tasks {

/// Enqueues Real, Modulus or Argument; operands of the loop: in, out. Throws curaii::CudaError.
void enqueue_conversion(
    Strategy strategy, core::DType from, core::DType to, const StridedLoop<2> &loop,
    const std::byte *in, std::byte *out, cudaStream_t stream);

/// Enqueues Scaled to U8 or U16 with a range in device memory. Throws curaii::CudaError.
void enqueue_scaled(
    core::DType from, core::DType to, const StridedLoop<2> &loop, const std::byte *in,
    const MinMax *range, std::byte *out, cudaStream_t stream);

}  // namespace holoflow::tasks
