// SPDX-License-Identifier: LGPL-2.1-or-later
// The Fourier family: what a transform is asked to do, shared by its Host and Device tasks.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/tasks/fft/transform_kind.hh"
#include "holoflow/tasks/fft/transform_order.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

enum class FftDirection { Forward, Inverse };

struct FftType {
  const char *type;
  const char *doc;
  TransformKind kind;
  FftDirection direction;
  size_t dimensions;  ///< 1: params axis and n; 2: axes, and width where half spectra come in
};

inline constexpr FftType fft_types[] = {
    {"FFT", "Discrete Fourier transform along one axis (NumPy's fft).", TransformKind::Complex,
     FftDirection::Forward, 1},
    {"IFFT", "Inverse discrete Fourier transform along one axis (NumPy's ifft).",
     TransformKind::Complex, FftDirection::Inverse, 1},
    {"RFFT", "Half the Fourier transform of real numbers along one axis (NumPy's rfft).",
     TransformKind::RealToHalf, FftDirection::Forward, 1},
    {"IRFFT", "Real numbers of half their Fourier transform along one axis (NumPy's irfft).",
     TransformKind::HalfToReal, FftDirection::Inverse, 1},
    {"FFT2", "Discrete Fourier transform along two axes (NumPy's fft2).", TransformKind::Complex,
     FftDirection::Forward, 2},
    {"IFFT2", "Inverse discrete Fourier transform along two axes (NumPy's ifft2).",
     TransformKind::Complex, FftDirection::Inverse, 2},
    {"RFFT2", "Half the Fourier transform of real numbers along two axes (NumPy's rfft2).",
     TransformKind::RealToHalf, FftDirection::Forward, 2},
    {"IRFFT2", "Real numbers of half their Fourier transform along two axes (NumPy's irfft2).",
     TransformKind::HalfToReal, FftDirection::Inverse, 2},
};

/// A transform along some axes of a tensor; the result is packed.
struct FftProblem {
  TransformKind kind = TransformKind::Complex;
  FftDirection direction = FftDirection::Forward;
  std::vector<size_t> axes;  ///< different ones; half spectra are halved along the last
  float scale = 1;  ///< multiplies the result, as `norm` asks
  core::TDesc source;  ///< the elements of the input that count: those of a shorter length are cut
  std::vector<size_t> array_shape;  ///< the source's, longer where zeros are appended
  core::TDesc output;

  [[nodiscard]] bool appends_zeros() const { return array_shape != source.shape; }
};

/// The problem that a node with complete params poses. Throws std::invalid_argument or ParamError
/// where the input has no such axes or no element along one.
[[nodiscard]] FftProblem make_fft_problem(
    const FftType &type, const core::TDesc &input, const nlohmann::json &params);

/// The two axes that `value` names, in its order, or for null the picture's. Throws
/// std::invalid_argument or ParamError where the input has no such axes.
[[nodiscard]] std::vector<size_t> two_axes(const core::TDesc &input, const nlohmann::json &value);

/// The order of cuFFT's array that moves least.
[[nodiscard]] TransformOrder fft_order(const FftProblem &problem);

/// Whether cuFFT, which reads real arrays in pairs, can take each frame of a real tensor as it
/// lies: a slot of a queue may begin with any of them.
[[nodiscard]] bool has_paired_frames(const core::TDesc &desc);

/// Host task for inputs of any strides.
[[nodiscard]] std::unique_ptr<core::ISyncTask> make_fft_host(FftProblem problem);

}  // namespace holoflow::tasks
