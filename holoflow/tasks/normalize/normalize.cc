// SPDX-License-Identifier: LGPL-2.1-or-later
// Spec of Normalize.
#include <stdexcept>

#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/normalize/normalize_tasks.hh"

namespace holoflow::tasks {
namespace {

using core::DType;
using core::TDesc;
using nlohmann::json;

core::InferResult infer(std::span<const TDesc> inputs, const json &params) {
  require_indexable(inputs);
  const TDesc &in = inputs[0];
  const GroupPlan plan = plan_groups(in, normalize_axes_of(in, params));
  if (plan.size == 0)
    throw std::invalid_argument(
        "input 0: expected at least one element along the axes, got " + to_string(in) +
        "; an empty group has no minimum");
  (void)normalize_op_of(params);
  core::InferResult result = elementwise_result(inputs, like_input(in, DType::F32));
  if (in.mem_loc == core::MemLoc::Device)
    result.own_memory.push_back(
        {core::MemLoc::Device, minmax_memory_bytes(plan), "minimum and maximum of each group"});
  return result;
}

}  // namespace

std::vector<size_t> normalize_axes_of(const TDesc &in, const json &params) {
  return normalise_axes(params["axes"], in.rank());
}

NormalizeOp normalize_op_of(const json &params) {
  return {float_param(params, "lo"), float_param(params, "hi"), params["eps"].get<double>()};
}

void register_normalize(core::Registry &registry) {
  TaskSpec spec;
  spec.type = "Normalize";
  spec.doc = "Maps the range of the finite values of each group to lo … hi.";
  spec.inputs = {{"x", "any shape", {DType::U8, DType::U16, DType::F32}}};
  spec.outputs = {{"y", "same shape, packed, F32"}};
  spec.params = {
      {"axes", IntArray | Null, "axes a group runs over; null = all, one group", json(nullptr)},
      {"lo", Number, "what the minimum becomes", json(0)},
      {"hi", Number, "what the maximum becomes", json(1)},
      {"eps", Number, "added to max − min: small ranges stay small", json(0), 0},
  };
  spec.axis_work = {"axes", "normalises"};
  spec.infer = without_context(infer);
  spec.make_sync = make_normalize_host;
  register_spec(registry, std::move(spec));
}

}  // namespace holoflow::tasks
