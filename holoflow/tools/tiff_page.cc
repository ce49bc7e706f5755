// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/tiff_page.hh"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "holoflow/tools/frame_files.hh"

namespace holoflow::tools {

namespace {

/// Copies pieces of rows to where they belong in a picture.
class Placement {
public:
  Placement(const TiffPage &page, std::byte *to)
      : to_(to), sample_bytes_(page.bits / 8), width_(page.width), samples_(page.samples),
        planes_(page.planes == PLANARCONFIG_SEPARATE ? page.samples : 1) {}

  [[nodiscard]] uint16_t planes() const { return static_cast<uint16_t>(planes_); }
  /// Of a pixel in one plane of the file.
  [[nodiscard]] size_t pixel_bytes() const { return samples_ / planes_ * sample_bytes_; }
  /// Where a whole row of a file without planes belongs.
  [[nodiscard]] std::byte *row(size_t y) const {
    return to_ + y * width_ * samples_ * sample_bytes_;
  }

  void put(const std::byte *from, size_t plane, size_t x, size_t y, size_t pixels) const {
    if (planes_ == 1) {
      std::memcpy(row(y) + x * pixel_bytes(), from, pixels * pixel_bytes());
      return;
    }
    const size_t step = samples_ * sample_bytes_;
    std::byte *to = row(y) + x * step + plane * sample_bytes_;
    for (size_t i = 0; i < pixels; ++i)
      std::memcpy(to + i * step, from + i * sample_bytes_, sample_bytes_);
  }

private:
  std::byte *to_;
  size_t sample_bytes_, width_, samples_, planes_;
};

[[noreturn]] void fail(const std::string &what) {
  throw std::runtime_error(what + " cannot be read: " + tiff_error());
}

void decode_rows(TIFF *file, const TiffPage &page, const Placement &placement) {
  const size_t row_bytes = page.width * placement.pixel_bytes();
  // A header that lies about its rows must not make libtiff write beyond one.
  if (static_cast<size_t>(TIFFScanlineSize(file)) != row_bytes)
    throw std::runtime_error("expected rows of " + std::to_string(row_bytes) + " bytes");
  std::vector<std::byte> plane_row(placement.planes() > 1 ? row_bytes : 0);
  for (uint16_t plane = 0; plane < placement.planes(); ++plane)
    for (uint32_t y = 0; y < page.height; ++y) {
      std::byte *to = plane_row.empty() ? placement.row(y) : plane_row.data();
      if (TIFFReadScanline(file, to, y, plane) != 1)
        fail("row " + std::to_string(y));
      if (!plane_row.empty())
        placement.put(to, plane, 0, y, page.width);
    }
}

void decode_tiles(TIFF *file, const TiffPage &page, const Placement &placement) {
  constexpr uint32_t max_side = 1 << 16;
  constexpr size_t max_bytes = size_t{1} << 30;
  uint32_t width = 0, height = 0;
  TIFFGetField(file, TIFFTAG_TILEWIDTH, &width);
  TIFFGetField(file, TIFFTAG_TILELENGTH, &height);
  const size_t row_bytes = width * placement.pixel_bytes();
  const bool is_sane = width > 0 && height > 0 && width <= max_side && height <= max_side &&
      row_bytes * height <= max_bytes &&
      static_cast<size_t>(TIFFTileSize(file)) == row_bytes * height;
  if (!is_sane)
    throw std::runtime_error(
        "expected tiles of at most 1 GiB, got " + std::to_string(width) + "×" +
        std::to_string(height));
  std::vector<std::byte> tile(row_bytes * height);
  for (uint16_t plane = 0; plane < placement.planes(); ++plane)
    for (uint32_t y = 0; y < page.height; y += height)
      for (uint32_t x = 0; x < page.width; x += width) {
        if (TIFFReadTile(file, tile.data(), x, y, 0, plane) < 0)
          fail("the tile at " + std::to_string(x) + ", " + std::to_string(y));
        const size_t pixels = std::min(width, page.width - x);
        for (uint32_t row = 0; row < std::min(height, page.height - y); ++row)
          placement.put(tile.data() + row * row_bytes, plane, x, y + row, pixels);
      }
}

std::string photometric_name(uint16_t photometric) {
  switch (photometric) {
  case PHOTOMETRIC_MINISWHITE:
    return "grey where 0 is white";
  case PHOTOMETRIC_MINISBLACK:
    return "grey where 0 is black";
  case PHOTOMETRIC_RGB:
    return "RGB";
  case PHOTOMETRIC_PALETTE:
    return "colours of a palette";
  case PHOTOMETRIC_SEPARATED:
    return "CMYK";
  case PHOTOMETRIC_YCBCR:
    return "YCbCr";
  default:
    return "photometric interpretation " + std::to_string(photometric);
  }
}

}  // namespace

SampleType TiffPage::type() const {
  const char kind = sample_format == SAMPLEFORMAT_INT ? 'i'
      : sample_format == SAMPLEFORMAT_IEEEFP          ? 'f'
      : sample_format == SAMPLEFORMAT_COMPLEXIEEEFP   ? 'c'
      : sample_format == SAMPLEFORMAT_COMPLEXINT      ? 'x'
                                                      : 'u';
  return {kind, bits % 8 == 0 ? size_t{bits} / 8 : 0};
}

std::string TiffPage::text() const {
  return std::to_string(width) + "×" + std::to_string(height) + " with " + std::to_string(samples) +
      (samples == 1 ? " sample" : " samples") + " of " +
      (dtype_of(type()) ? type().name() : std::to_string(bits) + " bits") +
      (tiled ? " in tiles" : "");
}

TiffPage tiff_page_of(TIFF *file) {
  TiffPage page;
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

void check_tiff_page(const std::string &path, const TiffPage &page) {
  const auto refuse = [&](const std::string &expected, const std::string &got,
                          const std::string &help) {
    throw FileError(path, "expected " + expected + ", got " + got + "; " + help);
  };
  const auto convert = [&](const char *options) {
    return "convert it, for example with ImageMagick: convert " + path + " " + options + " new.tif";
  };
  const SampleType type = page.type();
  if (type.kind == 'c' || type.kind == 'x')
    refuse("real numbers", "complex ones", "save them as .npy of complex64");
  if (type.kind == 'f' && !dtype_of(type))
    refuse(
        "samples of float32 or float64", "float of " + std::to_string(page.bits) + " bits",
        "save them as float32");
  if (!dtype_of(type))
    refuse(
        "samples of 8, 16, 32 or 64 bits",
        std::to_string(page.bits) + (page.bits == 1 ? " bit" : " bits") +
            (type.kind == 'i' ? " with sign" : " without sign"),
        convert("-depth 16"));
  const bool is_grey =
      page.photometric == PHOTOMETRIC_MINISBLACK || page.photometric == PHOTOMETRIC_MINISWHITE;
  if (!is_grey && page.photometric != PHOTOMETRIC_RGB)
    refuse(
        "grey or RGB", photometric_name(page.photometric),
        convert("-colorspace sRGB -type TrueColor -compress none"));
  if (is_grey ? page.samples != 1 : page.samples != 3 && page.samples != 4)
    refuse(
        is_grey ? "1 sample for each pixel of grey" : "3 or 4 samples for each pixel of RGB",
        std::to_string(page.samples), convert("-separate"));
  if (page.is_inverted() && type.kind != 'u')
    refuse(
        "grey where 0 is black for " + type.name(), photometric_name(page.photometric),
        "save it with the other photometric interpretation, 1");
}

void decode_tiff_page(TIFF *file, const TiffPage &page, std::byte *to) {
  const Placement placement(page, to);
  forget_tiff_error();
  if (page.tiled)
    decode_tiles(file, page, placement);
  else
    decode_rows(file, page, placement);
}

void invert_samples(std::byte *samples, size_t bytes) {
  // The largest number without sign minus x is x with every bit turned.
  std::transform(samples, samples + bytes, samples, [](std::byte byte) { return ~byte; });
}

}  // namespace holoflow::tools
