// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/npy_header.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/tools/frame_files.hh"

namespace holoflow::tools {

namespace {

// No array that fits has more; a wrong length must not fill the memory.
constexpr size_t max_header_bytes = 1 << 16;

/// `<u2`: byte order, kind, bytes. Nothing for what no tensor takes.
std::optional<SampleType> sample_type(std::string_view text) {
  if (text.size() < 3)
    return std::nullopt;
  SampleType type{text[1], 0};
  const char *end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 2, end, type.bytes);
  if (error != std::errc() || rest != end || !dtype_of(type))
    return std::nullopt;
  constexpr bool is_little = std::endian::native == std::endian::little;
  type.swapped = type.bytes > 1 && text[0] == (is_little ? '>' : '<');
  return type;
}

class HeaderReader {
public:
  explicit HeaderReader(ByteSource &source) : source_(source) {}

  NpyHeader read() {
    read_text();
    NpyHeader header;
    header.type = element_type();
    check_order();
    auto shape = array_shape();
    if (shape.size() == 2)
      shape.insert(shape.begin(), 1);  // one picture: graphs want a frame axis
    try {
      header.frame = array_frame(shape, *dtype_of(header.type));
    } catch (const std::exception &error) {
      throw FileError(
          source_.path(), std::string("expected frames that fit memory; ") + error.what());
    }
    header.frames = shape.size() >= 3 ? shape[0] : 1;
    header.file_frame_bytes = header.frame.tensor.num_elements() * header.type.bytes;
    check_size(header);
    return header;
  }

private:
  [[noreturn]] void refuse(const std::string &expected, const std::string &got) const {
    throw FileError(source_.path(), "expected " + expected + ", got " + got);
  }

  void read_text() {
    std::array<unsigned char, 8> begin{};
    if (source_.read(begin.data(), begin.size()) != begin.size() ||
        !std::equal(npy_magic.begin(), npy_magic.end(), begin.begin(), [](char a, unsigned char b) {
          return static_cast<unsigned char>(a) == b;
        }))
      refuse("a NumPy array file", "a file that does not begin like one");
    if (begin[6] < 1 || begin[6] > 3)
      refuse("NumPy format 1.0 or 2.0", "version " + std::to_string(begin[6]));
    std::array<unsigned char, 4> length{};
    const size_t count = begin[6] == 1 ? 2 : 4;
    if (source_.read(length.data(), count) != count)
      refuse("the length of a header", "the end of the file");
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i)
      bytes |= size_t{length[i]} << (8 * i);
    if (bytes > max_header_bytes)
      refuse("a header of at most 65536 bytes", std::to_string(bytes));
    header_.resize(bytes);
    if (source_.read(header_.data(), bytes) != bytes)
      refuse("a whole header", "the end of the file");
  }

  /// What follows a key of the dictionary, up to the end of the header.
  [[nodiscard]] std::string_view value_of(const std::string &key) const {
    const std::string_view header = header_;
    for (const char quote : {'\'', '"'}) {
      const std::string quoted = quote + key + quote;
      size_t at = header.find(quoted);
      if (at == std::string_view::npos)
        continue;
      at = header.find_first_not_of(" ", at + quoted.size());
      if (at == std::string_view::npos || header[at] != ':')
        continue;
      at = header.find_first_not_of(" ", at + 1);
      if (at != std::string_view::npos)
        return header.substr(at);
    }
    refuse("a header with '" + key + "'", core::quote(header));
  }

  [[nodiscard]] SampleType element_type() const {
    const std::string_view value = value_of("descr");
    const size_t end = value.size() < 2 ? std::string_view::npos : value.find(value[0], 1);
    if ((value[0] != '\'' && value[0] != '"') || end == std::string_view::npos)
      refuse("elements of one type", core::quote(value.substr(0, 40)));
    const std::string_view text = value.substr(1, end - 1);
    const auto type = sample_type(text);
    if (!type)
      refuse(
          "elements of 1 to 8 bytes, whole numbers or float32 or float64, or complex",
          core::quote(text) + "; save array.astype('float32')");
    return *type;
  }

  void check_order() const {
    if (!value_of("fortran_order").starts_with("False"))
      refuse("C order", "Fortran order; save numpy.ascontiguousarray(array)");
  }

  [[nodiscard]] std::vector<size_t> array_shape() const {
    const std::string_view value = value_of("shape");
    const size_t end = value.find(')');
    if (!value.starts_with('(') || end == std::string_view::npos)
      refuse("a shape in parentheses", core::quote(value.substr(0, 40)));
    const std::string_view text = value.substr(0, end);
    std::vector<size_t> shape;
    for (size_t at = 1; at < text.size();) {
      size_t axis = 0;
      const auto [rest, error] = std::from_chars(text.data() + at, text.data() + text.size(), axis);
      const auto stop = static_cast<size_t>(rest - text.data());
      if (error != std::errc() || (stop < text.size() && text[stop] != ','))
        refuse("a shape of numbers", core::quote(text.substr(0, 40)));
      shape.push_back(axis);
      at = std::min(text.find_first_not_of(" ", stop + (stop < text.size())), text.size());
    }
    if (shape.empty())
      refuse("an array with axes", "a single number; save array.reshape(1, 1)");
    const auto elements = shape.size() >= 3 ? shape.begin() + 1 : shape.begin();
    if (std::find(elements, shape.end(), size_t{0}) != shape.end())
      refuse("frames with elements", "shape " + std::string(text) + ")");
    return shape;
  }

  void check_size(const NpyHeader &header) const {
    const auto there = source_.rest();
    if (there && header.frames != 0 && header.file_frame_bytes > *there / header.frames)
      refuse(
          std::to_string(header.frames) + " frames of " + std::to_string(header.file_frame_bytes) +
              " bytes after the header",
          std::to_string(*there) + " bytes; the file is cut off");
  }

  ByteSource &source_;
  std::string header_;
};

}  // namespace

NpyHeader read_npy_header(ByteSource &source) {
  return HeaderReader(source).read();
}

}  // namespace holoflow::tools
