// SPDX-License-Identifier: LGPL-2.1-or-later
// Device tasks of the Fourier family: cuFFT along packed arrays, gathered and scattered where
// needed.
#include <cstdint>

#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/fft/device_transform.hh"
#include "holoflow/tasks/fft/fft.hh"
#include "holoflow/tasks/fft/gather.hh"
#include "holoflow/tasks/fft/half_spectrum.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::MemLoc;
using core::OpResult;
using core::TDesc;

float *floats(const runtime::MemoryBlock &block) {
  return reinterpret_cast<float *>(block.get());
}

/// cuFFT reads and writes real arrays in pairs.
bool is_pair_aligned(const float *array) {
  return reinterpret_cast<uintptr_t>(array) % (2 * sizeof(float)) == 0;
}

/// What all three share: the array's order, and how the input gets into it.
class DeviceFftTask : public core::ISyncTask {
protected:
  DeviceFftTask(
      const FftProblem &problem, DType array_dtype, runtime::Device &device, cudaStream_t stream)
      : order_(fft_order(problem)), forward_(problem.direction == FftDirection::Forward),
        scale_(problem.scale), empty_(problem.output.num_elements() == 0), stream_(stream),
        real_input_(problem.source.dtype == DType::F32), device_(device),
        real_array_(array_dtype == DType::F32),
        array_bytes_(TDesc(problem.array_shape, array_dtype, MemLoc::Device).num_bytes()) {}

  void into_array(const float *in, float *array, float scale) const {
    if (!order_.fills_array)
      return pad(in, array, scale);
    if (real_array_) {
      gather_real(order_.from_input, in, array, scale, stream_);
    } else if (real_input_) {
      gather_real_to_complex(order_.from_input, in, array, scale, stream_);
    } else {
      gather_complex(order_.from_input, in, array, scale, stream_);
    }
  }

  /// Memory for a real array that cuFFT cannot take as it lies. It is there from the beginning
  /// where that can be foreseen; other tasks' slots may begin anywhere, which shows only now.
  float *real_scratch(size_t bytes) {
    if (real_scratch_.get() == nullptr)
      real_scratch_ = runtime::MemoryBlock(device_, MemLoc::Device, bytes);
    return floats(real_scratch_);
  }

  TransformOrder order_;
  bool forward_;
  float scale_;
  bool empty_;
  cudaStream_t stream_;
  bool real_input_;

private:
  void pad(const float *in, float *array, float scale) const {
    if (real_array_) {
      pad_real(order_.into_array, in, array, array_bytes_, scale, stream_);
    } else if (real_input_) {
      pad_real_to_complex(order_.into_array, in, array, array_bytes_, scale, stream_);
    } else {
      pad_complex(order_.into_array, in, array, array_bytes_, scale, stream_);
    }
  }

  runtime::Device &device_;
  runtime::MemoryBlock real_scratch_;
  bool real_array_;
  size_t array_bytes_;
};

/// Three ways, from the cheapest: a complex input that is in cuFFT's order goes straight into the
/// output; where the output is in that order, any input is gathered into it and transformed in
/// place; else a staging array takes the output's part and is put into the output's order at the
/// end.
class ComplexTask final : public DeviceFftTask {
public:
  ComplexTask(const FftProblem &problem, runtime::Device &device, cudaStream_t stream)
      : DeviceFftTask(problem, DType::CF32, device, stream),
        transform_(
            TransformKind::Complex, order_.lengths, order_.batch, stream, order_.batch_place),
        work_(device, MemLoc::Device, transform_.work_bytes()) {
    transform_.set_work_area(work_.get());
    if (!order_.output_is_in_order)
      staging_ = runtime::MemoryBlock(device, MemLoc::Device, problem.output.num_bytes());
  }

  OpResult execute(core::SyncCtx &ctx) override {
    const auto *in = reinterpret_cast<const float *>(ctx.inputs[0].data());
    auto *out = reinterpret_cast<float *>(ctx.outputs[0].data());
    if (empty_)
      return OpResult::Ok;
    float *array = order_.output_is_in_order ? out : floats(staging_);

    const bool straight = !real_input_ && order_.input_is_in_order && !transform_.is_identity();
    float scale = scale_;  // what is left to do of it
    if (!straight) {
      into_array(in, array, scale);
      scale = 1;
    }
    if (!transform_.is_identity())
      transform_.complex(straight ? in : array, array, forward_);
    if (array != out || scale != 1)
      gather_complex(order_.to_output, array, out, scale, stream_);
    return OpResult::Ok;
  }

private:
  DeviceTransform transform_;
  runtime::MemoryBlock work_;
  runtime::MemoryBlock staging_;  // empty where the output serves
};

