// SPDX-License-Identifier: LGPL-2.1-or-later
// frame-%04d.png: one picture for each frame.
#include <algorithm>
#include <filesystem>

#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/written_picture.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

/// `%d`, `%4d`, `%04d` in a path; begin is npos where there is none.
struct Place {
  size_t begin = std::string::npos;
  size_t length = 0;
  size_t digits = 1;
};

Place find_place(const std::string &path) {
  for (size_t begin = path.find('%'); begin != std::string::npos;
       begin = path.find('%', begin + 1)) {
    size_t at = begin + 1;
    size_t digits = 0;
    while (at < path.size() && path[at] >= '0' && path[at] <= '9' && at < begin + 4)
      digits = 10 * digits + static_cast<size_t>(path[at++] - '0');
    if (at < path.size() && path[at] == 'd' && digits < 20)
      return {begin, at + 1 - begin, std::max<size_t>(digits, 1)};
  }
  return {};
}

std::string numbered(const std::string &pattern, size_t number) {
  const Place place = find_place(pattern);
  std::string digits = std::to_string(number);
  if (digits.size() < place.digits)
    digits.insert(0, place.digits - digits.size(), '0');
  std::string path = pattern;
  return path.replace(place.begin, place.length, digits);
}

class NumberedReader final : public FrameReader {
public:
  explicit NumberedReader(std::string pattern) : pattern_(std::move(pattern)) {
    for (next_ = 0; next_ < 2; ++next_)
      if (open_next())
        break;
    if (reader_ == nullptr)
      throw FileError(
          pattern_,
          "expected files from \"" + numbered(pattern_, 0) + "\" or \"" + numbered(pattern_, 1) +
              "\" on, there are none");
    frame_ = reader_->frame();
  }

  bool read(std::byte *to) override {
    if (reader_ == nullptr)
      return false;
    const MediaFrame &frame = reader_->frame();
    if (frame.tensor != frame_.tensor)
      throw FileError(
          numbered(pattern_, next_),
          "expected " + core::to_string(frame_.tensor) + " as in the files before it, got " +
              core::to_string(frame.tensor));
    const bool read = reader_->read(to);
    ++next_;
    (void)open_next();
    return read;
  }

private:
  bool open_next() {
    reader_.reset();
    const std::string path = numbered(pattern_, next_);
    std::error_code error;
    if (fs::exists(path, error))
      reader_ = open_png(path);
    return reader_ != nullptr;
  }

  std::string pattern_;
  size_t next_ = 0;
  std::unique_ptr<FrameReader> reader_;  // of file next_; null where there is none
};

/// Each file is whole; after a fault those before it stay.
class NumberedWriter final : public FrameWriter {
public:
  NumberedWriter(std::string pattern, const core::TDesc &tensor)
      : pattern_(std::move(pattern)), tensor_(tensor) {
    (void)WrittenPicture(pattern_, tensor_, "PNG", false);  // refuses before anything runs
  }

  void write(const std::byte *data, size_t first, size_t last) override {
    for (size_t frame = first; frame < last; ++frame, ++next_) {
      const auto writer = create_png(numbered(pattern_, next_), tensor_);
      writer->write(data, frame, frame + 1);
      writer->finish();
    }
  }
  void finish() override {}

  [[nodiscard]] std::string left_behind() const override {
    if (next_ == 0)
      return "";
    return "\"" + pattern_ + "\": the run did not end well; the files up to \"" +
        numbered(pattern_, next_ - 1) + "\" are whole and stay";
  }

private:
  std::string pattern_;
  core::TDesc tensor_;
  size_t next_ = 0;
};

}  // namespace

bool is_numbered(const std::string &path) {
  return find_place(path).begin != std::string::npos;
}

std::unique_ptr<FrameReader> open_numbered_png(const std::string &pattern) {
  return std::make_unique<NumberedReader>(pattern);
}

std::unique_ptr<FrameWriter> create_numbered_png(
    const std::string &pattern, const core::TDesc &tensor) {
  return std::make_unique<NumberedWriter>(pattern, tensor);
}

}  // namespace holoflow::tools
