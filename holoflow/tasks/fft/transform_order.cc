// SPDX-License-Identifier: LGPL-2.1-or-later
// Works out the loops that bring transformed axes to the end and back.
#include "holoflow/tasks/fft/transform_order.hh"

#include "holoflow/tasks/common/axes.hh"

namespace holoflow::tasks {

TransformOrder make_transform_order(
    const core::TDesc &input, const core::TDesc &output, const std::vector<size_t> &axes) {
  TransformOrder result;
  std::vector<size_t> order = other_axes(axes, input.rank());
  for (const size_t axis : order)
    result.batch *= input.shape[axis];
  for (const size_t axis : axes) {
    result.lengths.push_back(input.shape[axis]);
    order.push_back(axis);
  }

  std::vector<size_t> shape, strides;
  for (const size_t axis : order) {
    shape.push_back(input.shape[axis]);
    strides.push_back(input.strides[axis]);
  }
  result.from_input = make_loop<1>(shape, {strides});
  result.input_is_in_order = runs_packed(result.from_input, 0, size_of(input.dtype));

  const std::vector<size_t> packed = core::packed_strides(shape, output.dtype);
  std::vector<size_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    back[order[i]] = packed[i];
  result.to_output = make_loop<1>(output.shape, {back});
  result.output_is_in_order = runs_packed(result.to_output, 0, size_of(output.dtype));
  return result;
}

}  // namespace holoflow::tasks
