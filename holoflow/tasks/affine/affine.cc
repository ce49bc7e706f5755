// SPDX-License-Identifier: LGPL-2.1-or-later
// Spec of Affine.
#include <cfloat>
#include <cmath>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/tasks/affine/affine_tasks.hh"
#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

using core::DType;
using core::TDesc;
using nlohmann::json;

void check_float(const std::string &name, const json &value) {
  if (std::abs(value.get<double>()) <= static_cast<double>(FLT_MAX))
    return;
  throw ParamError(
      "/" + name,
      "param \"" + name + "\": expected numbers that fit F32, got " + core::show(value));
}

void check_coefficients(const TDesc &in, const std::string &name, const json &params) {
  const json &value = params[name];
  if (!value.is_array())
    return check_float(name, value);
  for (const json &item : value)
    check_float(name, item);
  const size_t axis = normalise_axis(params["axis"].get<int64_t>(), in.rank(), "axis");
  if (value.size() == in.shape[axis])
    return;
  throw ParamError(
      "/" + name,
      "param \"" + name + "\": expected " + std::to_string(in.shape[axis]) +
          " numbers, one per element of axis " + std::to_string(axis) + " of " + to_string(in) +
          ", got " + std::to_string(value.size()));
}

core::InferResult infer(std::span<const TDesc> inputs, const json &params) {
  require_indexable(inputs);
  const TDesc &in = inputs[0];
  check_coefficients(in, "scale", params);
  check_coefficients(in, "offset", params);
  const DType dtype = in.dtype == DType::CF32 ? DType::CF32 : DType::F32;
  core::InferResult result = elementwise_result(inputs, like_input(in, dtype));
  const bool table = params["scale"].is_array() || params["offset"].is_array();
  if (table && in.mem_loc == core::MemLoc::Device) {
    const size_t axis = normalise_axis(params["axis"].get<int64_t>(), in.rank(), "axis");
    result.own_memory.push_back(
        {core::MemLoc::Device, in.shape[axis] * sizeof(AffineCoefficients), "coefficients"});
  }
  return result;
}

float coefficient(const json &value, size_t index) {
  return static_cast<float>((value.is_array() ? value[index] : value).get<double>());
}

}  // namespace

AffineTable make_affine_table(const TDesc &in, const TDesc &out, const json &params) {
  const json &scale = params["scale"];
  const json &offset = params["offset"];
  AffineTable table;
  std::vector<size_t> strides(in.rank(), 0);
  size_t count = 1;
  if (scale.is_array() || offset.is_array()) {
    const size_t axis = normalise_axis(params["axis"].get<int64_t>(), in.rank(), "axis");
    count = in.shape[axis];
    strides[axis] = sizeof(AffineCoefficients);
  }
  for (size_t i = 0; i < count; ++i)
    table.coefficients.push_back({coefficient(scale, i), coefficient(offset, i)});
  table.loop = make_loop<3>(in.shape, {in.strides, strides, out.strides});
  return table;
}

void register_affine(core::Registry &registry) {
  TaskSpec spec;
  spec.type = "Affine";
  spec.doc = "x · scale + offset; of CF32 the offset is added to the real part.";
  spec.inputs = {{"x", "any shape"}};
  spec.outputs = {{"y", "same shape, packed; F32, of CF32 CF32"}};
  spec.params = {
      {"scale", Number | NumberArray, "factor, or one per element of the axis", json(1)},
      {"offset", Number | NumberArray, "summand, or one per element of the axis", json(0)},
      {"axis", Int, "axis that arrays run along", json(-1)},
  };
  spec.infer = without_context(infer);
  spec.make_sync = make_affine_host;
  register_spec(registry, std::move(spec));
}

}  // namespace holoflow::tasks
