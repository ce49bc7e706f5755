// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the elements of a tensor lie once the axes to transform have become neighbours.
#pragma once

#include <optional>
#include <vector>

#include "holoflow/core/tensor.hh"
#include "holoflow/tasks/common/index.hh"

namespace holoflow::tasks {

/// Where the axes that are not transformed stand in cuFFT's array.
enum class BatchPlace {
  First,  ///< [batch, lengths…]: transforms lie one behind the other
  Last,  ///< [lengths…, batch]: transforms lie side by side
};

/// cuFFT wants packed arrays. This says what a tensor looks like as one, how to get there and back,
/// and where nothing has to be moved.
struct TransformOrder {
  std::vector<size_t> lengths;  ///< of the transformed axes, in the order they were named
  size_t batch = 1;  ///< product of the others
  BatchPlace batch_place = BatchPlace::First;
  bool fills_array = true;  ///< false: the array has zeros behind the input's elements
  StridedLoop<1> from_input;  ///< where it fills the array: its element i in the input
  StridedLoop<2> into_array;  ///< elements of the input: their places there and in the array
  StridedLoop<1> to_output;  ///< element i of the output in the transformed array
  bool input_is_in_order = false;  ///< the input is that packed array already
  bool output_is_in_order = false;  ///< the transformed array is the output already
};

struct TransformLayout {
  BatchPlace batch_place = BatchPlace::First;
  std::vector<size_t> array_shape = {};  ///< in the input's axes; empty: the input's shape
  std::optional<core::DType> array_dtype = {};  ///< missing: the output's
};

/// `output` is packed; the transformed array has its shape and elements, in another order. A length
/// is that of the longer side, as half a spectrum stands for more than it holds.
[[nodiscard]] TransformOrder make_transform_order(
    const core::TDesc &input, const core::TDesc &output, const std::vector<size_t> &axes,
    const TransformLayout &layout = {});

}  // namespace holoflow::tasks
