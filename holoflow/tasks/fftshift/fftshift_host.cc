// SPDX-License-Identifier: LGPL-2.1-or-later
// Host task of FFTShift and IFFTShift: each rotated axis cuts the array in two, so the rotation is
// a handful of plain strided copies.
#include <cstring>

#include "holoflow/tasks/common/index.hh"
#include "holoflow/tasks/fftshift/fftshift.hh"

namespace holoflow::tasks {

namespace {

using core::OpResult;
using core::TDesc;

/// A part of the array that moves as a whole.
struct Box {
  size_t in_offset = 0;  // bytes from the first element
  size_t out_offset = 0;
  StridedLoop<2> loop;  // input, output
};

/// The boxes for one choice of halves: bit a of `choice` picks the part of axis a that wraps
/// around.
Box make_box(
    const TDesc &input, const TDesc &output, const std::vector<size_t> &starts, size_t choice) {
  Box box;
  std::vector<size_t> shape = input.shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (starts[axis] == 0)
      continue;
    const size_t before_wrap = shape[axis] - starts[axis];
    if ((choice >> axis & 1) == 0) {
      box.in_offset += starts[axis] * input.strides[axis];
      shape[axis] = before_wrap;
    } else {
      box.out_offset += before_wrap * output.strides[axis];
      shape[axis] = starts[axis];
    }
  }
  box.loop = make_loop<2>(shape, {input.strides, output.strides});
  return box;
}

std::vector<Box> make_boxes(
    const TDesc &input, const TDesc &output, const std::vector<size_t> &starts) {
  std::vector<Box> boxes;
  for (size_t choice = 0; choice < size_t{1} << starts.size(); ++choice) {
    bool exists = true;  // axes that stay have one part only
    for (size_t axis = 0; axis < starts.size(); ++axis)
      exists = exists && (starts[axis] != 0 || (choice >> axis & 1) == 0);
    if (exists)
      boxes.push_back(make_box(input, output, starts, choice));
  }
  return boxes;
}

void copy_row(
    std::byte *in, std::byte *out, size_t in_step, size_t out_step, size_t count, size_t size) {
  if (in_step == size && out_step == size) {
    std::memcpy(out, in, count * size);
    return;
  }
  for (size_t i = 0; i < count; ++i)
    std::memcpy(out + i * out_step, in + i * in_step, size);
}

class HostShiftTask final : public core::ISyncTask {
public:
  HostShiftTask(std::vector<Box> boxes, size_t element_size)
      : boxes_(std::move(boxes)), element_size_(element_size) {}

  OpResult execute(core::SyncCtx &ctx) override {
    std::byte *in = ctx.inputs[0].data();
    std::byte *out = ctx.outputs[0].data();
    for (const Box &box : boxes_) {
      for_each_row<2>(
          box.loop, {in + box.in_offset, out + box.out_offset},
          [this](const auto &pointers, const auto &steps, size_t count) {
            copy_row(pointers[0], pointers[1], steps[0], steps[1], count, element_size_);
          });
    }
    return OpResult::Ok;
  }

private:
  std::vector<Box> boxes_;
  size_t element_size_;
};

}  // namespace

std::unique_ptr<core::ISyncTask> make_shift_host(
    const MakeArgs<core::SyncCreateCtx> &args, const std::vector<size_t> &starts) {
  const TDesc &input = args.inputs[0];
  return std::make_unique<HostShiftTask>(
      make_boxes(input, args.infer.output_descs[0], starts), size_of(input.dtype));
}

}  // namespace holoflow::tasks
