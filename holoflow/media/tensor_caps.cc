// SPDX-License-Identifier: LGPL-2.1-or-later
// Reading and writing the fields of tensor caps.
#include "holoflow/media/tensor_caps.hh"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <vector>

namespace holoflow::media {

namespace {

using core::DType;

constexpr size_t nnstreamer_rank_limit = 16;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  return text;
}

std::optional<size_t> positive(std::string_view text) {
  size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size() || number == 0)
    return std::nullopt;
  return number;
}

// Axes of a text like "1,480,640"; blanks around numbers are allowed.
std::vector<size_t> axes_of(std::string_view text, char separator, const std::string &field) {
  std::vector<size_t> axes;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    const auto axis = positive(trimmed(text.substr(begin, end - begin)));
    if (!axis)
      throw std::invalid_argument(
          "expected " + field + " as positive numbers separated by \"" + separator + "\", got \"" +
          std::string(text) + "\"; quote it, like " + field + "=\"1" + separator + "480" +
          separator + "640\"");
    axes.push_back(*axis);
    begin = end + 1;
  }
  return axes;
}

core::TDesc packed_tensor(std::vector<size_t> shape, DType dtype) {
  try {
    return core::TDesc(std::move(shape), dtype, core::MemLoc::Host);
  } catch (const std::overflow_error &) {
    throw std::invalid_argument("expected a tensor that fits memory, its shape overflows");
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

}  // namespace

const char *nnstreamer_type(DType dtype) {
  switch (dtype) {
  case DType::U8:
    return "uint8";
  case DType::U16:
    return "uint16";
  case DType::F32:
    return "float32";
  case DType::CF32:
    break;
  }
  return nullptr;
}

core::TDesc tensor_from_nnstreamer(const NnstreamerFields &fields) {
  if (!fields.format.empty() && fields.format != "static")
    throw std::invalid_argument(
        "expected other/tensors with format=static, got format=" + fields.format);
  if (fields.num_tensors != "1")
    throw std::invalid_argument(
        "expected other/tensors with num_tensors=1, got " +
        (fields.num_tensors.empty() ? "none" : fields.num_tensors) +
        "; insert \"tensor_demux\" to pick one tensor");
  for (const auto dtype : {DType::U8, DType::U16, DType::F32}) {
    if (fields.types != nnstreamer_type(dtype))
      continue;
    auto shape = axes_of(fields.dimensions, ':', "dimensions");
    if (shape.size() > nnstreamer_rank_limit)
      throw std::invalid_argument(
          "expected at most 16 dimensions, got " + std::to_string(shape.size()));
    std::reverse(shape.begin(), shape.end());  // the innermost axis comes first
    return packed_tensor(std::move(shape), dtype);
  }
  throw std::invalid_argument(
      "expected types=uint8, uint16 or float32, got \"" + fields.types +
      "\"; insert \"tensor_transform mode=typecast option=float32\"");
}

core::TDesc tensor_from_holoflow(std::string_view dtype, std::string_view shape) {
  const auto known = core::dtype_from_string(dtype);
  if (!known)
    throw std::invalid_argument(
        "expected dtype=U8, U16, F32 or CF32 in application/x-holoflow-tensor, got \"" +
        std::string(dtype) + "\"");
  return packed_tensor(axes_of(shape, ',', "shape"), *known);
}

std::string holoflow_shape(const core::TDesc &tensor) {
  return join(tensor.shape, ',');
}

std::string nnstreamer_dimensions(const core::TDesc &tensor) {
  return join({tensor.shape.rbegin(), tensor.shape.rend()}, ':');
}

}  // namespace holoflow::media
