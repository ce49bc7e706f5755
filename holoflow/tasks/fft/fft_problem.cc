// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the params of a Fourier task: axes, lengths, factor.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/media.hh"
#include "holoflow/tasks/fft/fft.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::TDesc;
using nlohmann::json;

/// The param that sets the length of the last axis, null where the type has none.
const char *length_param(const FftType &type) {
  if (type.dimensions == 1)
    return "n";
  return type.kind == TransformKind::HalfToReal ? "width" : nullptr;
}

/// Points of the transform along the last axis.
size_t points_along_last(const FftType &type, const TDesc &input, size_t axis, const json &params) {
  const char *param = length_param(type);
  if (param != nullptr && !params.at(param).is_null())
    return params.at(param).get<size_t>();
  const size_t extent = input.shape[axis];
  if (type.kind != TransformKind::HalfToReal || extent >= 2)
    return type.kind == TransformKind::HalfToReal ? 2 * (extent - 1) : extent;
  throw std::invalid_argument(
      "input 0: expected at least two elements along axis " + std::to_string(axis) + ", got " +
      to_string(input) + "; half the spectrum of one point needs \"" + param + "\": 1");
}

void require_points(const TDesc &input, size_t axis, size_t points) {
  if (points != 0)
    return;
  throw std::invalid_argument(
      "input 0: expected at least one element along axis " + std::to_string(axis) + ", got " +
      to_string(input) + "; a transform of no points has no result");
}

/// NumPy's factor: `norm` is "backward", "ortho" or "forward", `points` the product of the lengths.
float fft_scale(const std::string &norm, FftDirection direction, double points) {
  if (norm == "ortho")
    return static_cast<float>(1 / std::sqrt(points));
  const bool scaled = (norm == "forward") == (direction == FftDirection::Forward);
  return scaled ? static_cast<float>(1 / points) : 1.0F;
}

/// The output, annotated as the input: a transform along the frame axis mixes all frames.
TDesc describe_output(const FftProblem &problem, const TDesc &input, std::vector<size_t> shape) {
  const bool real = problem.kind == TransformKind::HalfToReal;
  TDesc output(std::move(shape), real ? DType::F32 : DType::CF32, input.mem_loc);
  std::vector<AxisFate> fates(input.rank());
  for (const size_t axis : problem.axes)
    fates[axis].altered = true;
  output.media = media_after(input, fates);
  const bool along_frames =
      std::find(problem.axes.begin(), problem.axes.end(), size_t{0}) != problem.axes.end();
  if (along_frames && has_frames(input))
    set_one_record(output);
  return output;
}

}  // namespace

std::vector<size_t> two_axes(const TDesc &input, const json &value) {
  if (input.rank() < 2)
    throw std::invalid_argument(
        "input 0: expected rank 2 or more, got " + to_string(input) +
        "; a two-dimensional transform needs two axes");
  if (value.is_array() && value.size() != 2)
    throw ParamError("/axes", "param \"axes\": expected two axes, got " + core::show(value));
  std::vector<size_t> axes = spatial_axes(input, value);
  if (axes.size() != 2)
    throw std::invalid_argument(
        "input 0: expected two axes beside the channel axis, got " + to_string(input) +
        "; set \"as\": \"GRAY\" on Input, or name axes that miss the "
        "channel axis");
  return axes;
}

FftProblem make_fft_problem(const FftType &type, const TDesc &input, const json &params) {
  FftProblem problem;
  problem.kind = type.kind;
  problem.direction = type.direction;
  if (type.dimensions == 1)
    problem.axes = {axis_or_last(input, params.at("axis"))};
  else
    problem.axes = two_axes(input, params.at("axes"));
  if (type.kind == TransformKind::Complex)
    std::sort(problem.axes.begin(), problem.axes.end());  // moves less, and is the same

  const size_t last = problem.axes.back();
  const size_t points = points_along_last(type, input, last, params);
  auto product = static_cast<double>(points);
  for (const size_t axis : problem.axes) {
    require_points(input, axis, axis == last ? points : input.shape[axis]);
    if (axis != last)
      product *= static_cast<double>(input.shape[axis]);
  }
  problem.scale = fft_scale(params.at("norm").get<std::string>(), type.direction, product);

  const size_t half = points / 2 + 1;
  const size_t entries = type.kind == TransformKind::HalfToReal ? half : points;
  problem.source = input;
  problem.source.shape[last] = std::min(input.shape[last], entries);
  problem.array_shape = input.shape;
  problem.array_shape[last] = entries;
  std::vector<size_t> shape = input.shape;
  shape[last] = type.kind == TransformKind::RealToHalf ? half : points;
  problem.output = describe_output(problem, input, std::move(shape));
  return problem;
}

TransformOrder fft_order(const FftProblem &problem) {
  TransformLayout layout;
  layout.array_shape = problem.array_shape;
  // Half a spectrum of one element is a whole one: cuFFT gets complex numbers there.
  const bool real_array =
      problem.kind == TransformKind::RealToHalf && problem.array_shape[problem.axes.back()] != 1;
  layout.array_dtype = real_array ? DType::F32 : DType::CF32;
  const TransformOrder behind =
      make_transform_order(problem.source, problem.output, problem.axes, layout);
  if (behind.output_is_in_order)
    return behind;
  layout.batch_place = BatchPlace::Last;
  const TransformOrder beside =
      make_transform_order(problem.source, problem.output, problem.axes, layout);
  return beside.output_is_in_order ? beside : behind;
}

bool has_paired_frames(const TDesc &desc) {
  constexpr size_t pair = 2 * sizeof(float);
  return desc.offset % pair == 0 && (desc.rank() == 0 || desc.strides[0] % pair == 0);
}

}  // namespace holoflow::tasks
