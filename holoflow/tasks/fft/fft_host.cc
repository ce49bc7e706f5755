// SPDX-License-Identifier: LGPL-2.1-or-later
// Host task of the Fourier family: one transform, whatever the strides; two for half spectra of two
// axes.
#include "holoflow/tasks/fft/fft.hh"
#include "holoflow/tasks/fft/host_transform.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::OpResult;
using core::TDesc;

std::vector<std::ptrdiff_t> signed_strides(const TDesc &desc) {
  return {desc.strides.begin(), desc.strides.end()};
}

HostTransform::Kind kind_of(const FftProblem &problem) {
  switch (problem.kind) {
  case TransformKind::RealToHalf:
    return HostTransform::Kind::RealToHalf;
  case TransformKind::HalfToReal:
    return HostTransform::Kind::HalfToReal;
  case TransformKind::Complex:
    break;
  }
  return problem.source.dtype == DType::F32 ? HostTransform::Kind::RealToFull
                                            : HostTransform::Kind::Complex;
}

/// The inverse of half spectra of two axes goes through an array of complex numbers, along all axes
/// but the halved one first. Inputs to which zeros are appended go through the same array: its
/// zeros are written once and stay.
class HostFftTask final : public core::ISyncTask {
public:
  explicit HostFftTask(FftProblem problem) : problem_(std::move(problem)) {
    const bool inverse_half = problem_.kind == TransformKind::HalfToReal;
    two_steps_ = inverse_half && problem_.axes.size() > 1;
    TDesc array = problem_.source;
    if (two_steps_ || problem_.appends_zeros()) {
      array = TDesc(problem_.array_shape, problem_.source.dtype, core::MemLoc::Host);
      array_.resize(array.num_bytes());
      TDesc in_array = array;
      in_array.shape = problem_.source.shape;
      copy_ = plan_copy(problem_.source, in_array);
    }
    HostTransform transform;
    transform.kind = kind_of(problem_);
    transform.shape = inverse_half ? problem_.output.shape : problem_.array_shape;
    transform.in_strides = signed_strides(array);
    transform.out_strides = signed_strides(problem_.output);
    transform.axes = problem_.axes;
    transform.forward = problem_.direction == FftDirection::Forward;
    transform.scale = problem_.scale;
    if (two_steps_) {
      plan_first_step(array, transform.forward);
      transform.axes = {problem_.axes.back()};
    }
    transform_ = HostTransformPlan(transform);
  }

  OpResult execute(core::SyncCtx &ctx) override {
    const std::byte *in = ctx.inputs[0].data();
    std::byte *out = ctx.outputs[0].data();
    if (problem_.output.num_elements() == 0)
      return OpResult::Ok;
    if (two_steps_) {
      first_step_.run(in, array_.data());
    } else if (!array_.empty()) {
      copy_planned(copy_, in, array_.data());
    }
    transform_.run(array_.empty() ? in : array_.data(), out);
    return OpResult::Ok;
  }

private:
  void plan_first_step(const TDesc &array, bool forward) {
    HostTransform step;
    step.shape = problem_.source.shape;
    step.in_strides = signed_strides(problem_.source);
    step.out_strides = signed_strides(array);
    step.axes.assign(problem_.axes.begin(), problem_.axes.end() - 1);
    step.forward = forward;
    first_step_ = HostTransformPlan(step);
  }

  FftProblem problem_;
  bool two_steps_ = false;
  HostTransformPlan first_step_;
  HostTransformPlan transform_;
  CopyPlan copy_;  // the source's elements into the array
  std::vector<std::byte> array_;  // empty where the input serves
};

}  // namespace

std::unique_ptr<core::ISyncTask> make_fft_host(FftProblem problem) {
  return std::make_unique<HostFftTask>(std::move(problem));
}

}  // namespace holoflow::tasks
