// SPDX-License-Identifier: LGPL-2.1-or-later
// Raw frames: rows without gaps, frames back to back or with as many bytes between them as --gap
// says, after a header of as many bytes as --skip says.
#include <algorithm>

#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/output_file.hh"

namespace holoflow::tools {

namespace {

class RawReader final : public FrameReader {
public:
  RawReader(std::unique_ptr<ByteSource> source, const RawLayout &layout)
      : source_(std::move(source)), gap_(layout.gap) {
    frame_ = layout.frame;
    if (const auto size = source_->rest())
      total_ = count_frames_in(*size, layout.skip);
    if (const size_t there = source_->skip(layout.skip); there != layout.skip)
      throw FileError(
          source_->path(),
          "expected " + std::to_string(layout.skip) + " bytes to leave out (--skip), got " +
              std::to_string(there));
  }

  bool read(std::byte *to) override {
    if (frames_ > 0)
      if (const size_t there = source_->skip(gap_); there != 0 && there != gap_)
        refuse_partial(frames_, there);
    const size_t count = source_->read(to, frame_.bytes);
    if (count != 0 && count != frame_.bytes)
      refuse_partial(frames_, count);
    frames_ += count != 0;
    return count != 0;
  }

  [[nodiscard]] std::optional<size_t> total() const override { return total_; }

private:
  /// The last gap may be missing.
  [[nodiscard]] size_t count_frames_in(size_t size, size_t skip) const {
    const size_t data = size - std::min(size, skip);
    const size_t step = frame_.bytes + gap_;
    const size_t whole = data / step, rest = data % step;
    if (rest != 0 && rest != frame_.bytes)
      refuse_partial(whole + (rest > frame_.bytes), rest - (rest > frame_.bytes) * frame_.bytes);
    return whole + (rest != 0);
  }

  [[noreturn]] void refuse_partial(size_t frames, size_t rest) const {
    throw FileError(
        source_->path(),
        "expected whole frames of " + std::to_string(frame_.bytes) + " bytes, got " +
            std::to_string(frames) + " and " + std::to_string(rest) +
            " bytes; check format and size in --caps, that rows have no padding, and whether "
            "headers need --skip or --gap");
  }

  std::unique_ptr<ByteSource> source_;
  size_t gap_;
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

std::unique_ptr<FrameReader> open_raw(std::unique_ptr<ByteSource> source, const RawLayout &layout) {
  return std::make_unique<RawReader>(std::move(source), layout);
}

std::unique_ptr<FrameWriter> create_raw(const std::string &path, const core::TDesc &tensor) {
  return std::make_unique<RawWriter>(path, tensor);
}

}  // namespace holoflow::tools
