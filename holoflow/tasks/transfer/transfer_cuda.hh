// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies of views on the device, for tasks of the CUDA module.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "holoflow/core/tensor.hh"

namespace holoflow::tasks {

/// Enqueues a copy of a Device view into packed Device memory. Throws curaii::CudaError.
void pack_on_device(
    const core::TDesc &from_desc, const std::byte *from, std::byte *to, cudaStream_t stream);

}  // namespace holoflow::tasks
