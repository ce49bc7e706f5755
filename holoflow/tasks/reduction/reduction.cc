// SPDX-License-Identifier: LGPL-2.1-or-later
// Specs of Mean, Max and Min.
#include <algorithm>
#include <stdexcept>

#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/common/media.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/reduction/reduction_plan.hh"

namespace holoflow::tasks {
namespace {

using core::DType;
using core::TDesc;
using nlohmann::json;

DType output_dtype(Reduction reduction, DType in) {
  return reduction == Reduction::Mean && in != DType::CF32 ? DType::F32 : in;
}

TDesc describe_output(
    const TDesc &in, const std::vector<size_t> &reduced, bool keepdims, DType dtype) {
  std::vector<size_t> shape;
  std::vector<AxisFate> fates(in.rank());
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    const bool is_reduced = std::find(reduced.begin(), reduced.end(), axis) != reduced.end();
    if (!is_reduced) {
      shape.push_back(in.shape[axis]);
      continue;
    }
    fates[axis] = {.dropped = !keepdims, .altered = in.shape[axis] != 1};
    if (keepdims)
      shape.push_back(1);
  }
  TDesc out(std::move(shape), dtype, in.mem_loc);
  out.media = media_after(in, fates);
  // Where frames are mixed, or no frame axis is left, what comes out has one record.
  const bool mixes = std::find(reduced.begin(), reduced.end(), size_t{0}) != reduced.end();
  if (in.rank() >= 3 && (mixes || out.rank() < 3))
    set_one_record(out);
  return out;
}

core::InferResult infer(Reduction reduction, const TDesc &in, const json &params) {
  require_indexable({&in, 1});
  const std::vector<size_t> reduced = reduced_axes(in, params);
  const DType dtype = output_dtype(reduction, in.dtype);
  const ReductionPlan plan = plan_reduction(in, reduced, dtype);
  if (plan.size == 0)
    throw std::invalid_argument(
        "input 0: expected at least one element along the reduced axes, got " + to_string(in) +
        "; no elements have no mean, maximum or minimum");
  TDesc out = describe_output(in, reduced, params["keepdims"].get<bool>(), dtype);
  core::InferResult result = sync_result({&in, 1}, {std::move(out)});
  result.capturable = true;
  const size_t bytes = reduction_memory_bytes(reduction, in.dtype, plan);
  if (in.mem_loc == core::MemLoc::Device && bytes != 0)
    result.own_memory.push_back({core::MemLoc::Device, bytes, "results of parts"});
  return result;
}

TaskSpec spec_of(const ReductionType &type) {
  TaskSpec spec;
  spec.type = type.type;
  spec.doc = type.doc;
  spec.inputs = {{"x", "any shape"}};
  spec.outputs = {{"y", "packed; without the reduced axes, or with 1 there"}};
  spec.params = {
      {"axis", Int | IntArray | Null, "axis or axes to reduce; null = all", json(nullptr)},
      {"keepdims", Bool, "true: reduced axes stay, with one element", json(false)},
  };
  spec.axis_work = {"axis", "reduces"};
  spec.infer = [reduction = type.reduction](
                   const InferContext &, std::span<const TDesc> inputs, const json &params) {
    return infer(reduction, inputs[0], params);
  };
  spec.make_sync = make_reduction_host(type.reduction);
  return spec;
}

}  // namespace

void register_reduction(core::Registry &registry) {
  for (const ReductionType &type : reduction_types)
    register_spec(registry, spec_of(type));
}

}  // namespace holoflow::tasks
