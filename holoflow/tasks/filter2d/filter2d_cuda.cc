// SPDX-License-Identifier: LGPL-2.1-or-later
// Device task of Filter2D: transform, mask, transform back, all enqueued.
#include <algorithm>
#include <cstdint>

#include "holoflow/device/hand_over.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/fft/device_transform.hh"
#include "holoflow/tasks/fft/gather.hh"
#include "holoflow/tasks/fft/transform_order.hh"
#include "holoflow/tasks/filter2d/filter2d.hh"
#include "holoflow/tasks/filter2d/mask_kernel.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::MemLoc;
using core::OpResult;
using core::TDesc;

// cuFFT reads and writes real arrays in pairs. Slots of a queue of odd pictures are not that
// aligned.
bool is_pair_aligned(const float *array) {
  return reinterpret_cast<uintptr_t>(array) % (2 * sizeof(float)) == 0;
}

/// What both element types share: the mask on the device.
class DeviceFilterTask : public core::ISyncTask {
protected:
  DeviceFilterTask(
      const TDesc &input, const TDesc &output, const BandFilter &filter, runtime::Device &device,
      cudaStream_t stream)
      : geometry_(picture_geometry(input)),
        order_(make_transform_order(input, output, {geometry_.row_axis, geometry_.column_axis})),
        stream_(stream) {
    // The mask also undoes that cuFFT's inverse is the inverse times the number of points.
    const double points =
        static_cast<double>(geometry_.height) * static_cast<double>(geometry_.width);
    const std::vector<float> mask =
        band_mask(filter, geometry_.height, geometry_.width, geometry_.columns, 1 / points);
    const size_t bytes = mask.size() * sizeof(float);
    mask_ = runtime::MemoryBlock(device, MemLoc::Device, bytes);
    // `mask` goes away.
    runtime::copy_and_wait(
        device, mask_.get(), MemLoc::Device, reinterpret_cast<const std::byte *>(mask.data()),
        MemLoc::Host, bytes, stream);
    first_factor_ = mask.front();
  }

  void mask(float *spectra) {
    apply_mask(
        spectra, reinterpret_cast<const float *>(mask_.get()), geometry_.spectrum_size(),
        geometry_.pictures, stream_);
  }

  PictureGeometry geometry_;
  TransformOrder order_;
  cudaStream_t stream_;
  runtime::MemoryBlock mask_;
  float first_factor_ = 0;  // all there is of the mask of a picture of one element
};

/// Real pictures go through half spectra.
class RealFilterTask final : public DeviceFilterTask {
public:
  RealFilterTask(
      const TDesc &input, const TDesc &output, const BandFilter &filter, runtime::Device &device,
      cudaStream_t stream)
      : DeviceFilterTask(input, output, filter, device, stream),
        forward_(TransformKind::RealToHalf, order_.lengths, order_.batch, stream),
        back_(TransformKind::HalfToReal, order_.lengths, order_.batch, stream),
        work_(device, MemLoc::Device, std::max(forward_.work_bytes(), back_.work_bytes())),
        spectra_(
            device, MemLoc::Device,
            geometry_.pictures * geometry_.spectrum_size() * size_of(DType::CF32)),
        packed_(device, MemLoc::Device, input.num_elements() * sizeof(float)) {
    forward_.set_work_area(work_.get());
    back_.set_work_area(work_.get());
  }

  OpResult execute(core::SyncCtx &ctx) override {
    const auto *in = reinterpret_cast<const float *>(ctx.inputs[0].data());
    auto *out = reinterpret_cast<float *>(ctx.outputs[0].data());
    if (forward_.is_identity()) {
      gather_real(order_.from_input, in, out, first_factor_, stream_);
      return OpResult::Ok;
    }
    auto *spectra = reinterpret_cast<float *>(spectra_.get());
    auto *packed = reinterpret_cast<float *>(packed_.get());
    const bool direct_in = order_.input_is_in_order && is_pair_aligned(in);
    const bool direct_out = order_.output_is_in_order && is_pair_aligned(out);
    if (!direct_in)
      gather_real(order_.from_input, in, packed, 1, stream_);
    forward_.real_to_half(direct_in ? in : packed, spectra);
    mask(spectra);
    back_.half_to_real(spectra, direct_out ? out : packed);
    if (!direct_out)
      gather_real(order_.to_output, packed, out, 1, stream_);
    return OpResult::Ok;
  }

private:
  DeviceTransform forward_;
  DeviceTransform back_;
  runtime::MemoryBlock work_;  // one for both: they never run at the same time
  runtime::MemoryBlock spectra_;
  runtime::MemoryBlock packed_;  // for views, other axis orders and addresses that cuFFT refuses
};

/// Complex pictures are transformed in place: in the output where it lies as packed pictures.
class ComplexFilterTask final : public DeviceFilterTask {
public:
  ComplexFilterTask(
      const TDesc &input, const TDesc &output, const BandFilter &filter, runtime::Device &device,
      cudaStream_t stream)
      : DeviceFilterTask(input, output, filter, device, stream),
        transform_(TransformKind::Complex, order_.lengths, order_.batch, stream),
        work_(device, MemLoc::Device, transform_.work_bytes()) {
    transform_.set_work_area(work_.get());
    if (!order_.output_is_in_order)
      spectra_ = runtime::MemoryBlock(device, MemLoc::Device, output.num_bytes());
  }

  OpResult execute(core::SyncCtx &ctx) override {
    const auto *in = reinterpret_cast<const float *>(ctx.inputs[0].data());
    auto *out = reinterpret_cast<float *>(ctx.outputs[0].data());
    if (transform_.is_identity()) {
      gather_complex(order_.from_input, in, out, first_factor_, stream_);
      return OpResult::Ok;
    }
    float *spectra = order_.output_is_in_order ? out : reinterpret_cast<float *>(spectra_.get());
    if (!order_.input_is_in_order)
      gather_complex(order_.from_input, in, spectra, 1, stream_);
    transform_.complex(order_.input_is_in_order ? in : spectra, spectra, true);
    mask(spectra);
    transform_.complex(spectra, spectra, false);
    if (!order_.output_is_in_order)
      gather_complex(order_.to_output, spectra, out, 1, stream_);
    return OpResult::Ok;
  }

private:
  DeviceTransform transform_;
  runtime::MemoryBlock work_;
  runtime::MemoryBlock spectra_;  // empty where the output serves
};

std::unique_ptr<core::ISyncTask> make_device(const MakeArgs<core::SyncCreateCtx> &args) {
  runtime::Device &device = device_for(args.ctx);
  const runtime::DeviceScope scope(device);
  const TDesc &input = args.inputs[0];
  const TDesc &output = args.infer.output_descs[0];
  const BandFilter filter = band_filter(args.params);
  if (input.dtype == DType::F32)
    return std::make_unique<RealFilterTask>(input, output, filter, device, args.ctx.stream);
  return std::make_unique<ComplexFilterTask>(input, output, filter, device, args.ctx.stream);
}

}  // namespace

void register_filter2d_cuda(core::Registry &registry) {
  add_device_maker(registry, "Filter2D", SyncMaker(make_device));
}

}  // namespace holoflow::tasks
