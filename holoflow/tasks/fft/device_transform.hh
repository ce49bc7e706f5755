// SPDX-License-Identifier: LGPL-2.1-or-later
// Batched Fourier transforms of packed device arrays: one cuFFT plan, made before anything runs.
#pragma once

#include <cstddef>
#include <vector>

#include "holoflow/runtime/device.hh"
#include "holoflow/tasks/fft/transform_kind.hh"
#include "holoflow/tasks/fft/transform_order.hh"

namespace holoflow::tasks {

/// Transforms a packed array [batch, lengths…], or [lengths…, batch] where the batch comes last,
/// unscaled. Lengths of 1 are left out of the plan; where all are 1 there is no plan and
/// is_identity() is true. Half spectra have last length / 2 + 1 elements along the last length's
/// axis; that length may be 1 only where all are.
///
/// Made at create() with the device selected; execution only enqueues on the stream given here, so
/// a stream capture records it. cuFFT is opened by the first plan. Failures throw
/// core::DeviceError.
class DeviceTransform {
public:
  DeviceTransform(
      TransformKind kind, const std::vector<size_t> &lengths, size_t batch, cudaStream_t stream,
      BatchPlace batch_place = BatchPlace::First);
  ~DeviceTransform();
  DeviceTransform(const DeviceTransform &) = delete;
  DeviceTransform &operator=(const DeviceTransform &) = delete;

  [[nodiscard]] bool is_identity() const noexcept { return plan_ < 0; }

  /// Scratch memory that one execution needs. Transforms on one stream may share it.
  [[nodiscard]] size_t work_bytes() const noexcept { return work_bytes_; }
  /// To be called before the first execution, even with 0 bytes; the memory outlives the transform.
  void set_work_area(std::byte *work);

  /// Complex arrays are pairs of floats. `in` may be `out`. Not for is_identity().
  void complex(const float *in, float *out, bool forward) const;
  /// Real arrays are 8-byte aligned, as cuFFT demands.
  void real_to_half(const float *in, float *out) const;
  /// Destroys `in`, which has to be Hermitian: see half_spectrum.hh.
  void half_to_real(float *in, float *out) const;

private:
  int plan_ = -1;
  size_t work_bytes_ = 0;
};

/// The device that a create context means: its own index, else the calling thread's current one.
[[nodiscard]] runtime::Device &device_for(const core::SyncCreateCtx &ctx);

}  // namespace holoflow::tasks
