// SPDX-License-Identifier: LGPL-2.1-or-later
// NumPy's .npy: a magic, the length of a Python dictionary in text, the dictionary, the elements.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/output_file.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;
using core::DType;

constexpr std::string_view magic = "\x93NUMPY";
// No array that fits has a longer one; a wrong length must not fill the memory.
constexpr size_t longest_header = 1 << 16;

constexpr std::array<std::pair<std::string_view, DType>, 4> element_types{
    {{"u1", DType::U8}, {"u2", DType::U16}, {"f4", DType::F32}, {"c8", DType::CF32}}};

class NpyReader final : public FrameReader {
public:
  explicit NpyReader(const std::string &path) : path_(path), file_(path, std::ios::binary) {
    if (!file_)
      throw FileError(path, std::string("cannot be opened: ") + std::strerror(errno));
    read_header();
    const DType dtype = element_type();
    check_order();
    auto shape = array_shape();
    if (shape.size() == 2)
      shape.insert(shape.begin(), 1);  // one picture: graphs want a frame axis
    try {
      frame_ = array_frame(shape, dtype);
    } catch (const std::exception &error) {
      throw FileError(path, std::string("expected frames that fit memory; ") + error.what());
    }
    frames_ = shape.size() >= 3 ? shape[0] : 1;
    check_size();
  }

  bool read(std::byte *to) override {
    if (next_ == frames_)
      return false;
    file_.read(reinterpret_cast<char *>(to), static_cast<std::streamsize>(frame_.bytes));
    if (static_cast<size_t>(file_.gcount()) != frame_.bytes)
      throw FileError(
          path_,
          "expected " + std::to_string(frames_) + " frames, got " + std::to_string(next_) +
              " and a part; the file is cut off");
    ++next_;
    return true;
  }

  [[nodiscard]] std::optional<size_t> total() const override { return frames_; }

private:
  [[noreturn]] void refuse(const std::string &expected, const std::string &got) const {
    throw FileError(path_, "expected " + expected + ", got " + got);
  }

  size_t read_bytes(char *to, size_t count) {
    file_.read(to, static_cast<std::streamsize>(count));
    return static_cast<size_t>(file_.gcount());
  }

  void read_header() {
    std::array<unsigned char, 8> begin{};
    if (read_bytes(reinterpret_cast<char *>(begin.data()), begin.size()) != begin.size() ||
        std::memcmp(begin.data(), magic.data(), magic.size()) != 0)
      refuse("a NumPy array file", "a file that does not begin like one");
    if (begin[6] < 1 || begin[6] > 3)
      refuse("NumPy format 1.0 or 2.0", "version " + std::to_string(begin[6]));
    std::array<unsigned char, 4> length{};
    const size_t count = begin[6] == 1 ? 2 : 4;
    if (read_bytes(reinterpret_cast<char *>(length.data()), count) != count)
      refuse("the length of a header", "the end of the file");
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i)
      bytes |= size_t{length[i]} << (8 * i);
    if (bytes > longest_header)
      refuse("a header of at most 65536 bytes", std::to_string(bytes));
    header_.resize(bytes);
    if (read_bytes(header_.data(), bytes) != bytes)
      refuse("a whole header", "the end of the file");
    data_begin_ = begin.size() + count + bytes;
  }

  /// What stands behind a key of the dictionary, up to the end of the header.
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

  [[nodiscard]] DType element_type() const {
    const std::string_view value = value_of("descr");
    const size_t end = value.size() < 2 ? std::string_view::npos : value.find(value[0], 1);
    if ((value[0] != '\'' && value[0] != '"') || end == std::string_view::npos)
      refuse("elements of one type", core::quote(value.substr(0, 40)));
    const std::string_view text = value.substr(1, end - 1);
    const std::string_view type = text.substr(std::min<size_t>(1, text.size()));
    for (const auto &[name, dtype] : element_types) {
      if (type != name)
        continue;
      if (text[0] == '>')
        refuse(
            "little-endian elements",
            core::quote(text) + "; save array.astype('<" + std::string(type) + "')");
      return dtype;
    }
    const bool complex = type.starts_with('c');
    refuse(
        "elements of u1, u2, f4 or c8",
        core::quote(text) + "; save array.astype('" + (complex ? "complex64" : "float32") + "')");
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

  void check_size() const {
    std::error_code error;
    if (!fs::is_regular_file(path_, error))
      return;
    const size_t there = fs::file_size(path_, error) - data_begin_;
    if (frames_ != 0 && frame_.bytes > there / frames_)
      refuse(
          std::to_string(frames_) + " frames of " + std::to_string(frame_.bytes) +
              " bytes behind the header",
          std::to_string(there) + " bytes; the file is cut off");
  }

  std::string path_;
  std::ifstream file_;
  std::string header_;
  size_t data_begin_ = 0;
  size_t frames_ = 0;
  size_t next_ = 0;
};

class NpyWriter final : public FrameWriter {
public:
  NpyWriter(const std::string &path, const core::TDesc &tensor)
      : stream_(path), tensor_(tensor), frame_bytes_(tasks::frame_bytes(tensor)) {
    const std::string space(header_bytes, ' ');
    stream_.write(space.data(), space.size());
  }

  void write(const std::byte *data, size_t first, size_t last) override {
    stream_.write(data + first * frame_bytes_, (last - first) * frame_bytes_);
    frames_ += last - first;
  }

  void finish() override {
    const std::string text = header();
    stream_.seek(0);
    stream_.write(text.data(), text.size());
    stream_.commit();
  }

private:
  static constexpr size_t header_bytes = 256;  // a multiple of 64, as NumPy aligns it

  [[nodiscard]] std::string header() const {
    std::vector<size_t> shape = tensor_.shape;
    if (shape.size() >= 3)
      shape[0] = frames_;
    else
      shape.insert(shape.begin(), frames_);
    std::string axes;
    for (const size_t axis : shape)
      axes += std::to_string(axis) + ", ";
    const auto *type =
        std::find_if(element_types.begin(), element_types.end(), [&](const auto &row) {
          return row.second == tensor_.dtype;
        });
    std::string text(magic);
    text += '\1';
    text += '\0';
    constexpr size_t length = header_bytes - 10;
    text += static_cast<char>(length & 0xff);
    text += static_cast<char>(length >> 8);
    text += "{'descr': '" + std::string(tensor_.dtype == DType::U8 ? "|" : "<") +
        std::string(type->first) + "', 'fortran_order': False, 'shape': (" + axes + "), }";
    text.resize(header_bytes - 1, ' ');
    return text + '\n';
  }

  OutputStream stream_;
  core::TDesc tensor_;
  size_t frame_bytes_;
  size_t frames_ = 0;
};

}  // namespace

std::unique_ptr<FrameReader> open_npy(const std::string &path) {
  return std::make_unique<NpyReader>(path);
}

std::unique_ptr<FrameWriter> create_npy(const std::string &path, const core::TDesc &tensor) {
  // Opening a pipe would wait for its reader.
  if (is_pipe_or_device(path))
    throw FileError(
        path,
        "expected a regular file, since the number of frames stands at the begin of .npy, got a "
        "pipe or a device; write raw frames there");
  // More axes would not fit the header's fixed length.
  if (tensor.rank() > 8)
    throw FileError(
        path,
        "expected at most 8 axes, got " + core::to_string(tensor) +
            "; add a \"Reshape\" node before the Output");
  return std::make_unique<NpyWriter>(path, tensor);
}

}  // namespace holoflow::tools
