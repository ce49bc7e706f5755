// SPDX-License-Identifier: LGPL-2.1-or-later
// Params that name axes.
#include "holoflow/tasks/common/axes.hh"

#include <algorithm>

#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {
namespace {

bool contains(const std::vector<size_t> &axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::string range_of(size_t rank) {
  if (rank == 0)
    return "no axis, as the tensor has rank 0";
  const std::string last = std::to_string(rank - 1);
  return "an axis from -" + std::to_string(rank) + " to " + last;
}

size_t axis_at(int64_t axis, size_t rank, const std::string &param, const std::string &pointer) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    throw ParamError(
        pointer,
        "param \"" + param + "\": expected " + range_of(rank) + ", got " + std::to_string(axis));
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::optional<size_t> channel_axis_of(const core::TDesc &desc) {
  if (!desc.media || !desc.media->channel_axis)
    return std::nullopt;
  return normalise_axis(*desc.media->channel_axis, desc.rank(), "channel axis");
}

}  // namespace

size_t normalise_axis(int64_t axis, size_t rank, const std::string &param) {
  return axis_at(axis, rank, param, "/" + param);
}

std::vector<size_t> normalise_axes(
    const nlohmann::json &value, size_t rank, const std::string &param) {
  if (value.is_null())
    return other_axes({}, rank);
  if (!value.is_array())
    return {normalise_axis(value.get<int64_t>(), rank, param)};
  std::vector<size_t> axes;
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string pointer = "/" + param + "/" + std::to_string(i);
    const size_t axis = axis_at(value[i].get<int64_t>(), rank, param, pointer);
    if (contains(axes, axis))
      throw ParamError(
          pointer,
          "param \"" + param + "\": expected different axes, got axis " + std::to_string(axis) +
              " twice");
    axes.push_back(axis);
  }
  return axes;
}

size_t axis_or_last(
    const core::TDesc &desc, const nlohmann::json &value, const std::string &param) {
  if (!value.is_null())
    return normalise_axis(value.get<int64_t>(), desc.rank(), param);
  const size_t axis = normalise_axis(-1, desc.rank(), param);
  if (axis == channel_axis_of(desc))
    throw ParamError(
        "/" + param,
        "param \"" + param +
            "\": expected an axis of the picture by default, got the channel axis " +
            std::to_string(axis) + " of " + to_string(desc) +
            "; set \"as\": \"GRAY\" on Input, or name the axis");
  return axis;
}

std::vector<size_t> spatial_axes(
    const core::TDesc &desc, const nlohmann::json &value, const std::string &param) {
  if (!value.is_null())
    return normalise_axes(value, desc.rank(), param);
  const std::optional<size_t> channel = channel_axis_of(desc);
  std::vector<size_t> axes =
      channel ? other_axes({*channel}, desc.rank()) : other_axes({}, desc.rank());
  if (axes.size() > 2)
    axes.erase(axes.begin(), axes.end() - 2);
  return axes;
}

std::vector<size_t> other_axes(const std::vector<size_t> &axes, size_t rank) {
  std::vector<size_t> others;
  for (size_t axis = 0; axis < rank; ++axis)
    if (!contains(axes, axis))
      others.push_back(axis);
  return others;
}

std::vector<size_t> pick_axes(const std::vector<size_t> &values, const std::vector<size_t> &axes) {
  std::vector<size_t> picked;
  for (const size_t axis : axes)
    picked.push_back(values[axis]);
  return picked;
}

}  // namespace holoflow::tasks
