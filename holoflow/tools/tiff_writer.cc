// SPDX-License-Identifier: LGPL-2.1-or-later
// TIFF through libtiff: a page for each frame.
#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/output_file.hh"
#include "holoflow/tools/tiff_library.hh"
#include "holoflow/tools/written_picture.hh"

namespace holoflow::tools {

namespace {

using core::DType;

class TiffWriter final : public FrameWriter {
public:
  TiffWriter(const std::string &path, const core::TDesc &tensor)
      : output_(path), picture_(path, tensor, "TIFF", true),
        file_(open_tiff_library(output_.temporary(), "w")) {
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
    forget_tiff_error();
    if (TIFFFlush(file_.get()) != 1)
      fail();
    file_.reset();
    if (!tiff_error().empty())
      fail();
    output_.commit();
  }

private:
  void write_page(const std::byte *frame) {
    TIFF *file = file_.get();
    const auto channels = static_cast<uint16_t>(picture_.channels());
    const DType dtype = picture_.dtype();
    forget_tiff_error();
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
        "cannot be written as TIFF: " + tiff_error() +
            "; above 4 GiB write .npy, which has no limit");
  }

  OutputFile output_;
  WrittenPicture picture_;
  OwnedTiff file_;
  bool any_ = false;
};

}  // namespace

std::unique_ptr<FrameWriter> create_tiff(const std::string &path, const core::TDesc &tensor) {
  return std::make_unique<TiffWriter>(path, tensor);
}

}  // namespace holoflow::tools
