// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors as values: sizes, strides, text and JSON of descriptors.
#include "holoflow/core/tensor.hh"
#include "holoflow/core/graph_fault.hh"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace holoflow::core {

namespace {

std::string list_text(const std::vector<size_t> &values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0)
      text += ", ";
    text += std::to_string(values[i]);
  }
  return text + "]";
}

[[noreturn]] void throw_overflow(const std::vector<size_t> &shape, DType dtype) {
  throw std::overflow_error(
      "tensor " + std::string(to_string(dtype)) + " " + list_text(shape) +
      ": its size in bytes does not fit in 64 bits");
}

size_t multiply(size_t a, size_t b, const std::vector<size_t> &shape, DType dtype) {
  size_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw_overflow(shape, dtype);
  return product;
}

size_t add(size_t a, size_t b, const std::vector<size_t> &shape, DType dtype) {
  size_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    throw_overflow(shape, dtype);
  return sum;
}

bool has_no_elements(const std::vector<size_t> &shape) {
  return std::find(shape.begin(), shape.end(), size_t{0}) != shape.end();
}

template <typename Enum>
Enum enum_from_json(
    const nlohmann::json &json, const char *what, std::initializer_list<Enum> values) {
  std::string expected;
  for (Enum value : values) {
    if (json.is_string() && json.get_ref<const std::string &>() == to_string(value))
      return value;
    if (!expected.empty())
      expected += ", ";
    expected += "\"" + std::string(to_string(value)) + "\"";
  }
  throw std::invalid_argument(
      std::string(what) + ": expected one of " + expected + ", got " + show(json));
}

size_t size_from_json(const nlohmann::json &json, const std::string &what) {
  if (!json.is_number_unsigned())
    throw std::invalid_argument(what + ": expected an integer of at least 0, got " + show(json));
  return json.get<size_t>();
}

std::vector<size_t> sizes_from_json(const nlohmann::json &json, const std::string &what) {
  if (!json.is_array())
    throw std::invalid_argument(what + ": expected an array of integers, got " + show(json));
  std::vector<size_t> sizes;
  for (const auto &element : json)
    sizes.push_back(size_from_json(element, what));
  return sizes;
}

MediaInfo media_from_json(const nlohmann::json &json) {
  if (!json.is_object())
    throw std::invalid_argument("media: expected an object, got " + show(json));
  MediaInfo media;
  media.pixel_format = json.value("pixel_format", "");
  media.colour_matrix = json.value("colour_matrix", "");
  media.colour_range = json.value("colour_range", "");
  if (json.contains("channel_axis"))
    media.channel_axis = json.at("channel_axis").get<int>();
  if (json.contains("records"))
    media.records = size_from_json(json.at("records"), "media records");
  return media;
}

nlohmann::json media_to_json(const MediaInfo &media) {
  nlohmann::json json = nlohmann::json::object();
  if (!media.pixel_format.empty())
    json["pixel_format"] = media.pixel_format;
  if (!media.colour_matrix.empty())
    json["colour_matrix"] = media.colour_matrix;
  if (!media.colour_range.empty())
    json["colour_range"] = media.colour_range;
  if (media.channel_axis)
    json["channel_axis"] = *media.channel_axis;
  if (media.records)
    json["records"] = *media.records;
  return json;
}

const nlohmann::json &required(const nlohmann::json &json, const char *key) {
  const auto member = json.find(key);
  if (member == json.end())
    throw std::invalid_argument(std::string("tensor descriptor: \"") + key + "\" is missing");
  return *member;
}

}  // namespace

size_t size_of(DType dtype) noexcept {
  switch (dtype) {
  case DType::U8:
    return 1;
  case DType::U16:
    return 2;
  case DType::F32:
    return 4;
  case DType::CF32:
    return 8;
  }
  return 0;
}

std::string_view to_string(DType dtype) noexcept {
  switch (dtype) {
  case DType::U8:
    return "U8";
  case DType::U16:
    return "U16";
  case DType::F32:
    return "F32";
  case DType::CF32:
    return "CF32";
  }
  return "unknown";
}

std::optional<DType> dtype_from_string(std::string_view name) noexcept {
  for (DType dtype : {DType::U8, DType::U16, DType::F32, DType::CF32})
    if (name == to_string(dtype))
      return dtype;
  return std::nullopt;
}

std::string_view to_string(MemLoc loc) noexcept {
  return loc == MemLoc::Host ? "Host" : "Device";
}

TDesc::TDesc(std::vector<size_t> shape, DType dtype, MemLoc mem_loc, size_t offset)
    : shape(std::move(shape)), dtype(dtype), mem_loc(mem_loc), offset(offset) {
  strides = packed_strides(this->shape, dtype);
  (void)add(num_bytes(), offset, this->shape, dtype);
}