/// Half spectra of more than one point. An input that cuFFT can read is not touched.
class RealToHalfTask final : public DeviceFftTask {
public:
  RealToHalfTask(const FftProblem &problem, runtime::Device &device, cudaStream_t stream)
      : DeviceFftTask(problem, DType::F32, device, stream),
        transform_(
            TransformKind::RealToHalf, order_.lengths, order_.batch, stream, order_.batch_place),
        work_(device, MemLoc::Device, transform_.work_bytes()),
        real_bytes_(TDesc(problem.array_shape, DType::F32, MemLoc::Device).num_bytes()) {
    transform_.set_work_area(work_.get());
    if (!order_.input_is_in_order || !has_paired_frames(problem.source))
      (void)real_scratch(real_bytes_);
    if (!order_.output_is_in_order)
      staging_ = runtime::MemoryBlock(device, MemLoc::Device, problem.output.num_bytes());
  }

  OpResult execute(core::SyncCtx &ctx) override {
    const auto *in = reinterpret_cast<const float *>(ctx.inputs[0].data());
    auto *out = reinterpret_cast<float *>(ctx.outputs[0].data());
    if (empty_)
      return OpResult::Ok;
    float scale = scale_;  // what is left to do of it
    if (!order_.input_is_in_order || !is_pair_aligned(in)) {
      float *array = real_scratch(real_bytes_);
      into_array(in, array, scale);
      scale = 1;
      in = array;
    }
    float *spectra = order_.output_is_in_order ? out : floats(staging_);
    transform_.real_to_half(in, spectra);
    if (spectra != out || scale != 1)
      gather_complex(order_.to_output, spectra, out, scale, stream_);
    return OpResult::Ok;
  }

private:
  DeviceTransform transform_;
  runtime::MemoryBlock work_;
  size_t real_bytes_;
  runtime::MemoryBlock staging_;  // empty where the output serves
};

/// The spectrum is always copied: cuFFT overwrites it, and NumPy's rule for imaginary parts that a
/// real signal cannot have asks for a change before. Half a spectrum of one point along the last
/// axis is a whole one, of which the real parts are taken at the end.
class HalfToRealTask final : public DeviceFftTask {
public:
  HalfToRealTask(const FftProblem &problem, runtime::Device &device, cudaStream_t stream)
      : DeviceFftTask(problem, DType::CF32, device, stream), one_point_(order_.lengths.back() == 1),
        edges_(half_spectrum_edges(order_.lengths, order_.batch, order_.batch_place)),
        transform_(
            one_point_ ? TransformKind::Complex : TransformKind::HalfToReal, order_.lengths,
            order_.batch, stream, order_.batch_place),
        work_(device, MemLoc::Device, transform_.work_bytes()),
        spectra_(
            device, MemLoc::Device,
            TDesc(problem.array_shape, DType::CF32, MemLoc::Device).num_bytes()),
        straight_(!one_point_ && order_.output_is_in_order),
        real_bytes_(problem.output.num_bytes()) {
    transform_.set_work_area(work_.get());
    if (!straight_ || !has_paired_frames(problem.output))
      (void)real_scratch(real_bytes_);
    const size_t count = problem.output.num_elements();
    real_parts_ = make_loop<1>({count}, {std::vector<size_t>{size_of(DType::CF32)}});
  }

  OpResult execute(core::SyncCtx &ctx) override {
    const auto *in = reinterpret_cast<const float *>(ctx.inputs[0].data());
    auto *out = reinterpret_cast<float *>(ctx.outputs[0].data());
    if (empty_)
      return OpResult::Ok;
    float *spectra = floats(spectra_);
    float *result = straight_ && is_pair_aligned(out) ? out : real_scratch(real_bytes_);
    into_array(in, spectra, scale_);
    if (one_point_) {
      if (!transform_.is_identity())
        transform_.complex(spectra, spectra, forward_);
      gather_real_part(real_parts_, spectra, result, 1, stream_);
    } else {
      make_hermitian(edges_, spectra, stream_);
      transform_.half_to_real(spectra, result);
    }
    if (result != out)
      gather_real(order_.to_output, result, out, 1, stream_);
    return OpResult::Ok;
  }

private:
  bool one_point_;
  HalfSpectrumEdges edges_;
  DeviceTransform transform_;
  runtime::MemoryBlock work_;
  runtime::MemoryBlock spectra_;
  bool straight_;
  size_t real_bytes_;
  GatherLoop real_parts_;  // of the array's elements, one behind the other
};

SyncMaker maker(const FftType &type) {
  return [type](const MakeArgs<core::SyncCreateCtx> &args) -> std::unique_ptr<core::ISyncTask> {
    runtime::Device &device = device_for(args.ctx);
    const runtime::DeviceScope scope(device);
    const FftProblem problem = make_fft_problem(type, args.inputs[0], args.params);
    const cudaStream_t stream = args.ctx.stream;
    if (type.kind == TransformKind::HalfToReal)
      return std::make_unique<HalfToRealTask>(problem, device, stream);
    if (type.kind == TransformKind::RealToHalf && problem.array_shape[problem.axes.back()] != 1)
      return std::make_unique<RealToHalfTask>(problem, device, stream);
    return std::make_unique<ComplexTask>(problem, device, stream);
  };
}

}  // namespace

void register_fft_cuda(core::Registry &registry) {
  for (const FftType &type : fft_types)
    add_device_maker(registry, type.type, maker(type));
}

}  // namespace holoflow::tasks
