// SPDX-License-Identifier: LGPL-2.1-or-later
// Device task of the Fourier family: cuFFT along packed planes, gathered and scattered where
// needed.
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/fft/device_transform.hh"
#include "holoflow/tasks/fft/fft.hh"
#include "holoflow/tasks/fft/gather.hh"
#include "holoflow/tasks/fft/transform_order.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::MemLoc;
using core::OpResult;
using core::TDesc;

/// Three ways, from the cheapest: a complex input that is in cuFFT's order goes straight into the
/// output; where the output is in that order, any input is gathered into it and transformed in
/// place; else a staging array takes the output's part and is put into the output's order at the
/// end.
class DeviceFftTask final : public core::ISyncTask {
public:
  DeviceFftTask(
      const TDesc &input, const TDesc &output, const FftProblem &problem, runtime::Device &device,
      cudaStream_t stream)
      : real_input_(input.dtype == DType::F32),
        forward_(problem.direction == FftDirection::Forward), scale_(problem.scale),
        stream_(stream), order_(make_transform_order(input, output, problem.axes)),
        transform_(DeviceTransformKind::Complex, order_.lengths, order_.batch, stream),
        work_(device, MemLoc::Device, transform_.work_bytes()) {
    transform_.set_work_area(work_.get());
    if (!order_.output_is_in_order)
      staging_ = runtime::MemoryBlock(device, MemLoc::Device, output.num_bytes());
  }

  OpResult execute(core::SyncCtx &ctx) override {
    const auto *in = reinterpret_cast<const float *>(ctx.inputs[0].data());
    auto *out = reinterpret_cast<float *>(ctx.outputs[0].data());
    if (order_.from_input.count == 0)
      return OpResult::Ok;
    float *array = order_.output_is_in_order ? out : reinterpret_cast<float *>(staging_.get());

    const bool straight = !real_input_ && order_.input_is_in_order && !transform_.is_identity();
    float scale = scale_;  // what is left to do of it
    if (!straight) {
      gather(in, array, scale);
      scale = 1;
    }
    if (!transform_.is_identity())
      transform_.complex(straight ? in : array, array, forward_);
    if (array != out || scale != 1)
      gather_complex(order_.to_output, array, out, scale, stream_);
    return OpResult::Ok;
  }

private:
  void gather(const float *in, float *array, float scale) {
    if (real_input_) {
      gather_real_to_complex(order_.from_input, in, array, scale, stream_);
    } else {
      gather_complex(order_.from_input, in, array, scale, stream_);
    }
  }

  bool real_input_;
  bool forward_;
  float scale_;
  cudaStream_t stream_;
  TransformOrder order_;
  DeviceTransform transform_;
  runtime::MemoryBlock work_;
  runtime::MemoryBlock staging_;  // empty where the output serves
};

SyncMaker fft2_maker(FftDirection direction) {
  return [direction](const MakeArgs<core::SyncCreateCtx> &args) {
    runtime::Device &device = device_for(args.ctx);
    const runtime::DeviceScope scope(device);
    return std::make_unique<DeviceFftTask>(
        args.inputs[0], args.infer.output_descs[0],
        fft2_problem(args.inputs[0], args.params, direction), device, args.ctx.stream);
  };
}

}  // namespace

void register_fft_cuda(core::Registry &registry) {
  add_device_maker(registry, "FFT2", fft2_maker(FftDirection::Forward));
  add_device_maker(registry, "IFFT2", fft2_maker(FftDirection::Inverse));
}

}  // namespace holoflow::tasks
