// SPDX-License-Identifier: LGPL-2.1-or-later
// Transpose: a view with its axes in another order. Spec and task; nothing is copied, so it serves
// Host and Device.
#include <algorithm>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/common/media.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {
namespace {

using core::TDesc;
using nlohmann::json;

/// Axis i of the view is axis order[i] of the input.
std::vector<size_t> order_of(const TDesc &in, const json &params) {
  const json &value = params["axes"];
  std::vector<size_t> order = normalise_axes(value, in.rank());
  if (order.size() == in.rank())
    return order;
  throw ParamError(
      "/axes",
      "param \"axes\": expected each of the " + std::to_string(in.rank()) + " axes of " +
          to_string(in) + " once, got " + core::show(value));
}

TDesc view_of(const TDesc &in, const std::vector<size_t> &order) {
  std::vector<size_t> shape, strides;
  std::vector<AxisFate> fates(in.rank());
  for (size_t i = 0; i < order.size(); ++i) {
    shape.push_back(in.shape[order[i]]);
    strides.push_back(in.strides[order[i]]);
    fates[order[i]].altered = order[i] != i;
  }
  TDesc view(std::move(shape), in.dtype, in.mem_loc, std::move(strides), in.offset);
  view.media = media_after(in, fates);
  if (view.media && view.media->channel_axis) {
    const auto channel = static_cast<size_t>(*view.media->channel_axis);
    const auto at = std::find(order.begin(), order.end(), channel);
    view.media->channel_axis = static_cast<int>(at - order.begin());
  }
  // What was the frame axis shows parts of all frames now.
  if (!order.empty() && order[0] != 0 && has_frames(in))
    set_one_record(view);
  return view;
}

core::InferResult infer(std::span<const TDesc> inputs, const json &params) {
  core::InferResult result = sync_result(inputs, {view_of(inputs[0], order_of(inputs[0], params))});
  result.in_place = {{.in_idx = 0, .out_idx = 0, .required = true, .writes = false}};
  result.capturable = true;
  return result;
}

class Transpose final : public core::ISyncTask {
public:
  core::OpResult execute(core::SyncCtx &) override { return core::OpResult::Ok; }
};

}  // namespace

void register_transpose(core::Registry &registry) {
  TaskSpec spec;
  spec.type = "Transpose";
  spec.doc = "A view of a tensor with its axes in another order; nothing is copied.";
  spec.inputs = {{"x", "any shape"}};
  spec.outputs = {{"y", "a view of x"}};
  spec.params = {
      {"axes", IntArray, "axis of x for each axis of y, from the end where negative"},
  };
  spec.infer = without_context(infer);
  spec.make_sync = [](const MakeArgs<core::SyncCreateCtx> &) {
    return std::make_unique<Transpose>();
  };
  spec.host_maker_serves_device = true;
  register_spec(registry, std::move(spec));
}

}  // namespace holoflow::tasks
