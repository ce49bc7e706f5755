// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the elements of a tensor lie once the axes to transform have become its last ones.
#pragma once

#include <vector>

#include "holoflow/core/tensor.hh"
#include "holoflow/tasks/common/index.hh"

namespace holoflow::tasks {

/// cuFFT wants packed arrays [batch, lengths…]. This says what a tensor looks like as one, how to
/// get there and back, and where nothing has to be moved.
struct TransformOrder {
  std::vector<size_t> lengths;  ///< of the transformed axes, in the order they were named
  size_t batch = 1;  ///< product of the others
  StridedLoop<1> from_input;  ///< element i of the packed array in the input
  StridedLoop<1> to_output;  ///< element i of the output in the packed array
  bool input_is_in_order = false;  ///< the input is that packed array already
  bool output_is_in_order = false;  ///< the packed array is the output already
};

/// `output` is packed and has the input's shape; the packed array has its element type.
[[nodiscard]] TransformOrder make_transform_order(
    const core::TDesc &input, const core::TDesc &output, const std::vector<size_t> &axes);

}  // namespace holoflow::tasks
