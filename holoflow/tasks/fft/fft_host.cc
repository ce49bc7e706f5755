// SPDX-License-Identifier: LGPL-2.1-or-later
// Host task of the Fourier family: one pocketfft call, whatever the strides; two for half spectra
// of two axes.
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
      in_array_ = array;
      in_array_.shape = problem_.source.shape;
    }
    const bool forward = problem_.direction == FftDirection::Forward;
    transform_.shape = inverse_half ? problem_.output.shape : problem_.array_shape;
    transform_.in_strides = signed_strides(array);
    transform_.out_strides = signed_strides(problem_.output);
    transform_.axes = problem_.axes;
    transform_.forward = forward;
    transform_.scale = problem_.scale;
    if (!two_steps_)
      return;
    transform_.axes = {problem_.axes.back()};
    first_step_.shape = problem_.source.shape;
    first_step_.in_strides = signed_strides(problem_.source);
    first_step_.out_strides = signed_strides(array);
    first_step_.axes.assign(problem_.axes.begin(), problem_.axes.end() - 1);
    first_step_.forward = forward;
  }

  OpResult execute(core::SyncCtx &ctx) override {
    const std::byte *in = ctx.inputs[0].data();
    std::byte *out = ctx.outputs[0].data();
    if (problem_.output.num_elements() == 0)
      return OpResult::Ok;
    if (two_steps_) {
      transform_complex(first_step_, complex(in), complex(array_.data()));
    } else if (!array_.empty()) {
      copy_strided(problem_.source, in, in_array_, array_.data());
    }
    transform(array_.empty() ? in : array_.data(), out);
    return OpResult::Ok;
  }

private:
  static const std::complex<float> *complex(const std::byte *array) {
    return reinterpret_cast<const std::complex<float> *>(array);
  }
  static std::complex<float> *complex(std::byte *array) {
    return reinterpret_cast<std::complex<float> *>(array);
  }

  void transform(const std::byte *in, std::byte *out) {
    const auto *real_in = reinterpret_cast<const float *>(in);
    switch (problem_.kind) {
    case TransformKind::RealToHalf:
      return transform_real_to_half(transform_, real_in, complex(out));
    case TransformKind::HalfToReal:
      return transform_half_to_real(transform_, complex(in), reinterpret_cast<float *>(out));
    case TransformKind::Complex:
      break;
    }
    if (problem_.source.dtype == DType::F32)
      return transform_real_to_full(transform_, real_in, complex(out));
    transform_complex(transform_, complex(in), complex(out));
  }

  FftProblem problem_;
  bool two_steps_ = false;
  HostTransform first_step_;
  HostTransform transform_;
  TDesc in_array_;  // the source's elements in the array
  std::vector<std::byte> array_;  // empty where the input serves
};

}  // namespace

std::unique_ptr<core::ISyncTask> make_fft_host(FftProblem problem) {
  return std::make_unique<HostFftTask>(std::move(problem));
}

}  // namespace holoflow::tasks
