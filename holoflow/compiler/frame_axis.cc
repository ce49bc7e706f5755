// SPDX-License-Identifier: LGPL-2.1-or-later
// Transforms and reductions over time that get one frame at a time.
#include "holoflow/compiler/frame_axis.hh"

#include <algorithm>

#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::compiler {

void warn_about_frame_axis(Plan &plan, size_t node) {
  const auto &planned = plan.graph.nodes[node];
  const auto *spec = tasks::find_spec(*plan.registry, planned.spec.kind);
  if (spec == nullptr || spec->axis_work.param.empty() || planned.infer.input_descs.empty())
    return;
  const auto &input = planned.infer.input_descs[0];
  if (input.rank() < 3 || input.shape[0] != 1)
    return;
  const auto params = tasks::complete_params(*spec, planned.spec.settings);
  const auto &value = params.at(spec->axis_work.param);
  if (value.is_null())
    return;
  // All axes: the frame's own number, as a frame has it with or without its axis.
  const auto axes = tasks::normalise_axes(value, input.rank(), spec->axis_work.param);
  if (axes.size() == input.rank() || std::find(axes.begin(), axes.end(), size_t{0}) == axes.end())
    return;
  add_decision(
      plan, runtime::Decision::Kind::Warning, static_cast<int>(node),
      "node " + quoted(planned.spec) + ": " + spec->axis_work.verb +
          " along the frame axis, but each tensor holds one frame; put a \"BatchQueue\" node "
          "before it");
}

}  // namespace holoflow::compiler
