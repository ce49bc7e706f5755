// SPDX-License-Identifier: LGPL-2.1-or-later
// Raw frames: back to back, rows without gaps, no header.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/output_file.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

class RawReader final : public FrameReader {
public:
  RawReader(const std::string &path, const MediaFrame &frame) : path_(path) {
    frame_ = frame;
    std::error_code error;
    if (fs::is_regular_file(path, error)) {
      const auto size = fs::file_size(path, error);
      if (size % frame.bytes != 0)
        refuse_partial(size / frame.bytes, size % frame.bytes);
      total_ = size / frame.bytes;
    }
    file_.open(path, std::ios::binary);
    if (!file_)
      throw FileError(path, std::string("cannot be opened: ") + std::strerror(errno));
  }

  bool read(std::byte *to) override {
    file_.read(reinterpret_cast<char *>(to), static_cast<std::streamsize>(frame_.bytes));
    if (file_.bad())
      throw FileError(path_, std::string("cannot be read: ") + std::strerror(errno));
    const auto count = static_cast<size_t>(file_.gcount());
    if (count != 0 && count != frame_.bytes)
      refuse_partial(frames_, count);
    frames_ += count != 0;
    return count != 0;
  }

  [[nodiscard]] std::optional<size_t> total() const override { return total_; }

private:
  [[noreturn]] void refuse_partial(size_t frames, size_t rest) const {
    throw FileError(
        path_,
        "expected whole frames of " + std::to_string(frame_.bytes) + " bytes, got " +
            std::to_string(frames) + " and " + std::to_string(rest) +
            " bytes; check format and size in --caps, and that rows have no padding");
  }

  std::string path_;
  std::ifstream file_;
  size_t frames_ = 0;
  std::optional<size_t> total_;
};

class RawWriter final : public FrameWriter {
public:
  RawWriter(const std::string &path, const core::TDesc &tensor)
      : stream_(path), frame_bytes_(tasks::frame_bytes(tensor)) {}

  void write(const std::byte *data, size_t first, size_t last) override {
    stream_.write(data + first * frame_bytes_, (last - first) * frame_bytes_);
  }
  void finish() override { stream_.commit(); }

private:
  OutputStream stream_;
  size_t frame_bytes_;
};

}  // namespace

std::unique_ptr<FrameReader> open_raw(const std::string &path, const MediaFrame &frame) {
  return std::make_unique<RawReader>(path, frame);
}

std::unique_ptr<FrameWriter> create_raw(const std::string &path, const core::TDesc &tensor) {
  return std::make_unique<RawWriter>(path, tensor);
}

}  // namespace holoflow::tools
