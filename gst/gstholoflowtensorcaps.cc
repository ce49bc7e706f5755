// SPDX-License-Identifier: LGPL-2.1-or-later
// Reading and writing the fields of tensor caps.
#include "gstholoflowtensorcaps.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "gstholoflowcaps.h"

namespace holoflow::gst {

namespace {

constexpr size_t nnstreamer_rank_limit = 16;

// Axes of a text like "1,480,640"; blanks around numbers are allowed.
std::vector<size_t> parse_axes(std::string_view text, char separator, const std::string &field) {
  const auto refuse = [&] {
    throw CapsError(
        "expected " + field + " as positive numbers separated by \"" + separator + "\", got \"" +
        std::string(text) + "\"");
  };
  std::vector<size_t> axes;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    std::string_view number = text.substr(begin, end - begin);
    while (number.starts_with(' '))
      number.remove_prefix(1);
    while (number.ends_with(' '))
      number.remove_suffix(1);
    size_t axis = 0;
    const auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), axis);
    if (error != std::errc() || rest != number.data() + number.size() || axis == 0)
      refuse();
    axes.push_back(axis);
    begin = end + 1;
  }
  return axes;
}

core::TDesc packed_tensor(std::vector<size_t> shape, core::DType dtype) {
  try {
    return core::TDesc(std::move(shape), dtype, core::MemLoc::Host);
  } catch (const std::overflow_error &) {
    throw CapsError("expected a tensor that fits memory, its shape overflows");
  }
}

std::string join(const std::vector<size_t> &axes, char separator) {
  std::string text;
  for (const size_t axis : axes) {
    if (!text.empty())
      text += separator;
    text += std::to_string(axis);
  }
  return text;
}

std::string field_text(const GstStructure *structure, const char *field) {
  const GValue *value = gst_structure_get_value(structure, field);
  if (value == nullptr)
    return "";
  if (G_VALUE_HOLDS_STRING(value))
    return g_value_get_string(value);
  const TextPtr text(gst_value_serialize(value));
  return text != nullptr ? text.get() : "";
}

}  // namespace

const char *nnstreamer_type(core::DType dtype) {
  switch (dtype) {
  case core::DType::U8:
    return "uint8";
  case core::DType::U16:
    return "uint16";
  case core::DType::F32:
    return "float32";
  case core::DType::CF32:
    break;
  }
  return nullptr;
}

core::TDesc tensor_from_nnstreamer(const GstStructure *structure) {
  const std::string format = field_text(structure, "format");
  if (!format.empty() && format != "static")
    throw CapsError("expected other/tensors with format=static, got format=" + format);
  const std::string count = field_text(structure, "num_tensors");
  if (count != "1")
    throw CapsError(
        "expected other/tensors with num_tensors=1, got " + (count.empty() ? "none" : count) +
        "; insert \"tensor_demux\" to pick one tensor");
  const std::string type = field_text(structure, "types");
  for (const auto dtype : {core::DType::U8, core::DType::U16, core::DType::F32}) {
    if (type != nnstreamer_type(dtype))
      continue;
    auto shape = parse_axes(field_text(structure, "dimensions"), ':', "dimensions");
    if (shape.size() > nnstreamer_rank_limit)
      throw CapsError("expected at most 16 dimensions, got " + std::to_string(shape.size()));
    std::reverse(shape.begin(), shape.end());
    return packed_tensor(std::move(shape), dtype);
  }
  throw CapsError(
      "expected types=uint8, uint16 or float32, got \"" + type +
      "\"; insert \"tensor_transform mode=typecast option=float32\"");
}

core::TDesc tensor_from_holoflow(const GstStructure *structure) {
  const std::string name = field_text(structure, "dtype");
  const auto dtype = core::dtype_from_string(name);
  if (!dtype)
    throw CapsError(
        "expected dtype=U8, U16, F32 or CF32 in application/x-holoflow-tensor, got \"" + name +
        "\"");
  return packed_tensor(parse_axes(field_text(structure, "shape"), ',', "shape"), *dtype);
}

std::string holoflow_shape(const core::TDesc &tensor) {
  return join(tensor.shape, ',');
}

std::string nnstreamer_dimensions(const core::TDesc &tensor) {
  return join({tensor.shape.rbegin(), tensor.shape.rend()}, ':');
}

}  // namespace holoflow::gst
