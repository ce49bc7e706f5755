// SPDX-License-Identifier: LGPL-2.1-or-later
// TIFF: a frame for each page, or for each of the planes that follow the only page.
#include <algorithm>
#include <filesystem>
#include <vector>

#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/tiff_contents.hh"
#include "holoflow/tools/tiff_page.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

/// Planes back to back in a file, of which only the first has a directory: what ImageJ writes above
/// 4 GB, and tifffile with truncate.
struct PlaneStack {
  size_t begin = 0;  ///< byte of the first plane; 0 where the file has no such planes
  size_t count = 0;  ///< whole planes in the file
};

/// Where the page's samples begin, 0 where they do not lie in one piece, as they stand.
size_t begin_of_samples(TIFF *file, const TiffPage &page) {
  uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &compression);
  const bool is_interleaved = page.samples == 1 || page.planes == PLANARCONFIG_CONTIG;
  uint64_t *offsets = nullptr, *bytes = nullptr;
  if (compression != COMPRESSION_NONE || page.tiled || !is_interleaved ||
      TIFFGetField(file, TIFFTAG_STRIPOFFSETS, &offsets) != 1 || offsets == nullptr ||
      TIFFGetField(file, TIFFTAG_STRIPBYTECOUNTS, &bytes) != 1 || bytes == nullptr)
    return 0;
  for (uint32_t strip = 1; strip < TIFFNumberOfStrips(file); ++strip)
    if (offsets[strip] != offsets[strip - 1] + bytes[strip - 1])
      return 0;
  return offsets[0];
}

class TiffReader final : public FrameReader {
public:
  explicit TiffReader(const std::string &path) : path_(path), chain_(open_chain(path)) {
    file_ = open_tiff_library(path, "rm");  // m: no mapping, a file that shrinks must not end it
    if (file_ == nullptr)
      throw FileError(path, "expected a TIFF picture, got: " + tiff_error());
    page_ = tiff_page_of(file_.get());
    check_tiff_page(path, page_);
    const SampleType type = page_.type();
    try {
      frame_ = sampled_frame(page_.width, page_.height, page_.samples, *dtype_of(type));
    } catch (const std::exception &fault) {
      throw FileError(path, fault.what());
    }
    converter_.take(type);
    find_images();
  }

  bool read(std::byte *to) override {
    if (ended_)
      return false;
    const bool as_it_stands = converter_.changes_nothing();
    if (!as_it_stands)
      page_samples_.resize(page_bytes());
    std::byte *samples = as_it_stands ? to : page_samples_.data();
    if (stack_.begin != 0)
      read_plane(samples);
    else
      read_page(samples);
    if (page_.is_inverted())
      invert_samples(samples, page_bytes());
    if (!as_it_stands)
      converter_.convert(samples, to, page_.sample_count());
    return true;
  }

  [[nodiscard]] std::optional<size_t> total() const override {
    return stack_.begin != 0 ? stack_.count : chain_.pages;
  }

  [[nodiscard]] std::string left_unread() const override {
    const std::string begin = "\"" + path_ + "\": ";
    if (!chain_.fault.empty())
      return begin + "not read whole: page " + std::to_string(chain_.pages + 1) +
          " cannot be reached, " + chain_.fault;
    if (counted_.images > *total() && !counted_.in_several_files)
      return begin + counted_.program + "'s description counts " + std::to_string(counted_.images) +
          " images, the file holds " + std::to_string(*total()) +
          (stack_.begin != 0 ? " whole ones; it is cut off" : "");
    if (ended_ && pages_ < *total())
      return begin + std::to_string(pages_) + " of " + std::to_string(*total()) +
          " pages were read";
    return "";
  }

  [[nodiscard]] std::string remark() const override {
    if (counted_.in_several_files && counted_.images > *total())
      return "\"" + path_ + "\": OME's description counts " + std::to_string(counted_.images) +
          " images, this file holds " + std::to_string(*total()) + " of them";
    return converter_.rounded() ? "\"" + path_ + "\": " + rounding_text() : "";
  }

private:
  static TiffChain open_chain(const std::string &path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error))
      throw FileError(path, "expected a regular file for TIFF, got a pipe or a device");
    return follow_tiff_chain(path);
  }

  [[nodiscard]] size_t page_bytes() const { return page_.sample_count() * page_.bits / 8; }

  /// Compares the pages with what the program that wrote them says.
  void find_images() {
    char *description = nullptr;
    if (TIFFGetField(file_.get(), TIFFTAG_IMAGEDESCRIPTION, &description) == 1 &&
        description != nullptr)
      counted_ = count_described_images(description, page_.sample_count());
    if (chain_.pages != 1 || counted_.images < 2 || counted_.in_several_files)
      return;
    const size_t begin = begin_of_samples(file_.get(), page_);
    std::error_code error;
    const size_t size = fs::file_size(path_, error);
    if (begin == 0 || begin >= size || error)
      return;
    const size_t there = std::min((size - begin) / page_bytes(), counted_.images);
    // A directory among what would be planes: the description is older than the file.
    if (there < 1 || (chain_.first >= begin && chain_.first - begin < there * page_bytes()))
      return;
    stack_ = {begin, there};
    source_.emplace(path_);
    source_->skip(begin);
    SampleType type = page_.type();
    type.swapped = type.bytes > 1 && TIFFIsByteSwapped(file_.get()) != 0;
    converter_.take(type);
  }

  void read_plane(std::byte *samples) {
    if (source_->read(samples, page_bytes()) != page_bytes())
      throw FileError(path_, "the file ends within plane " + std::to_string(pages_ + 1));
    ended_ = ++pages_ == stack_.count;
  }

  void read_page(std::byte *samples) {
    const TiffPage page = tiff_page_of(file_.get());
    const std::string here = "page " + std::to_string(pages_ + 1);
    if (page != page_)
      throw FileError(
          path_,
          "expected pages that are all alike, " + page_.text() + ", got " + page.text() + " in " +
              here + "; split the file");
    try {
      decode_tiff_page(file_.get(), page, samples);
    } catch (const std::runtime_error &error) {
      throw FileError(path_, here + ": " + error.what());
    }
    ++pages_;
    forget_tiff_error();
    ended_ = TIFFReadDirectory(file_.get()) != 1;
    if (ended_ && !tiff_error().empty() && chain_.fault.empty())
      throw FileError(path_, "what follows " + here + " cannot be read: " + tiff_error());
  }

  std::string path_;
  TiffChain chain_;
  OwnedTiff file_;
  TiffPage page_;  // all are like it
  CountedImages counted_;
  PlaneStack stack_;
  std::optional<ByteSource> source_;  // of the stack
  SampleConverter converter_{SampleType{}};
  std::vector<std::byte> page_samples_;  // before they are converted
  size_t pages_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<FrameReader> open_tiff(const std::string &path) {
  return std::make_unique<TiffReader>(path);
}

}  // namespace holoflow::tools
