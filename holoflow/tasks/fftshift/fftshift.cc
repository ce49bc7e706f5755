// SPDX-License-Identifier: LGPL-2.1-or-later
// Specs of FFTShift and IFFTShift.
#include "holoflow/tasks/fftshift/fftshift.hh"

#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/common/media.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {

namespace {

using core::InferResult;
using core::TDesc;
using nlohmann::json;

/// Rotated axes do not hold their elements in order.
std::vector<AxisFate> fates_of(const std::vector<size_t> &starts) {
  std::vector<AxisFate> fates(starts.size());
  for (size_t axis = 0; axis < starts.size(); ++axis)
    fates[axis].altered = starts[axis] != 0;
  return fates;
}

TaskSpec shift_spec(const std::string &type, const std::string &doc, ShiftDirection direction) {
  TaskSpec spec;
  spec.type = type;
  spec.doc = doc;
  spec.inputs = {{.name = "input", .doc = ""}};
  spec.outputs = {{.name = "output", .doc = "packed, of the input's shape and element type"}};
  spec.params = {
      {.name = "axes",
       .types = IntArray | Null,
       .doc = "the axes to rotate, from the end where negative; null: the picture's",
       .default_value = json()},
  };
  spec.axis_work = {"axes", "rotates"};
  spec.infer =
      [direction](const InferContext &, std::span<const TDesc> inputs, const json &params) {
        require_indexable(inputs);
        TDesc output = like_input(inputs[0]);
        output.media = media_after(inputs[0], fates_of(shift_starts(inputs[0], params, direction)));
        InferResult result = sync_result(inputs, {std::move(output)});
        result.capturable = true;
        return result;
      };
  spec.make_sync = [direction](const MakeArgs<core::SyncCreateCtx> &args) {
    return make_shift_host(args, shift_starts(args.inputs[0], args.params, direction));
  };
  return spec;
}

}  // namespace

std::vector<size_t> shift_starts(const TDesc &input, const json &params, ShiftDirection direction) {
  std::vector<size_t> starts(input.rank(), 0);
  for (const size_t axis : spatial_axes(input, params.at("axes"))) {
    const size_t n = input.shape[axis];
    if (n > 1)
      starts[axis] = direction == ShiftDirection::ToCentre ? n - n / 2 : n / 2;
  }
  return starts;
}

void register_fftshift(core::Registry &registry) {
  register_spec(
      registry,
      shift_spec(
          "FFTShift", "Moves the zero frequency to the middle (NumPy's fftshift)",
          ShiftDirection::ToCentre));
  register_spec(
      registry,
      shift_spec(
          "IFFTShift",
          "Moves the zero frequency from the middle to the front "
          "(NumPy's ifftshift)",
          ShiftDirection::FromCentre));
}

}  // namespace holoflow::tasks
