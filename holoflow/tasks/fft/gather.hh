// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads a strided device array in any axis order into a packed one, converting, scaling and
// appending zeros on the way.
#pragma once

#include "holoflow/tasks/common/index.hh"

struct CUstream_st;

namespace holoflow::tasks {

/// Where element i of a packed row-major array comes from: see TransformOrder.
using GatherLoop = StridedLoop<1>;

/// out[i] = in[loop(i)] · scale, enqueued on the stream. `in` may be `out` where the loop is one
/// packed run. Throws curaii::CudaError.
void gather_real(
    const GatherLoop &loop, const float *in, float *out, float scale, CUstream_st *stream);
/// The imaginary part is 0. Complex arrays are pairs of floats, 8-byte aligned.
void gather_real_to_complex(
    const GatherLoop &loop, const float *in, float *out, float scale, CUstream_st *stream);
void gather_complex(
    const GatherLoop &loop, const float *in, float *out, float scale, CUstream_st *stream);
/// Drops imaginary parts.
void gather_real_part(
    const GatherLoop &loop, const float *in, float *out, float scale, CUstream_st *stream);

/// The same into a part of an array of `out_bytes`, all else of which becomes 0. Operands of the
/// loop: in, out.
void pad_real(
    const StridedLoop<2> &loop, const float *in, float *out, size_t out_bytes, float scale,
    CUstream_st *stream);
void pad_real_to_complex(
    const StridedLoop<2> &loop, const float *in, float *out, size_t out_bytes, float scale,
    CUstream_st *stream);
void pad_complex(
    const StridedLoop<2> &loop, const float *in, float *out, size_t out_bytes, float scale,
    CUstream_st *stream);

}  // namespace holoflow::tasks
