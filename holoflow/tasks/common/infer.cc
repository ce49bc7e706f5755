// SPDX-License-Identifier: LGPL-2.1-or-later
// What the infer functions of built-in tasks share.
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/core/graph_fault.hh"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <stdexcept>

namespace holoflow::tasks {

using core::TDesc;

TDesc like_input(const TDesc &input, core::DType dtype) {
  TDesc output(input.shape, dtype, input.mem_loc);
  output.media = input.media;
  return output;
}

TDesc like_input(const TDesc &input) {
  return like_input(input, input.dtype);
}

bool can_share(const TDesc &input, const TDesc &output) {
  return input.offset == 0 && output.offset == 0 && input.dtype == output.dtype &&
      input.mem_loc == output.mem_loc && input.shape == output.shape && is_packed(input) &&
      is_packed(output);
}

void require_indexable(std::span<const TDesc> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string label = "input " + std::to_string(i);
    const TDesc &desc = inputs[i];
    if (desc.rank() > max_rank)
      throw std::invalid_argument(
          label + ": expected at most " + std::to_string(max_rank) + " axes, got " +
          to_string(desc) + "; join axes before it (\"Reshape\")");
    const size_t size = size_of(desc.dtype);
    const bool aligned = desc.offset % size == 0 &&
        std::all_of(desc.strides.begin(), desc.strides.end(),
                    [size](size_t stride) { return stride % size == 0; });
    if (!aligned)
      throw std::invalid_argument(
          label + ": expected strides and an offset that are multiples of " + std::to_string(size) +
          " bytes, got " + to_string(desc) + "; add a \"Copy\" node before it");
  }
}

void require_same_location(std::span<const TDesc> inputs) {
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].mem_loc == inputs[0].mem_loc)
      continue;
    const bool needs_upload = inputs[0].mem_loc == core::MemLoc::Device;
    throw std::invalid_argument(
        "input " + std::to_string(i) + ": expected a tensor on " +
        std::string(to_string(inputs[0].mem_loc)) + " like input 0, got " + to_string(inputs[i]) +
        "; add an " +
        (needs_upload ? "\"Upload\" node before it" : "\"Upload\" node before input 0"));
  }
}

core::InferResult sync_result(std::span<const TDesc> inputs, std::vector<TDesc> outputs) {
  core::InferResult result;
  result.input_descs.assign(inputs.begin(), inputs.end());
  result.owned_inputs.resize(inputs.size());
  result.owned_outputs.resize(outputs.size());
  result.output_descs = std::move(outputs);
  return result;
}

core::InferResult elementwise_result(std::span<const TDesc> inputs, TDesc output, size_t in_idx) {
  core::InferResult result = sync_result(inputs, {std::move(output)});
  if (can_share(inputs[in_idx], result.output_descs[0]))
    result.in_place.push_back(
        {.in_idx = static_cast<int>(in_idx), .out_idx = 0, .required = false});
  result.capturable = true;
  return result;
}

std::optional<std::vector<size_t>> broadcast_shapes(
    const std::vector<size_t> &a, const std::vector<size_t> &b) {
  const std::vector<size_t> &longer = a.size() >= b.size() ? a : b;
  const std::vector<size_t> &shorter = a.size() >= b.size() ? b : a;
  std::vector<size_t> shape = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    size_t &extent = shape[lead + i];
    if (extent == shorter[i] || shorter[i] == 1)
      continue;
    if (extent != 1)
      return std::nullopt;
    extent = shorter[i];
  }
  return shape;
}

std::vector<size_t> broadcast_strides(const TDesc &desc, const std::vector<size_t> &shape) {
  std::vector<size_t> strides(shape.size(), 0);
  const size_t lead = shape.size() - desc.rank();
  for (size_t i = 0; i < desc.rank(); ++i)
    if (desc.shape[i] == shape[lead + i])
      strides[lead + i] = desc.strides[i];
  return strides;
}

float float_param(const nlohmann::json &params, const std::string &name) {
  const auto value = params[name].get<double>();
  if (std::abs(value) > static_cast<double>(FLT_MAX))
    throw ParamError(
        "/" + name,
        "param \"" + name + "\": expected a number that fits F32, got " + core::show(params[name]));
  return static_cast<float>(value);
}

}  // namespace holoflow::tasks