TDesc::TDesc(
    std::vector<size_t> shape, DType dtype, MemLoc mem_loc, std::vector<size_t> strides,
    size_t offset)
    : shape(std::move(shape)), dtype(dtype), mem_loc(mem_loc), strides(std::move(strides)),
      offset(offset) {
  if (this->strides.size() != this->shape.size())
    throw std::invalid_argument(
        "tensor descriptor: expected one stride per axis of " + list_text(this->shape) + ", got " +
        list_text(this->strides));
}

size_t TDesc::num_elements() const {
  if (has_no_elements(shape))
    return 0;
  size_t count = 1;
  for (size_t extent : shape)
    count = multiply(count, extent, shape, dtype);
  return count;
}

size_t TDesc::num_bytes() const {
  if (has_no_elements(shape))
    return 0;
  if (strides.size() != shape.size())
    throw std::invalid_argument(
        "tensor descriptor: expected one stride per axis of " + list_text(shape) + ", got " +
        list_text(strides));
  size_t bytes = size_of(dtype);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    bytes = add(bytes, multiply(shape[axis] - 1, strides[axis], shape, dtype), shape, dtype);
  return bytes;
}

std::vector<size_t> packed_strides(const std::vector<size_t> &shape, DType dtype) {
  std::vector<size_t> strides(shape.size());
  size_t stride = size_of(dtype);
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    // As NumPy does, an empty axis counts as one, so that the other strides stay meaningful.
    stride = multiply(stride, std::max<size_t>(shape[axis], 1), shape, dtype);
  }
  return strides;
}

bool is_packed(const TDesc &desc) {
  if (has_no_elements(desc.shape))
    return true;
  if (desc.strides.size() != desc.shape.size())
    return false;
  size_t expected = size_of(desc.dtype);
  for (size_t axis = desc.shape.size(); axis-- > 0;) {
    // The stride of an axis with one element is never used.
    if (desc.shape[axis] != 1 && desc.strides[axis] != expected)
      return false;
    // What does not fit is no array, packed or not; num_bytes() says so.
    if (__builtin_mul_overflow(expected, desc.shape[axis], &expected))
      return false;
  }
  return true;
}

std::string to_string(const TDesc &desc) {
  std::string text = std::string(to_string(desc.dtype)) + " " + list_text(desc.shape) + " on " +
      std::string(to_string(desc.mem_loc));
  if (!is_packed(desc))
    text += ", strides " + list_text(desc.strides);
  if (desc.offset != 0)
    text += ", offset " + std::to_string(desc.offset);
  return text;
}

void to_json(nlohmann::json &json, DType dtype) {
  json = std::string(to_string(dtype));
}

void from_json(const nlohmann::json &json, DType &dtype) {
  dtype = enum_from_json(json, "dtype", {DType::U8, DType::U16, DType::F32, DType::CF32});
}

void to_json(nlohmann::json &json, MemLoc loc) {
  json = std::string(to_string(loc));
}

void from_json(const nlohmann::json &json, MemLoc &loc) {
  loc = enum_from_json(json, "mem_loc", {MemLoc::Host, MemLoc::Device});
}

void to_json(nlohmann::json &json, const TDesc &desc) {
  json = {
      {"shape", desc.shape},
      {"dtype", std::string(to_string(desc.dtype))},
      {"mem_loc", std::string(to_string(desc.mem_loc))},
      {"strides", desc.strides},
      {"offset", desc.offset}};
  if (desc.media)
    json["media"] = media_to_json(*desc.media);
}

void from_json(const nlohmann::json &json, TDesc &desc) {
  if (!json.is_object())
    throw std::invalid_argument("tensor descriptor: expected an object, got " + show(json));
  auto shape = sizes_from_json(required(json, "shape"), "shape");
  DType dtype = DType::U8;
  from_json(required(json, "dtype"), dtype);
  MemLoc mem_loc = MemLoc::Host;
  if (json.contains("mem_loc"))
    from_json(json.at("mem_loc"), mem_loc);
  const size_t offset = json.contains("offset") ? size_from_json(json.at("offset"), "offset") : 0;
  desc = json.contains("strides") ? TDesc(
                                        std::move(shape), dtype, mem_loc,
                                        sizes_from_json(json.at("strides"), "strides"), offset)
                                  : TDesc(std::move(shape), dtype, mem_loc, offset);
  if (json.contains("media"))
    desc.media = media_from_json(json.at("media"));
}

Tensor::Tensor(const TDesc &desc) : desc_(desc) {
  if (desc.mem_loc != MemLoc::Host)
    throw std::invalid_argument(
        "Tensor: expected a descriptor on Host, got " + to_string(desc) +
        "; Device tensors belong to the compiler and to tasks");
  const size_t bytes = add(desc.num_bytes(), desc.offset, desc.shape, desc.dtype);
  memory_ = std::make_unique<std::byte[]>(bytes);
  storage_ = std::make_unique<Storage>(Storage{MemLoc::Host, bytes, memory_.get()});
}

}  // namespace holoflow::core
