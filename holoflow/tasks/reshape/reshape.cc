// SPDX-License-Identifier: LGPL-2.1-or-later
// Reshape: a view where the strides allow one, else a packed copy. Spec and Host task.
#include "holoflow/tasks/reshape/reshape.hh"

#include <algorithm>
#include <stdexcept>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/common/media.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/task_spec.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"

namespace holoflow::tasks {
namespace {

using core::TDesc;
using nlohmann::json;

[[noreturn]] void refuse(const TDesc &in, const json &shape, const std::string &expected) {
  throw ParamError(
      "/shape",
      "param \"shape\": expected " + expected + " " + std::to_string(in.num_elements()) +
          " elements as " + to_string(in) + " has, got " + core::show(shape));
}

/// The shape of complete params; -1 becomes what is left of the elements.
std::vector<size_t> shape_of(const TDesc &in, const json &params) {
  const json &value = params["shape"];
  std::vector<size_t> shape;
  std::optional<size_t> open;
  size_t product = 1;
  for (size_t i = 0; i < value.size(); ++i) {
    const auto extent = value[i].get<int64_t>();
    if (extent < -1 || (extent == -1 && open))
      throw ParamError(
          "/shape/" + std::to_string(i),
          "param \"shape\": expected lengths of at least 0 and one -1 at most, got " +
              core::show(value));
    shape.push_back(extent == -1 ? 1 : static_cast<size_t>(extent));
    if (extent == -1) {
      open = i;
    } else if (__builtin_mul_overflow(product, shape.back(), &product)) {
      refuse(in, value, "a shape of");
    }
  }
  const size_t elements = in.num_elements();
  if (open) {
    if (product == 0 || elements % product != 0)
      refuse(in, value, "lengths whose product divides the");
    shape[*open] = elements / product;
  } else if (product != elements) {
    refuse(in, value, "a shape of");
  }
  return shape;
}

/// Pictures stay what they are where their axes do; of other shapes nothing is known but records.
std::optional<core::MediaInfo> media_of(const TDesc &in, const std::vector<size_t> &shape) {
  if (!in.media)
    return std::nullopt;
  const auto rank = static_cast<int>(in.rank());
  const std::optional<int> channel = in.media->channel_axis;
  const size_t picture_axes = channel ? 3 : 2;
  const bool keeps_picture = in.rank() >= picture_axes && shape.size() >= picture_axes &&
      (!channel || *channel == rank - 1) &&
      std::equal(shape.end() - static_cast<std::ptrdiff_t>(picture_axes), shape.end(),
                 in.shape.end() - static_cast<std::ptrdiff_t>(picture_axes));
  core::MediaInfo media = keeps_picture || shape == in.shape ? *in.media : core::MediaInfo{};
  if (keeps_picture && channel)
    media.channel_axis = static_cast<int>(shape.size()) - 1;
  media.records = in.media->records;
  return media;
}

/// Records go with frames only where axis 0 still counts the same frames.
void set_records(TDesc &out, const TDesc &in) {
  const bool frames = out.rank() >= 3;
  if (has_frames(in) && (!frames || out.shape[0] != in.shape[0]))
    set_one_record(out);
  if (in.rank() < 3 && frames && out.shape[0] != 1)
    set_one_record(out);
}

TDesc output_of(const TDesc &in, const std::vector<size_t> &shape) {
  const std::optional<std::vector<size_t>> strides = reshaped_strides(in, shape);
  TDesc out = strides ? TDesc(shape, in.dtype, in.mem_loc, *strides, in.offset)
                      : TDesc(shape, in.dtype, in.mem_loc);
  out.media = media_of(in, shape);
  set_records(out, in);
  return out;
}

core::InferResult infer(std::span<const TDesc> inputs, const json &params) {
  const TDesc &in = inputs[0];
  const std::vector<size_t> shape = shape_of(in, params);
  core::InferResult result = sync_result(inputs, {output_of(in, shape)});
  result.capturable = true;
  if (!reshaped_strides(in, shape)) {
    require_indexable(inputs);
    return result;
  }
  // A packed tensor may be copied where the compiler wants two owners apart; views with gaps are
  // views only.
  result.in_place = {
      {.in_idx = 0, .out_idx = 0, .required = !core::is_packed(in), .writes = false}};
  return result;
}

class ReshapeHost final : public core::ISyncTask {
public:
  core::OpResult execute(core::SyncCtx &ctx) override {
    const core::TView &from = ctx.inputs[0];
    std::byte *to = ctx.outputs[0].data();
    // Row-major order is the same in both shapes: a packed copy of the input is the output.
    if (from.data() != to)
      copy_strided(from.desc, from.data(), packed_like(from.desc), to);
    return core::OpResult::Ok;
  }
};

struct Axis {
  size_t extent;
  size_t stride;
};

/// Axes of more than one element.
std::vector<Axis> long_axes(const TDesc &in) {
  std::vector<Axis> axes;
  for (size_t axis = 0; axis < in.rank(); ++axis)
    if (in.shape[axis] != 1)
      axes.push_back({in.shape[axis], in.strides[axis]});
  return axes;
}

}  // namespace

std::optional<std::vector<size_t>> reshaped_strides(
    const TDesc &in, const std::vector<size_t> &shape) {
  std::vector<size_t> strides = core::packed_strides(shape, in.dtype);
  if (core::is_packed(in) || in.num_elements() == 0)
    return strides;
  const std::vector<Axis> axes = long_axes(in);
  size_t old_begin = 0;
  size_t new_begin = 0;
  // Runs of old and new axes with the same number of elements; within a run the old axes have to
  // continue each other.
  while (old_begin < axes.size()) {
    size_t old_end = old_begin + 1;
    size_t new_end = new_begin + 1;
    size_t old_count = axes[old_begin].extent;
    size_t new_count = shape[new_begin];
    while (old_count != new_count) {
      if (old_count < new_count) {
        old_count *= axes[old_end++].extent;
      } else {
        new_count *= shape[new_end++];
      }
    }
    for (size_t i = old_begin; i + 1 < old_end; ++i)
      if (axes[i].stride != axes[i + 1].extent * axes[i + 1].stride)
        return std::nullopt;
    size_t stride = axes[old_end - 1].stride;
    for (size_t i = new_end; i-- > new_begin;) {
      strides[i] = stride;
      stride *= shape[i];
    }
    old_begin = old_end;
    new_begin = new_end;
  }
  return strides;
}

void register_reshape(core::Registry &registry) {
  TaskSpec spec;
  spec.type = "Reshape";
  spec.doc = "The same elements in another shape: a view, or a copy where the strides allow none.";
  spec.inputs = {{"x", "any shape"}};
  spec.outputs = {{"y", "the elements of x in row-major order"}};
  spec.params = {
      {"shape", IntArray, "lengths of the axes; one of them may be -1: what is left"},
  };
  spec.infer = without_context(infer);
  spec.make_sync = [](const MakeArgs<core::SyncCreateCtx> &) {
    return std::make_unique<ReshapeHost>();
  };
  register_spec(registry, std::move(spec));
}

}  // namespace holoflow::tasks
