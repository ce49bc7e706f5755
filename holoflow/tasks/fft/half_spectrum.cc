// SPDX-License-Identifier: LGPL-2.1-or-later
// Where half spectra mirror themselves.
#include "holoflow/tasks/fft/half_spectrum.hh"

namespace holoflow::tasks {

HalfSpectrumEdges half_spectrum_edges(
    const std::vector<size_t> &lengths, size_t batch, BatchPlace batch_place) {
  const uint64_t length = lengths.back();
  const uint64_t columns = length / 2 + 1;
  HalfSpectrumEdges edges;
  edges.batch = batch;
  edges.rows = lengths.size() > 1 ? lengths[0] : 1;
  const bool first = batch_place == BatchPlace::First;
  const uint64_t column_stride = first ? 1 : batch;
  edges.row_stride = columns * column_stride;
  edges.batch_stride = first ? edges.rows * columns : 1;
  edges.last_column = length % 2 == 0 ? length / 2 * column_stride : 0;
  return edges;
}

}  // namespace holoflow::tasks
