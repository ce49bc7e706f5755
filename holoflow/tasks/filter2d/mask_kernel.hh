// SPDX-License-Identifier: LGPL-2.1-or-later
// The device side of Filter2D's mask.
#pragma once

#include <cstddef>

struct CUstream_st;

namespace holoflow::tasks {

/// spectra[p, k] *= mask[k] for `pictures` packed spectra of `size` complex numbers, enqueued on
/// the stream. Throws curaii::CudaError.
void apply_mask(
    float *spectra, const float *mask, size_t size, size_t pictures, CUstream_st *stream);

}  // namespace holoflow::tasks
