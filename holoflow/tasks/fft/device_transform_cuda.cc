// SPDX-License-Identifier: LGPL-2.1-or-later
// Batched Fourier transforms through cuFFT.
#include <stdexcept>

#include "curaii/cuda.hh"
#include "holoflow/tasks/fft/cufft_library.hh"
#include "holoflow/tasks/fft/device_transform.hh"

namespace holoflow::tasks {

namespace {

cufftType cufft_type(TransformKind kind) {
  switch (kind) {
  case TransformKind::RealToHalf:
    return CUFFT_R2C;
  case TransformKind::HalfToReal:
    return CUFFT_C2R;
  case TransformKind::Complex:
    break;
  }
  return CUFFT_C2C;
}

using Sizes = std::vector<long long>;

/// The work area's bytes.
size_t make_plan(
    int plan, TransformKind kind, Sizes sizes, long long batch, BatchPlace batch_place) {
  const auto rank = static_cast<int>(sizes.size());
  size_t work_bytes = 0;
  if (batch_place == BatchPlace::First) {
    // Without embedding arrays cuFFT takes packed arrays on both sides and ignores the strides.
    check_cufft(
        cufft_library().make_plan_many(
            plan, rank, sizes.data(), nullptr, 1, 0, nullptr, 1, 0, cufft_type(kind), batch,
            &work_bytes),
        "cufftMakePlanMany64");
    return work_bytes;
  }
  Sizes in = sizes;
  Sizes out = sizes;
  if (kind == TransformKind::RealToHalf)
    out.back() = out.back() / 2 + 1;
  if (kind == TransformKind::HalfToReal)
    in.back() = in.back() / 2 + 1;
  // An element's neighbour in its transform is a whole batch away; the next transform begins one
  // element further.
  check_cufft(
      cufft_library().make_plan_many(
          plan, rank, sizes.data(), in.data(), batch, 1, out.data(), batch, 1, cufft_type(kind),
          batch, &work_bytes),
      "cufftMakePlanMany64");
  return work_bytes;
}

// cuFFT takes no pointers to const, but writes only to the output in the transforms used here.
cufftReal *real(const float *array) {
  return const_cast<cufftReal *>(array);
}
cufftComplex *pairs(const float *array) {
  return reinterpret_cast<cufftComplex *>(const_cast<float *>(array));
}

}  // namespace

DeviceTransform::DeviceTransform(
    TransformKind kind, const std::vector<size_t> &lengths, size_t batch, cudaStream_t stream,
    BatchPlace batch_place) {
  Sizes sizes;
  for (const size_t length : lengths)
    if (length != 1)
      sizes.push_back(static_cast<long long>(length));
  if (sizes.empty() || batch == 0)
    return;
  if (kind != TransformKind::Complex && lengths.back() == 1)
    throw std::logic_error("internal error: half spectrum along an axis of one element");

  const CufftLibrary &cufft = cufft_library();
  check_cufft(cufft.create(&plan_), "cufftCreate");
  try {
    check_cufft(cufft.set_auto_allocation(plan_, 0), "cufftSetAutoAllocation");
    work_bytes_ = make_plan(plan_, kind, sizes, static_cast<long long>(batch), batch_place);
    check_cufft(cufft.set_stream(plan_, stream), "cufftSetStream");
  } catch (...) {
    (void)cufft.destroy(plan_);
    throw;
  }
}

DeviceTransform::~DeviceTransform() {
  if (plan_ >= 0)
    (void)cufft_library().destroy(plan_);
}

void DeviceTransform::set_work_area(std::byte *work) {
  if (plan_ >= 0)
    check_cufft(cufft_library().set_work_area(plan_, work), "cufftSetWorkArea");
}

void DeviceTransform::complex(const float *in, float *out, bool forward) const {
  check_cufft(
      cufft_library().exec_c2c(
          plan_, pairs(in), pairs(out), forward ? CUFFT_FORWARD : CUFFT_INVERSE),
      "cufftExecC2C");
}

void DeviceTransform::real_to_half(const float *in, float *out) const {
  check_cufft(cufft_library().exec_r2c(plan_, real(in), pairs(out)), "cufftExecR2C");
}

void DeviceTransform::half_to_real(float *in, float *out) const {
  check_cufft(cufft_library().exec_c2r(plan_, pairs(in), real(out)), "cufftExecC2R");
}

runtime::Device &device_for(const core::SyncCreateCtx &ctx) {
  int index = ctx.device;
  if (index < 0)
    CUDA_CHECK(cudaGetDevice(&index));
  return runtime::cuda_device(index);
}

}  // namespace holoflow::tasks
