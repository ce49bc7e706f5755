// SPDX-License-Identifier: LGPL-2.1-or-later
// Device task of FFTShift and IFFTShift.
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/fftshift/fftshift.hh"
#include "holoflow/tasks/fftshift/shift_kernel.hh"

namespace holoflow::tasks {

namespace {

using core::OpResult;
using core::TDesc;

ShiftLoop make_shift_loop(const TDesc &input, const std::vector<size_t> &starts) {
  ShiftLoop loop;
  loop.count = input.num_elements();
  for (size_t axis = 0; axis < input.rank(); ++axis) {
    if (input.shape[axis] == 1)
      continue;
    loop.shape[loop.rank] = input.shape[axis];
    loop.starts[loop.rank] = starts[axis];
    loop.strides[loop.rank] = input.strides[axis];
    ++loop.rank;
  }
  return loop;
}

class DeviceShiftTask final : public core::ISyncTask {
public:
  DeviceShiftTask(const ShiftLoop &loop, size_t element_size, cudaStream_t stream)
      : loop_(loop), element_size_(element_size), stream_(stream) {}

  OpResult execute(core::SyncCtx &ctx) override {
    launch_shift(loop_, ctx.inputs[0].data(), ctx.outputs[0].data(), element_size_, stream_);
    return OpResult::Ok;
  }

private:
  ShiftLoop loop_;
  size_t element_size_;
  cudaStream_t stream_;
};

SyncMaker shift_maker(ShiftDirection direction) {
  return [direction](const MakeArgs<core::SyncCreateCtx> &args) {
    const TDesc &input = args.inputs[0];
    const std::vector<size_t> starts = shift_starts(input, args.params, direction);
    return std::make_unique<DeviceShiftTask>(
        make_shift_loop(input, starts), size_of(input.dtype), args.ctx.stream);
  };
}

}  // namespace

void register_fftshift_cuda(core::Registry &registry) {
  add_device_maker(registry, "FFTShift", shift_maker(ShiftDirection::ToCentre));
  add_device_maker(registry, "IFFTShift", shift_maker(ShiftDirection::FromCentre));
}

}  // namespace holoflow::tasks
