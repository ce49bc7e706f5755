// SPDX-License-Identifier: LGPL-2.1-or-later
// Works out the loops that make neighbours of the transformed axes, and back.
#include "holoflow/tasks/fft/transform_order.hh"

#include <algorithm>

#include "holoflow/tasks/common/axes.hh"

namespace holoflow::tasks {

namespace {

/// The order of axes in the array.
std::vector<size_t> array_axes(
    const std::vector<size_t> &axes, const std::vector<size_t> &others, BatchPlace place) {
  std::vector<size_t> order = place == BatchPlace::First ? others : axes;
  const std::vector<size_t> &behind = place == BatchPlace::First ? axes : others;
  order.insert(order.end(), behind.begin(), behind.end());
  return order;
}

}  // namespace

TransformOrder make_transform_order(
    const core::TDesc &input, const core::TDesc &output, const std::vector<size_t> &axes,
    const TransformLayout &layout) {
  const std::vector<size_t> &array_shape =
      layout.array_shape.empty() ? input.shape : layout.array_shape;
  const std::vector<size_t> others = other_axes(axes, input.rank());
  const std::vector<size_t> order = array_axes(axes, others, layout.batch_place);
  TransformOrder result;
  result.batch_place = layout.batch_place;
  for (const size_t axis : others)
    result.batch *= array_shape[axis];
  for (const size_t axis : axes)
    result.lengths.push_back(std::max(array_shape[axis], output.shape[axis]));

  const std::vector<size_t> shape = pick_axes(input.shape, order);
  const std::vector<size_t> strides = pick_axes(input.strides, order);
  const core::DType array_dtype = layout.array_dtype.value_or(output.dtype);
  result.fills_array = array_shape == input.shape;
  result.from_input = make_loop<1>(shape, {strides});
  result.into_array = make_loop<2>(
      shape, {strides, core::packed_strides(pick_axes(array_shape, order), array_dtype)});
  result.input_is_in_order =
      result.fills_array && runs_packed(result.from_input, 0, size_of(input.dtype));

  const std::vector<size_t> packed =
      core::packed_strides(pick_axes(output.shape, order), output.dtype);
  std::vector<size_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    back[order[i]] = packed[i];
  result.to_output = make_loop<1>(output.shape, {back});
  result.output_is_in_order = runs_packed(result.to_output, 0, size_of(output.dtype));
  return result;
}

}  // namespace holoflow::tasks
