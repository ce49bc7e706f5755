// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes half spectra on a GPU fit for cuFFT's transform to real numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "holoflow/tasks/fft/transform_order.hh"

struct CUstream_st;

namespace holoflow::tasks {

/// Where the elements that mirror each other lie in a packed array of half spectra, in elements:
/// rows × columns for each of the batch. Only the first column, and the last one of an even length,
/// mirror themselves.
struct HalfSpectrumEdges {
  uint64_t batch = 1;
  uint64_t rows = 1;
  uint64_t batch_stride = 0;
  uint64_t row_stride = 0;
  uint64_t last_column = 0;  ///< offset of the column in the middle of an even length, else 0
};

/// For the lengths of one or two transformed axes, the last one halved.
[[nodiscard]] HalfSpectrumEdges half_spectrum_edges(
    const std::vector<size_t> &lengths, size_t batch, BatchPlace batch_place);

/// X[k] becomes (X[k] + conj(X[−k])) / 2 in the columns that mirror themselves: what NumPy computes
/// by leaving out imaginary parts there, while cuFFT's result is undefined for other spectra.
/// Enqueued on the stream. Throws curaii::CudaError.
void make_hermitian(const HalfSpectrumEdges &edges, float *spectra, CUstream_st *stream);

}  // namespace holoflow::tasks
