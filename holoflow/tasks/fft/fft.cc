// SPDX-License-Identifier: LGPL-2.1-or-later
// Specs of the Fourier family.
#include "holoflow/tasks/fft/fft.hh"

#include <functional>
#include <numeric>

#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::InferResult;
using core::MemLoc;
using core::MemoryNeed;
using core::TDesc;
using nlohmann::json;

size_t elements_of(const std::vector<size_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

/// What the Host task keeps: see HostFftTask.
std::vector<MemoryNeed> host_memory(const FftProblem &problem) {
  const bool two_steps = problem.kind == TransformKind::HalfToReal && problem.axes.size() > 1;
  if (!two_steps && !problem.appends_zeros())
    return {};
  const size_t bytes = elements_of(problem.array_shape) * size_of(problem.source.dtype);
  return {{MemLoc::Host, bytes, two_steps ? "half spectrum on its way" : "input with zeros"}};
}

/// What the Device tasks keep. cuFFT's work area comes on top; its size is known only once a device
/// made the plan.
std::vector<MemoryNeed> device_memory(const FftProblem &problem) {
  const TransformOrder order = fft_order(problem);
  const bool one_point = order.lengths.back() == 1;
  const size_t array = elements_of(problem.array_shape);
  std::vector<MemoryNeed> needs;
  const auto need = [&needs](size_t bytes, const char *what) {
    needs.push_back({MemLoc::Device, bytes, what});
  };
  if (problem.kind == TransformKind::HalfToReal) {
    need(array * size_of(DType::CF32), "half spectrum that cuFFT overwrites");
    if (one_point || !order.output_is_in_order || !has_paired_frames(problem.output))
      need(problem.output.num_bytes(), "result in cuFFT's order");
    return needs;
  }
  if (problem.kind == TransformKind::RealToHalf && !one_point &&
      (!order.input_is_in_order || !has_paired_frames(problem.source)))
    need(array * size_of(DType::F32), "input in cuFFT's order");
  if (!order.output_is_in_order)
    need(problem.output.num_bytes(), "spectrum in cuFFT's order");
  return needs;
}

InferResult infer(const FftType &type, const TDesc &input, const json &params) {
  require_indexable({&input, 1});
  const FftProblem problem = make_fft_problem(type, input, params);
  InferResult result = sync_result({&input, 1}, {problem.output});
  result.capturable = true;
  result.own_memory =
      input.mem_loc == MemLoc::Device ? device_memory(problem) : host_memory(problem);
  return result;
}

std::vector<DType> input_dtypes(TransformKind kind) {
  switch (kind) {
  case TransformKind::RealToHalf:
    return {DType::F32};
  case TransformKind::HalfToReal:
    return {DType::CF32};
  case TransformKind::Complex:
    break;
  }
  return {DType::F32, DType::CF32};
}

const char *output_doc(TransformKind kind) {
  switch (kind) {
  case TransformKind::RealToHalf:
    return "packed; the last transformed axis has length / 2 + 1 elements";
  case TransformKind::HalfToReal:
    return "packed; imaginary parts where a real signal has none are ignored";
  case TransformKind::Complex:
    break;
  }
  return "packed";
}

std::vector<ParamSpec> params_of(const FftType &type) {
  std::vector<ParamSpec> params;
  if (type.dimensions == 1) {
    params.push_back(
        {.name = "axis",
         .types = Int | Null,
         .doc = "the axis to transform, from the end where negative; null: the last, refused where "
                "that holds a picture's colours",
         .default_value = json()});
  } else {
    params.push_back(
        {.name = "axes",
         .types = IntArray | Null,
         .doc = type.kind == TransformKind::Complex
             ? "the two axes to transform, from the end where negative; null: the picture's"
             : "the two axes to transform, the second one halved; null: the picture's",
         .default_value = json()});
  }
  params.push_back(
      {.name = "norm",
       .types = String,
       .doc = "which direction is scaled by 1/points: backward the inverse, forward the forward "
              "one, ortho both by the root",
       .default_value = "backward",
       .choices = {"backward", "ortho", "forward"}});
  const bool inverse_half = type.kind == TransformKind::HalfToReal;
  if (type.dimensions == 1 || inverse_half)
    params.push_back(
        {.name = type.dimensions == 1 ? "n" : "width",
         .types = Int | Null,
         .doc = inverse_half
             ? "length of the result along the halved axis; null: twice the input's less 2"
             : "length to which the input is cut or extended by zeros; null: its own",
         .default_value = json(),
         .minimum = 1});
  return params;
}

TaskSpec spec_of(const FftType &type) {
  TaskSpec spec;
  spec.type = type.type;
  spec.doc = type.doc;
  spec.inputs = {{.name = "input", .doc = "", .dtypes = input_dtypes(type.kind)}};
  const bool real = type.kind == TransformKind::HalfToReal;
  spec.outputs = {
      {.name = "output",
       .doc = output_doc(type.kind),
       .dtypes = {real ? DType::F32 : DType::CF32}}};
  spec.params = params_of(type);
  spec.axis_work = {type.dimensions == 1 ? "axis" : "axes", "transforms"};
  spec.infer = [type](const InferContext &, std::span<const TDesc> inputs, const json &params) {
    return infer(type, inputs[0], params);
  };
  spec.make_sync = [type](const MakeArgs<core::SyncCreateCtx> &args) {
    return make_fft_host(make_fft_problem(type, args.inputs[0], args.params));
  };
  return spec;
}

}  // namespace

void register_fft(core::Registry &registry) {
  for (const FftType &type : fft_types)
    register_spec(registry, spec_of(type));
}

}  // namespace holoflow::tasks
