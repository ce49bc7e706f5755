// SPDX-License-Identifier: LGPL-2.1-or-later
// Host task of the Fourier family: one pocketfft call, whatever the strides.
#include "holoflow/tasks/fft/fft.hh"
#include "holoflow/tasks/fft/host_transform.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::OpResult;

class HostFftTask final : public core::ISyncTask {
public:
  HostFftTask(HostTransform transform, bool real_input)
      : transform_(std::move(transform)), real_input_(real_input) {}

  OpResult execute(core::SyncCtx &ctx) override {
    const std::byte *in = ctx.inputs[0].data();
    auto *out = reinterpret_cast<std::complex<float> *>(ctx.outputs[0].data());
    if (real_input_) {
      transform_real_to_full(transform_, reinterpret_cast<const float *>(in), out);
    } else {
      transform_complex(transform_, reinterpret_cast<const std::complex<float> *>(in), out);
    }
    return OpResult::Ok;
  }

private:
  HostTransform transform_;
  bool real_input_;
};

}  // namespace

std::unique_ptr<core::ISyncTask> make_fft_host(
    const MakeArgs<core::SyncCreateCtx> &args, const FftProblem &problem) {
  const core::TDesc &input = args.inputs[0];
  const core::TDesc &output = args.infer.output_descs[0];
  HostTransform transform;
  transform.shape = input.shape;
  transform.in_strides.assign(input.strides.begin(), input.strides.end());
  transform.out_strides.assign(output.strides.begin(), output.strides.end());
  transform.axes = problem.axes;
  transform.forward = problem.direction == FftDirection::Forward;
  transform.scale = problem.scale;
  return std::make_unique<HostFftTask>(std::move(transform), input.dtype == DType::F32);
}

}  // namespace holoflow::tasks
