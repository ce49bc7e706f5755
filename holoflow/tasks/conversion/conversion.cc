// SPDX-License-Identifier: LGPL-2.1-or-later
// Spec of Conversion.
#include <stdexcept>

#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/conversion/conversion_tasks.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

using core::DType;
using core::TDesc;
using nlohmann::json;

void check_scaled(const TDesc &in, DType target) {
  if (target == DType::F32 || target == DType::CF32)
    throw ParamError(
        "/strategy",
        "param \"strategy\": expected Real, Modulus or Argument for target " +
            std::string(to_string(target)) +
            ", got \"Scaled\"; set target U8 or U16, or use \"Normalize\"");
  if (in.num_elements() == 0)
    throw std::invalid_argument(
        "input 0: expected at least one element to find the range for " +
        std::string("strategy Scaled, got ") + to_string(in) + "; use strategy Real");
}

core::InferResult infer(std::span<const TDesc> inputs, const json &params) {
  require_indexable(inputs);
  const TDesc &in = inputs[0];
  const DType target = *core::dtype_from_string(params["target"].get<std::string>());
  const Strategy strategy = strategy_of(params);
  if (strategy == Strategy::Scaled)
    check_scaled(in, target);
  core::InferResult result = elementwise_result(inputs, like_input(in, target));
  for (core::InPlace &in_place : result.in_place)
    in_place.writes = !is_identity(in.dtype, target, strategy);
  if (strategy == Strategy::Scaled && in.mem_loc == core::MemLoc::Device)
    result.own_memory.push_back(
        {core::MemLoc::Device, minmax_memory_bytes(plan_groups(in, other_axes({}, in.rank()))),
         "minimum and maximum"});
  return result;
}

}  // namespace

Strategy strategy_of(const json &params) {
  const auto &name = params["strategy"].get_ref<const std::string &>();
  if (name == "Scaled")
    return Strategy::Scaled;
  if (name == "Modulus")
    return Strategy::Modulus;
  return name == "Argument" ? Strategy::Argument : Strategy::Real;
}

bool is_identity(DType from, DType to, Strategy strategy) {
  if (from != to)
    return false;
  const bool never_negative = from == DType::U8 || from == DType::U16;
  return strategy == Strategy::Real || (strategy == Strategy::Modulus && never_negative);
}

void register_conversion(core::Registry &registry) {
  TaskSpec spec;
  spec.type = "Conversion";
  spec.doc =
      "Changes the element type: Real takes the value (the real part, where the target is not "
      "CF32), rounded half to even and saturated; Scaled spreads the finite values over all "
      "levels; Modulus is |x|, Argument the angle.";
  spec.inputs = {{"x", "any shape"}};
  spec.outputs = {{"y", "same shape, packed; the target's element type"}};
  spec.params = {
      {"target", String, "element type of the output", {}, {}, false, {"U8", "U16", "F32", "CF32"}},
      {"strategy",
       String,
       "how values are mapped",
       json("Real"),
       {},
       false,
       {"Real", "Scaled", "Modulus", "Argument"}},
  };
  spec.infer = without_context(infer);
  spec.make_sync = make_conversion_host;
  register_spec(registry, std::move(spec));
}

}  // namespace holoflow::tasks
