// SPDX-License-Identifier: LGPL-2.1-or-later
// Spec of Clip.
#include "holoflow/tasks/clip/clip.hh"

#include <algorithm>
#include <cmath>

#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

using core::DType;
using core::TDesc;
using nlohmann::json;

core::InferResult infer(std::span<const TDesc> inputs, const json &params) {
  require_indexable(inputs);
  (void)clip_bounds(inputs[0].dtype, params);
  return elementwise_result(inputs, like_input(inputs[0]));
}

}  // namespace

ClipBounds clip_bounds(DType dtype, const json &params) {
  if (dtype == DType::F32)
    return {float_param(params, "lo"), float_param(params, "hi")};
  const double largest = dtype == DType::U8 ? UINT8_MAX : UINT16_MAX;
  const double lo = std::ceil(params["lo"].get<double>());
  const double hi = std::floor(params["hi"].get<double>());
  return {std::clamp(lo, 0.0, largest), std::clamp(hi, 0.0, largest)};
}

void register_clip(core::Registry &registry) {
  TaskSpec spec;
  spec.type = "Clip";
  spec.doc = "Limits each element to lo … hi; NaN stays NaN (NumPy's clip).";
  spec.inputs = {{"x", "any shape", {DType::U8, DType::U16, DType::F32}}};
  spec.outputs = {{"y", "same shape and type, packed"}};
  spec.params = {
      {"lo", Number, "what smaller elements become; of integers rounded up", json(0)},
      {"hi", Number, "what larger elements become; of integers rounded down", json(1)},
  };
  spec.infer = without_context(infer);
  spec.make_sync = make_clip_host;
  register_spec(registry, std::move(spec));
}

}  // namespace holoflow::tasks
