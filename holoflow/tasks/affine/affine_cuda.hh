// SPDX-License-Identifier: LGPL-2.1-or-later
// Affine on a GPU: what the task calls.
#pragma once

#include "curaii/cuda.hh"
#include "holoflow/tasks/affine/affine.hh"

namespace holoflow::tasks {

/// Enqueue out = in · scale + offset with one pair of coefficients (operands of the loop: in, out)
/// …
void enqueue_affine(
    core::DType dtype, const StridedLoop<2> &loop, const std::byte *in,
    AffineCoefficients coefficients, std::byte *out, cudaStream_t stream);
/// … or with a table in device memory (operands: in, coefficients, out). Throw curaii::CudaError.
void enqueue_affine(
    core::DType dtype, const StridedLoop<3> &loop, const std::byte *in, const std::byte *table,
    std::byte *out, cudaStream_t stream);

}  // namespace holoflow::tasks
