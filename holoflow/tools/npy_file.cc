// SPDX-License-Identifier: LGPL-2.1-or-later
// NumPy's .npy, also several arrays in one file, as numpy.save leaves them on one open file.
#include <algorithm>
#include <array>
#include <vector>

#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/npy_header.hh"
#include "holoflow/tools/output_file.hh"

namespace holoflow::tools {

namespace {

using core::DType;

/// The arrays of a source, in order.
class NpyArrays {
public:
  explicit NpyArrays(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), first_(read_npy_header(*source_)), array_(first_) {}

  [[nodiscard]] const NpyHeader &first() const { return first_; }
  /// The one whose elements come next.
  [[nodiscard]] const NpyHeader &array() const { return array_; }
  [[nodiscard]] ByteSource &source() { return *source_; }
  [[nodiscard]] const std::string &path() const { return source_->path(); }
  /// Why the source was not read to its end, "" where it was or may still be.
  [[nodiscard]] const std::string &left_unread() const { return left_unread_; }

  /// Once every element has been read; false where no array with such frames follows.
  bool next() {
    const std::string begin = source_->peek(npy_magic.size());
    if (!left_unread_.empty() || begin.empty())
      return false;
    if (begin != npy_magic)
      return stop("what follows its last array is not one");
    const NpyHeader header = read_npy_header(*source_);
    if (header.frame.tensor != first_.frame.tensor)
      return stop(
          "it holds a further array of " + core::to_string(header.frame.tensor) +
          ", the first is of " + core::to_string(first_.frame.tensor) +
          "; save each to a file of its own");
    array_ = header;
    return true;
  }

private:
  bool stop(const std::string &why) {
    left_unread_ = "\"" + source_->path() + "\": not read to its end: " + why;
    return false;
  }

  std::unique_ptr<ByteSource> source_;
  NpyHeader first_, array_;
  std::string left_unread_;
};

class NpyReader final : public FrameReader {
public:
  explicit NpyReader(std::unique_ptr<ByteSource> source)
      : arrays_(std::move(source)), converter_(arrays_.first().type) {
    frame_ = arrays_.first().frame;
    if (const std::string &path = arrays_.path();
        arrays_.source().rest() && path != standard_stream)
      look_ahead(path);
  }

  bool read(std::byte *to) override {
    while (next_ == arrays_.array().frames)
      if (!begin_next_array())
        return false;
    const NpyHeader &array = arrays_.array();
    const bool as_it_stands = converter_.changes_nothing();
    if (!as_it_stands)
      file_frame_.resize(array.file_frame_bytes);
    std::byte *read_to = as_it_stands ? to : file_frame_.data();
    if (arrays_.source().read(read_to, array.file_frame_bytes) != array.file_frame_bytes)
      throw FileError(
          arrays_.path(),
          "expected " + std::to_string(array.frames) + " frames, got " + std::to_string(next_) +
              " and a part; the file is cut off");
    if (!as_it_stands)
      converter_.convert(file_frame_.data(), to, frame_.tensor.num_elements());
    ++next_;
    return true;
  }

  [[nodiscard]] std::optional<size_t> total() const override { return total_; }
  [[nodiscard]] std::string left_unread() const override {
    return left_unread_.empty() ? arrays_.left_unread() : left_unread_;
  }
  [[nodiscard]] std::string remark() const override {
    return converter_.rounded() ? "\"" + arrays_.path() + "\": " + rounding_text() : "";
  }

private:
  bool begin_next_array() {
    if (!arrays_.next())
      return false;
    converter_.take(arrays_.array().type);
    next_ = 0;
    return true;
  }

  /// Every array's header, so that nothing runs where a later one is wrong.
  void look_ahead(const std::string &path) {
    NpyArrays ahead(std::make_unique<ByteSource>(path));
    size_t frames = 0;
    do {
      frames += ahead.array().frames;
      ahead.source().skip(ahead.array().frames * ahead.array().file_frame_bytes);
    } while (ahead.next());
    total_ = frames;
    left_unread_ = ahead.left_unread();
  }

  NpyArrays arrays_;
  SampleConverter converter_;
  std::vector<std::byte> file_frame_;
  size_t next_ = 0;  // in the array
  std::optional<size_t> total_;
  std::string left_unread_;  // seen ahead
};

constexpr std::array<std::pair<std::string_view, DType>, 4> element_types{
    {{"u1", DType::U8}, {"u2", DType::U16}, {"f4", DType::F32}, {"c8", DType::CF32}}};

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
    std::string text(npy_magic);
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

std::unique_ptr<FrameReader> open_npy(std::unique_ptr<ByteSource> source) {
  return std::make_unique<NpyReader>(std::move(source));
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
