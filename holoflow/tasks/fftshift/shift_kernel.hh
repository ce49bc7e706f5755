// SPDX-License-Identifier: LGPL-2.1-or-later
// The device side of FFTShift and IFFTShift.
#pragma once

#include <cstddef>
#include <cstdint>

#include "holoflow/tasks/common/index.hh"

struct CUstream_st;

namespace holoflow::tasks {

/// Output element (i0, i1, …), packed row-major, reads the input at ((i0 + start0) mod n0, …).
struct ShiftLoop {
  uint64_t count = 0;  ///< elements in all
  uint32_t rank = 0;
  uint64_t shape[max_rank] = {};
  uint64_t starts[max_rank] = {};
  uint64_t strides[max_rank] = {};  ///< of the input, in bytes
};

/// Enqueues the rotation for elements of 1, 2, 4 or 8 bytes. Throws curaii::CudaError.
void launch_shift(
    const ShiftLoop &loop, const std::byte *in, std::byte *out, size_t element_size,
    CUstream_st *stream);

}  // namespace holoflow::tasks
