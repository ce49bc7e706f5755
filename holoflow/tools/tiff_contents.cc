// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/tiff_contents.hh"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace holoflow::tools {

namespace {

/// Numbers of a file in its byte order.
class Numbers {
public:
  explicit Numbers(const std::string &path) : file_(path, std::ios::binary) {
    std::array<char, 2> mark{};
    file_.read(mark.data(), mark.size());
    is_big_endian_ = mark[0] == 'M';
  }

  /// Nothing where the file ends before.
  std::optional<uint64_t> read(uint64_t offset, size_t bytes) {
    std::array<unsigned char, 8> data{};
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(reinterpret_cast<char *>(data.data()), static_cast<std::streamsize>(bytes));
    if (static_cast<size_t>(file_.gcount()) != bytes)
      return std::nullopt;
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; ++i)
      number = number << 8 | data[is_big_endian_ ? i : bytes - 1 - i];
    return number;
  }

private:
  std::ifstream file_;
  bool is_big_endian_ = false;
};

constexpr uint64_t max_offset = uint64_t{1} << 62;

/// The number after `key` in a text, nothing where there is none.
std::optional<size_t> number_after(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos)
    return std::nullopt;
  size_t number = 0;
  const char *begin = text.data() + at + key.size();
  if (std::from_chars(begin, text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

/// Products that overflow are no counts.
size_t multiply(size_t left, size_t right) {
  return right != 0 && left > SIZE_MAX / right ? 0 : left * right;
}

// images=5, in lines of name=value.
CountedImages count_imagej(std::string_view text) {
  const auto images = number_after(text, "\nimages=");
  return {"ImageJ", images.value_or(1)};
}

// {"shape": [5, 2, 3]}
CountedImages count_shaped(std::string_view text, size_t samples) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto shape = json.is_object() ? json.find("shape") : json.end();
  if (!json.is_object() || shape == json.end() || !shape->is_array())
    return {};
  size_t all = 1;
  for (const auto &axis : *shape)
    all = axis.is_number_unsigned() ? multiply(all, axis.get<size_t>()) : 0;
  if (all == 0 || samples == 0 || all % samples != 0)
    return {};
  return {"tifffile", all / samples};
}

// <Pixels SizeX="3" SizeY="2" SizeZ="1" SizeC="1" SizeT="5" …>, one for each series.
CountedImages count_ome(std::string_view text, size_t samples) {
  constexpr std::string_view begin = "<Pixels ";
  CountedImages counted{"OME", 0, true};
  for (size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at + 1)) {
    const std::string_view element = text.substr(at, text.find('>', at) - at);
    size_t all = 1;
    for (const char axis : {'X', 'Y', 'Z', 'C', 'T'})
      all = multiply(all, number_after(element, std::string(" Size") + axis + "=\"").value_or(1));
    counted.images += samples == 0 ? 0 : all / samples;
  }
  return counted;
}

}  // namespace

TiffChain follow_tiff_chain(const std::string &path) {
  Numbers numbers(path);
  TiffChain chain;
  const bool is_big_tiff = numbers.read(2, 2) == 43;
  const size_t pointer_bytes = is_big_tiff ? 8 : 4;
  std::set<uint64_t> seen;
  auto offset = numbers.read(is_big_tiff ? 8 : 4, pointer_bytes);
  chain.first = offset.value_or(0);
  while (offset && *offset != 0) {
    if (*offset > max_offset || !numbers.read(*offset, 1)) {
      chain.fault = "the file ends before it";
      return chain;
    }
    if (!seen.insert(*offset).second) {
      chain.fault = "it is an earlier page again";
      return chain;
    }
    ++chain.pages;
    const auto entries = numbers.read(*offset, is_big_tiff ? 8 : 2);
    const uint64_t tags = is_big_tiff ? 8 + 20 * std::min(entries.value_or(0), max_offset / 32)
                                      : 2 + 12 * entries.value_or(0);
    offset = entries ? numbers.read(*offset + tags, pointer_bytes) : std::nullopt;
  }
  if (!offset)
    chain.fault = "the file ends within the pointer to it";
  return chain;
}

CountedImages count_described_images(std::string_view description, size_t samples) {
  if (description.starts_with("ImageJ="))
    return count_imagej(description);
  if (description.starts_with("{"))
    return count_shaped(description, samples);
  if (description.find("<OME") != std::string_view::npos)
    return count_ome(description, samples);
  return {};
}

}  // namespace holoflow::tools
