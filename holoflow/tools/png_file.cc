// SPDX-License-Identifier: LGPL-2.1-or-later
// PNG through libpng. Its errors leave by longjmp, which runs no destructors: the functions that
// call it after setjmp hold plain values only.
#include <png.h>

#include <bit>
#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
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

/// What an acTL chunk says.
struct Animation {
  png_uint_32 frames = 0;
};

int on_unknown_chunk(png_structp png, png_unknown_chunkp chunk) {
  auto *animation = static_cast<Animation *>(png_get_user_chunk_ptr(png));
  if (std::memcmp(chunk->name, "acTL", 4) == 0 && chunk->size >= 4)
    animation->frames = png_get_uint_32(chunk->data);
  return 1;
}

/// One picture, from its signature to its end. Errors: what() is libpng's text.
class Picture {
public:
  explicit Picture(std::FILE *file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &trouble_, on_error, on_warning);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr || !read_header(file)) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw std::runtime_error(trouble_.text);
    }
  }
  Picture(const Picture &) = delete;
  Picture &operator=(const Picture &) = delete;
  ~Picture() { png_destroy_read_struct(&png_, &info_, nullptr); }

  [[nodiscard]] MediaFrame frame() const {
    const DType dtype = png_get_bit_depth(png_, info_) == 16 ? DType::U16 : DType::U8;
    return sampled_frame(
        png_get_image_width(png_, info_), png_get_image_height(png_, info_),
        png_get_channels(png_, info_), dtype);
  }
  /// 0 where it is not animated.
  [[nodiscard]] size_t animation_frames() const { return animation_.frames; }

  void read(std::byte *to) {
    const size_t row_bytes = png_get_rowbytes(png_, info_);
    std::vector<png_bytep> rows(png_get_image_height(png_, info_));
    for (size_t row = 0; row < rows.size(); ++row)
      rows[row] = reinterpret_cast<png_bytep>(to + row * row_bytes);
    if (!read_rows(rows.data()))
      throw std::runtime_error(trouble_.text);
  }

private:
  /// Every picture becomes grey, RGB or RGBA of 8 or 16 bits in the machine's byte order.
  bool read_header(std::FILE *file) {
    if (setjmp(png_jmpbuf(png_)) != 0)
      return false;
    png_init_io(png_, file);
    png_set_read_user_chunk_fn(png_, &animation_, on_unknown_chunk);
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

  Trouble trouble_;
  Animation animation_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

/// Pictures one after the other in one file, as "pngenc ! filesink" leaves them.
class PngReader final : public FrameReader {
public:
  explicit PngReader(const std::string &path) : path_(path), file_(open_file(path, path, "rb")) {
    begin_picture();
    try {
      frame_ = picture_->frame();
    } catch (const std::exception &error) {
      throw FileError(path, error.what());
    }
    if (const size_t frames = picture_->animation_frames(); frames > 1)
      left_unread_ = "\"" + path_ + "\": an animated picture of " + count_frames(frames) +
          ", of which only the first is read; write them to numbered files, for example with "
          "\"ffmpeg -i " +
          path_ + " frame-%04d.png\"";
  }

  bool read(std::byte *to) override {
    if (picture_ == nullptr)
      return false;
    if (const auto tensor = picture_->frame().tensor; tensor != frame_.tensor)
      throw FileError(
          path_,
          "expected pictures that are all alike, " + core::to_string(frame_.tensor) + ", got " +
              core::to_string(tensor) + " in picture " + std::to_string(pictures_ + 1));
    guard([&] { picture_->read(to); });
    ++pictures_;
    picture_.reset();
    if (const int next = std::getc(file_.get()); next != EOF) {
      std::ungetc(next, file_.get());
      if (next == signature_begin)
        begin_picture();
      else
        left_unread_ = "\"" + path_ + "\": not read to its end: what follows picture " +
            std::to_string(pictures_) + " is not one";
    }
    return true;
  }

  [[nodiscard]] std::string left_unread() const override { return left_unread_; }

private:
  static constexpr int signature_begin = 0x89;

  void begin_picture() {
    guard([&] { picture_ = std::make_unique<Picture>(file_.get()); });
  }

  template <typename Body> void guard(Body &&body) const {
    try {
      body();
    } catch (const std::runtime_error &error) {
      throw FileError(path_, std::string("expected a whole PNG picture, got: ") + error.what());
    }
  }

  std::string path_;
  OwnedFile file_;
  std::unique_ptr<Picture> picture_;  // the next one; null at the end
  size_t pictures_ = 0;
  std::string left_unread_;
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
