// SPDX-License-Identifier: LGPL-2.1-or-later
// Slice: a view of part of a tensor. Spec and task; nothing is copied, so it serves Host and
// Device.
#include <algorithm>
#include <stdexcept>

#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/common/media.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {
namespace {

using core::TDesc;
using nlohmann::json;

/// What one entry of `slices` takes of its axis.
struct AxisSlice {
  size_t start = 0;
  size_t step = 1;
  size_t count = 0;
  bool drops_axis = false;  ///< an int: one element, and the axis goes
};

/// A bound counted from the front, clamped to 0 … extent, as Python does.
int64_t clamp_bound(const json &item, const char *key, int64_t missing, int64_t extent) {
  const auto found = item.find(key);
  if (found == item.end() || found->is_null())
    return missing;
  const auto bound = found->get<int64_t>();
  // Far below 0 the sum with extent cannot overflow, as extent is not negative.
  return std::clamp<int64_t>(bound < 0 ? bound + extent : bound, 0, extent);
}

AxisSlice take_one(const TDesc &in, size_t axis, const json &item) {
  const auto extent = static_cast<int64_t>(in.shape[axis]);
  const auto index = item.get<int64_t>();
  if (index < -extent || index >= extent) {
    const std::string expected = extent == 0
        ? "a range, as the axis has no elements,"
        : "an index from -" + std::to_string(extent) + " to " + std::to_string(extent - 1);
    throw ParamError(
        "/slices/" + std::to_string(axis),
        "param \"slices\"[" + std::to_string(axis) + "]: expected " + expected + " for axis " +
            std::to_string(axis) + " of " + to_string(in) + ", got " + std::to_string(index));
  }
  return {static_cast<size_t>(index < 0 ? index + extent : index), 1, 1, true};
}

AxisSlice take_range(const TDesc &in, size_t axis, const json &item) {
  const auto extent = static_cast<int64_t>(in.shape[axis]);
  const int64_t start = clamp_bound(item, "start", 0, extent);
  const int64_t stop = clamp_bound(item, "stop", extent, extent);
  const auto found = item.find("step");
  const int64_t step = found == item.end() || found->is_null() ? 1 : found->get<int64_t>();
  if (stop <= start)
    return {0, 1, 0, false};
  const int64_t count = (stop - start - 1) / step + 1;
  // A single element leaves no distance to step over, however large the step.
  return {
      static_cast<size_t>(start), count == 1 ? 1 : static_cast<size_t>(step),
      static_cast<size_t>(count), false};
}

std::vector<AxisSlice> slices_of(const TDesc &in, const json &params) {
  const json &items = params["slices"];
  if (items.size() != in.rank())
    throw ParamError(
        "/slices",
        "param \"slices\": expected " + std::to_string(in.rank()) + " entries, one per axis of " +
            to_string(in) + ", got " + std::to_string(items.size()) + "; {} takes a whole axis");
  std::vector<AxisSlice> slices;
  for (size_t axis = 0; axis < in.rank(); ++axis)
    slices.push_back(
        items[axis].is_object() ? take_range(in, axis, items[axis])
                                : take_one(in, axis, items[axis]));
  return slices;
}

bool is_whole(const AxisSlice &slice, size_t extent) {
  return !slice.drops_axis && slice.count == extent && slice.start == 0;
}

/// The annotation of the view, and the records of the frames that it shows.
void annotate(TDesc &view, const TDesc &in, const std::vector<AxisSlice> &slices) {
  std::vector<AxisFate> fates;
  for (size_t axis = 0; axis < slices.size(); ++axis)
    fates.push_back({slices[axis].drops_axis, !is_whole(slices[axis], in.shape[axis])});
  view.media = media_after(in, fates);
  if (slices.empty() || !has_frames(in))
    return;
  if (view.media)
    view.media->records.reset();
  // Without the frame axis, or as a lone picture, it is one frame.
  if (slices[0].drops_axis || view.rank() < 3)
    set_one_record(view);
}

/// Whether the view shows whole frames picked from axis 0, whose records the task passes on.
bool picks_frames(const TDesc &in, const std::vector<AxisSlice> &slices, size_t rank) {
  if (slices.empty() || !has_frames(in) || is_whole(slices[0], in.shape[0]))
    return false;
  return slices[0].drops_axis || rank >= 3;
}

TDesc view_of(const TDesc &in, const std::vector<AxisSlice> &slices) {
  std::vector<size_t> shape, strides;
  size_t offset = in.offset;
  for (size_t axis = 0; axis < slices.size(); ++axis) {
    offset += slices[axis].start * in.strides[axis];
    if (slices[axis].drops_axis)
      continue;
    shape.push_back(slices[axis].count);
    strides.push_back(slices[axis].step * in.strides[axis]);
  }
  TDesc view(std::move(shape), in.dtype, in.mem_loc, std::move(strides), offset);
  if (view.num_elements() == 0)
    view.offset = in.offset;  // nothing may lie behind the storage's end
  annotate(view, in, slices);
  return view;
}

core::InferResult infer(std::span<const TDesc> inputs, const json &params) {
  const std::vector<AxisSlice> slices = slices_of(inputs[0], params);
  TDesc view = view_of(inputs[0], slices);
  const bool picks = picks_frames(inputs[0], slices, view.rank());
  core::InferResult result = sync_result(inputs, {std::move(view)});
  result.in_place = {{.in_idx = 0, .out_idx = 0, .required = true, .writes = false}};
  result.writes_records = {picks};
  result.capturable = !picks;  // records are host state
  return result;
}

/// Passes on the records of the frames that the view shows; the data needs no call.
class Slice final : public core::ISyncTask {
public:
  Slice(bool picks, AxisSlice frames) : picks_(picks), frames_(frames) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    if (!picks_ || ctx.input_records.empty() || ctx.output_records.empty())
      return core::OpResult::Ok;
    const std::span<core::FrameRecord> from = ctx.input_records[0];
    const std::span<core::FrameRecord> to = ctx.output_records[0];
    for (size_t i = 0; i < std::min(frames_.count, to.size()); ++i) {
      const size_t frame = frames_.start + i * frames_.step;
      if (frame < from.size())
        to[i] = from[frame];
    }
    return core::OpResult::Ok;
  }

private:
  bool picks_;
  AxisSlice frames_;
};

std::unique_ptr<core::ISyncTask> make_slice(const MakeArgs<core::SyncCreateCtx> &args) {
  const TDesc &in = args.inputs[0];
  const std::vector<AxisSlice> slices = slices_of(in, args.params);
  const bool picks = picks_frames(in, slices, args.infer.output_descs[0].rank());
  return std::make_unique<Slice>(picks, slices.empty() ? AxisSlice{} : slices[0]);
}

}  // namespace

void register_slice(core::Registry &registry) {
  TaskSpec spec;
  spec.type = "Slice";
  spec.doc = "A view of part of a tensor; nothing is copied.";
  spec.inputs = {{"x", "any shape"}};
  spec.outputs = {{"y", "a view of x"}};
  spec.params = {
      {"slices", SliceArray, "one per axis: an index, or {start, stop, step > 0}; {} = whole"},
  };
  spec.infer = without_context(infer);
  spec.make_sync = make_slice;
  spec.host_maker_serves_device = true;
  register_spec(registry, std::move(spec));
}

}  // namespace holoflow::tasks
