// SPDX-License-Identifier: LGPL-2.1-or-later
// TIFF through libtiff: one frame for each page.
#include <tiffio.h>

#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/output_file.hh"
#include "holoflow/tools/written_picture.hh"

namespace holoflow::tools {

namespace {

using core::DType;

// libtiff reports by callback; each thread reads what it caused itself.
thread_local std::string last_error;

void on_error(const char *, const char *format, va_list arguments) {
  char text[300];
  std::vsnprintf(text, sizeof(text), format, arguments);
  last_error = text;
}

struct CloseTiff {
  void operator()(TIFF *file) const { TIFFClose(file); }
};
using OwnedTiff = std::unique_ptr<TIFF, CloseTiff>;

OwnedTiff open_quietly(const std::string &path, const char *mode) {
  TIFFSetErrorHandler(on_error);
  TIFFSetWarningHandler(nullptr);
  last_error.clear();
  return OwnedTiff(TIFFOpen(path.c_str(), mode));
}

/// What matters of a page.
struct Page {
  uint32_t width = 0, height = 0;
  uint16_t bits = 1, samples = 1, sample_format = SAMPLEFORMAT_UINT;
  uint16_t photometric = PHOTOMETRIC_MINISBLACK, planes = PLANARCONFIG_CONTIG;
  bool tiled = false;

  friend bool operator==(const Page &, const Page &) = default;

  [[nodiscard]] std::string text() const {
    return std::to_string(width) + "×" + std::to_string(height) + " with " +
        std::to_string(samples) + " samples of " + std::to_string(bits) + " bits";
  }
};

Page page_of(TIFF *file) {
  Page page;
  TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &page.width);
  TIFFGetField(file, TIFFTAG_IMAGELENGTH, &page.height);
  TIFFGetFieldDefaulted(file, TIFFTAG_BITSPERSAMPLE, &page.bits);
  TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &page.samples);
  TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLEFORMAT, &page.sample_format);
  TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &page.photometric);
  TIFFGetFieldDefaulted(file, TIFFTAG_PLANARCONFIG, &page.planes);
  page.tiled = TIFFIsTiled(file) != 0;
  return page;
}

class TiffReader final : public FrameReader {
public:
  explicit TiffReader(const std::string &path) : path_(path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
      throw FileError(path, "expected a regular file for TIFF, got a pipe or a device");
    file_ =
        open_quietly(path, "rm");  // m: no mapping, a file that shrinks must not end the program
    if (file_ == nullptr)
      throw FileError(path, "expected a TIFF picture, got: " + last_error);
    page_ = page_of(file_.get());
    check(page_);
    try {
      frame_ = sampled_frame(page_.width, page_.height, page_.samples, dtype());
    } catch (const std::exception &fault) {
      throw FileError(path, fault.what());
    }
  }

  bool read(std::byte *to) override {
    if (ended_)
      return false;
    const Page page = page_of(file_.get());
    const std::string here = "page " + std::to_string(pages_ + 1);
    if (page != page_)
      throw FileError(
          path_,
          "expected pages that are all alike, " + page_.text() + ", got " + page.text() + " in " +
              here + "; split the file");
    const size_t row_bytes = frame_.bytes / page.height;
    // A header that lies about its rows must not make libtiff write beyond one.
    if (static_cast<size_t>(TIFFScanlineSize(file_.get())) != row_bytes)
      throw FileError(path_, "expected rows of " + std::to_string(row_bytes) + " bytes in " + here);
    for (uint32_t row = 0; row < page.height; ++row) {
      last_error.clear();
      if (TIFFReadScanline(file_.get(), to + row * row_bytes, row) != 1)
        throw FileError(
            path_, "row " + std::to_string(row) + " of " + here + " cannot be read: " + last_error);
    }
    ++pages_;
    last_error.clear();
    ended_ = TIFFReadDirectory(file_.get()) != 1;
    if (ended_ && !last_error.empty())
      throw FileError(path_, "what follows " + here + " cannot be read: " + last_error);
    return true;
  }

private:
  [[nodiscard]] DType dtype() const {
    return page_.bits == 8 ? DType::U8 : page_.bits == 16 ? DType::U16 : DType::F32;
  }

