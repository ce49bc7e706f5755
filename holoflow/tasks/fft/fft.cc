// SPDX-License-Identifier: LGPL-2.1-or-later
// Specs of the Fourier family.
#include "holoflow/tasks/fft/fft.hh"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/fft/transform_order.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::InferResult;
using core::MemLoc;
using core::TDesc;
using nlohmann::json;

InferResult infer_fft(const TDesc &input, const FftProblem &problem) {
  require_indexable({&input, 1});
  for (const size_t axis : problem.axes) {
    if (input.shape[axis] != 0)
      continue;
    throw std::invalid_argument(
        "input 0: expected at least one element along axis " + std::to_string(axis) + ", got " +
        to_string(input) + "; a transform of no points has no result");
  }
  InferResult result = sync_result({&input, 1}, {like_input(input, DType::CF32)});
  result.capturable = true;
  if (input.mem_loc != MemLoc::Device)
    return result;
  // cuFFT's work area comes on top; its size is known only once a device made the plan.
  const TDesc &output = result.output_descs[0];
  if (!make_transform_order(input, output, problem.axes).output_is_in_order)
    result.own_memory.push_back({MemLoc::Device, output.num_bytes(), "spectrum in cuFFT's order"});
  return result;
}

TaskSpec fft2_spec(const std::string &type, const std::string &doc, FftDirection direction) {
  TaskSpec spec;
  spec.type = type;
  spec.doc = doc;
  spec.inputs = {{.name = "input", .doc = "", .dtypes = {DType::F32, DType::CF32}}};
  spec.outputs = {
      {.name = "output", .doc = "packed, of the input's shape", .dtypes = {DType::CF32}}};
  spec.params = {
      {.name = "axes",
       .types = IntArray | Null,
       .doc = "the two axes to transform, from the end where negative; null: the picture's",
       .default_value = json()},
      {.name = "norm",
       .types = String,
       .doc = "which direction is scaled by 1/points: backward the inverse, forward the forward "
              "one, ortho both by the root",
       .default_value = "backward",
       .choices = {"backward", "ortho", "forward"}},
  };
  spec.infer =
      [direction](const InferContext &, std::span<const TDesc> inputs, const json &params) {
        return infer_fft(inputs[0], fft2_problem(inputs[0], params, direction));
      };
  spec.make_sync = [direction](const MakeArgs<core::SyncCreateCtx> &args) {
    return make_fft_host(args, fft2_problem(args.inputs[0], args.params, direction));
  };
  return spec;
}

}  // namespace

std::vector<size_t> two_axes(const TDesc &input, const json &value) {
  if (input.rank() < 2)
    throw std::invalid_argument(
        "input 0: expected rank 2 or more, got " + to_string(input) +
        "; a two-dimensional transform needs two axes");
  if (value.is_array() && value.size() != 2)
    throw ParamError("/axes", "param \"axes\": expected two axes, got " + value.dump());
  std::vector<size_t> axes = spatial_axes(input, value);
  if (axes.size() != 2)
    throw std::invalid_argument(
        "input 0: expected two axes beside the channel axis, got " + to_string(input) +
        "; set \"as\": \"GRAY\" on Input, or name axes that miss the "
        "channel axis");
  std::sort(axes.begin(), axes.end());
  return axes;
}

float fft_scale(const std::string &norm, FftDirection direction, size_t points) {
  const auto n = static_cast<double>(points);
  if (norm == "ortho")
    return static_cast<float>(1 / std::sqrt(n));
  const bool scaled = (norm == "forward") == (direction == FftDirection::Forward);
  return scaled ? static_cast<float>(1 / n) : 1.0F;
}

FftProblem fft2_problem(const TDesc &input, const json &params, FftDirection direction) {
  FftProblem problem;
  problem.axes = two_axes(input, params.at("axes"));
  problem.direction = direction;
  const size_t points = input.shape[problem.axes[0]] * input.shape[problem.axes[1]];
  problem.scale = fft_scale(params.at("norm").get<std::string>(), direction, points);
  return problem;
}

void register_fft(core::Registry &registry) {
  register_spec(
      registry,
      fft2_spec(
          "FFT2", "Discrete Fourier transform along two axes (NumPy's fft2)",
          FftDirection::Forward));
  register_spec(
      registry,
      fft2_spec(
          "IFFT2", "Inverse discrete Fourier transform along two axes (NumPy's ifft2)",
          FftDirection::Inverse));
}

}  // namespace holoflow::tasks
