// SPDX-License-Identifier: LGPL-2.1-or-later
// PNG through libpng. Its errors leave by longjmp, which runs no destructors: the functions that
// call it after setjmp hold plain values only.
#include <png.h>

#include <bit>
#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/output_file.hh"
#include "holoflow/tools/written_picture.hh"

namespace holoflow::tools {

namespace {

using core::DType;

struct CloseFile {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using OwnedFile = std::unique_ptr<std::FILE, CloseFile>;

/// Where libpng's errors go.
struct Trouble {
  char text[200] = "";
};

void on_error(png_structp png, png_const_charp text) {
  auto *trouble = static_cast<Trouble *>(png_get_error_ptr(png));
  std::snprintf(trouble->text, sizeof(trouble->text), "%s", text);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

OwnedFile open_file(const std::string &path, const std::string &name, const char *mode) {
  OwnedFile file(std::fopen(name.c_str(), mode));
  if (file == nullptr)
    throw FileError(path, std::string("cannot be opened: ") + std::strerror(errno));
  return file;
}

class PngReader final : public FrameReader {
public:
  explicit PngReader(const std::string &path) : path_(path), file_(open_file(path, path, "rb")) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &trouble_, on_error, on_warning);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr || !read_header()) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      refuse();
    }
    const DType dtype = png_get_bit_depth(png_, info_) == 16 ? DType::U16 : DType::U8;
    try {
      frame_ = sampled_frame(
          png_get_image_width(png_, info_), png_get_image_height(png_, info_),
          png_get_channels(png_, info_), dtype);
    } catch (const std::exception &error) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw FileError(path, error.what());
    }
  }
  PngReader(const PngReader &) = delete;
  PngReader &operator=(const PngReader &) = delete;
  ~PngReader() override { png_destroy_read_struct(&png_, &info_, nullptr); }

  bool read(std::byte *to) override {
    if (done_)
      return false;
    const size_t height = png_get_image_height(png_, info_);
    const size_t row_bytes = png_get_rowbytes(png_, info_);
    std::vector<png_bytep> rows(height);
    for (size_t row = 0; row < height; ++row)
      rows[row] = reinterpret_cast<png_bytep>(to + row * row_bytes);
    if (!read_rows(rows.data()))
      refuse();
    done_ = true;
    return true;
  }

private:
  /// Every picture becomes grey, RGB or RGBA of 8 or 16 bits in the machine's byte order.
  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0)
      return false;
    png_init_io(png_, file_.get());
    png_read_info(png_, info_);
    const int colour = png_get_color_type(png_, info_);
    png_set_expand(png_);  // palettes, 1 to 4 bits, transparent colours
    if (colour == PNG_COLOR_TYPE_GRAY_ALPHA ||
        (colour == PNG_COLOR_TYPE_GRAY && png_get_valid(png_, info_, PNG_INFO_tRNS) != 0))
      png_set_gray_to_rgb(png_);
    if (std::endian::native == std::endian::little)
      png_set_swap(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool read_rows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0)
      return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  [[noreturn]] void refuse() const {
    throw FileError(path_, std::string("expected a whole PNG picture, got: ") + trouble_.text);
  }

  std::string path_;
  OwnedFile file_;
  Trouble trouble_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  bool done_ = false;
};

struct PngHeader {
  png_uint_32 width, height;
  int bits, colour;
};

bool write_rows(
    png_structp png, png_infop info, std::FILE *file, const PngHeader &header, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0)
    return false;
  png_init_io(png, file);
  png_set_IHDR(
      png, info, header.width, header.height, header.bits, header.colour, PNG_INTERLACE_NONE,
      PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (header.bits == 16 && std::endian::native == std::endian::little)
    png_set_swap(png);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

/// Writes one picture into an empty file.
void write_png(const OutputFile &output, WrittenPicture &picture, const std::byte *frame) {
  const OwnedFile file = open_file(output.path(), output.temporary(), "wb");
  Trouble trouble;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &trouble, on_error, on_warning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  const size_t channels = picture.channels();
  const PngHeader header{
      static_cast<png_uint_32>(picture.width()), static_cast<png_uint_32>(picture.height()),
      picture.dtype() == DType::U16 ? 16 : 8,
      channels == 1       ? PNG_COLOR_TYPE_GRAY
          : channels == 3 ? PNG_COLOR_TYPE_RGB
                          : PNG_COLOR_TYPE_RGB_ALPHA};
  // libpng takes rows that it does not write to.
  auto *data = const_cast<std::byte *>(picture.arrange(frame));
  std::vector<png_bytep> rows(picture.height());
  for (size_t row = 0; row < rows.size(); ++row)
    rows[row] = reinterpret_cast<png_bytep>(data + row * picture.row_bytes());
  const bool written = info != nullptr && write_rows(png, info, file.get(), header, rows.data());
  png_destroy_write_struct(&png, &info);
  if (!written)
    throw FileError(output.path(), std::string("cannot be written as PNG: ") + trouble.text);
  if (std::fflush(file.get()) != 0)
    throw FileError(output.path(), std::string("cannot be written: ") + std::strerror(errno));
}

class PngWriter final : public FrameWriter {
public:
  PngWriter(const std::string &path, const core::TDesc &tensor)
      : file_(path), picture_(path, tensor, "PNG", false) {}

  void write(const std::byte *data, size_t first, size_t last) override {
    frames_ += last - first;
    if (frames_ > 1)
      throw FileError(
          file_.path(),
          "expected one frame, got more; number the files, like frame-%04d.png, or write .tiff or "
          ".npy");
    if (frames_ == 1)
      write_png(file_, picture_, data + first * picture_.frame_bytes());
  }

  void finish() override {
    if (frames_ == 0)
      throw FileError(file_.path(), "expected a frame to write, the graph gave none");
    file_.commit();
  }

private:
  OutputFile file_;
  WrittenPicture picture_;
  size_t frames_ = 0;
};

}  // namespace

std::unique_ptr<FrameReader> open_png(const std::string &path) {
  return std::make_unique<PngReader>(path);
}

std::unique_ptr<FrameWriter> create_png(const std::string &path, const core::TDesc &tensor) {
  return std::make_unique<PngWriter>(path, tensor);
}

}  // namespace holoflow::tools