  void check(const Page &page) const {
    const bool whole_numbers =
        page.sample_format == SAMPLEFORMAT_UINT || page.sample_format == SAMPLEFORMAT_VOID;
    const bool fits = (whole_numbers && (page.bits == 8 || page.bits == 16)) ||
        (page.sample_format == SAMPLEFORMAT_IEEEFP && page.bits == 32);
    if (!fits)
      refuse("samples of 8 or 16 bits without sign, or F32", page.text());
    if (page.samples != 1 && page.samples != 3 && page.samples != 4)
      refuse("1, 3 or 4 samples for each pixel", std::to_string(page.samples));
    const auto wanted = page.samples == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB;
    if (page.photometric != wanted)
      refuse(
          page.samples == 1 ? "grey where 0 is black" : "RGB or RGBA",
          "photometric interpretation " + std::to_string(page.photometric));
    if (page.planes != PLANARCONFIG_CONTIG && page.samples > 1)
      refuse("the samples of a pixel beside each other", "separate planes");
    if (page.tiled)
      refuse("rows", "tiles");
  }

  [[noreturn]] void refuse(const std::string &expected, const std::string &got) const {
    throw FileError(
        path_,
        "expected " + expected + ", got " + got +
            "; convert it, for example with \"tiffcp -s -p contig\" or \"convert\"");
  }

  std::string path_;
  OwnedTiff file_;
  Page page_;
  size_t pages_ = 0;
  bool ended_ = false;
};

class TiffWriter final : public FrameWriter {
public:
  TiffWriter(const std::string &path, const core::TDesc &tensor)
      : output_(path), picture_(path, tensor, "TIFF", true),
        file_(open_quietly(output_.temporary(), "w")) {
    if (file_ == nullptr)
      fail();
  }

  void write(const std::byte *data, size_t first, size_t last) override {
    for (size_t frame = first; frame < last; ++frame) {
      write_page(picture_.arrange(data + frame * picture_.frame_bytes()));
      any_ = true;
    }
  }

  void finish() override {
    if (!any_)
      throw FileError(output_.path(), "expected a frame to write, the graph gave none");
    last_error.clear();
    if (TIFFFlush(file_.get()) != 1)
      fail();
    file_.reset();
    if (!last_error.empty())
      fail();
    output_.commit();
  }

private:
  void write_page(const std::byte *frame) {
    TIFF *file = file_.get();
    const auto channels = static_cast<uint16_t>(picture_.channels());
    const DType dtype = picture_.dtype();
    last_error.clear();
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, static_cast<uint32_t>(picture_.width()));
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, static_cast<uint32_t>(picture_.height()));
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, static_cast<uint16_t>(8 * core::size_of(dtype)));
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, channels);
    TIFFSetField(
        file, TIFFTAG_SAMPLEFORMAT, dtype == DType::F32 ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT);
    TIFFSetField(
        file, TIFFTAG_PHOTOMETRIC, channels == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
    TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, TIFFDefaultStripSize(file, 0));
    if (channels == 4) {
      const uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
      TIFFSetField(file, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    }
    for (size_t row = 0; row < picture_.height(); ++row) {
      // libtiff takes rows that it does not write to.
      auto *data = const_cast<std::byte *>(frame + row * picture_.row_bytes());
      if (TIFFWriteScanline(file, data, static_cast<uint32_t>(row)) != 1)
        fail();
    }
    if (TIFFWriteDirectory(file) != 1)
      fail();
  }

  [[noreturn]] void fail() const {
    throw FileError(
        output_.path(),
        "cannot be written as TIFF: " + last_error +
            "; above 4 GiB write .npy, which has no limit");
  }

  OutputFile output_;
  WrittenPicture picture_;
  OwnedTiff file_;
  bool any_ = false;
};

}  // namespace

std::unique_ptr<FrameReader> open_tiff(const std::string &path) {
  return std::make_unique<TiffReader>(path);
}

std::unique_ptr<FrameWriter> create_tiff(const std::string &path, const core::TDesc &tensor) {
  return std::make_unique<TiffWriter>(path, tensor);
}

}  // namespace holoflow::tools
