// SPDX-License-Identifier: LGPL-2.1-or-later
// What the CUDA module offers beside the entries of every module (holoflow/core/module.hh).
#pragma once

#include <cstddef>

#include "holoflow/runtime/device.hh"

namespace holoflow::runtime {

/// Signature of the module's `holoflow_cuda_device`: the GPU with that ordinal (-1: the first),
/// owned by the module for the life of the process. Null where there is none; `why` (of `why_bytes`
/// bytes) then holds a sentence that names what is missing. Safe from any thread.
using CudaDeviceEntry = Device *(*)(int index, char *why, size_t why_bytes) noexcept;

}  // namespace holoflow::runtime
