// SPDX-License-Identifier: LGPL-2.1-or-later
// Row loops that turn pictures into packed frames.
#include "holoflow/tasks/input_output/frame_layout.hh"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "holoflow/media/picture_formats.hh"

namespace holoflow::tasks {

using media::find_picture_format;
using media::opaque;
using media::PictureFormat;

namespace {

using core::DType;
using core::TDesc;
using runtime::Picture;

size_t channels_of(const TDesc &tensor) {
  return tensor.rank() == 4 ? tensor.shape[3] : 1;
}

// The format whose order of colours the tensor's frames have.
const PictureFormat &target_format(const PictureFormat &source, const TDesc &tensor) {
  const size_t channels = channels_of(tensor);
  if (tensor.media.has_value()) {
    const PictureFormat *named = find_picture_format(tensor.media->pixel_format);
    if (named != nullptr && named->channels == channels && channels > 1)
      return *named;
  }
  if (source.channels == channels)
    return source;
  return *find_picture_format(channels == 4 ? "RGBA" : channels == 3 ? "RGB" : "GRAY8");
}

bool same_pixels(const PictureFormat &source, const PictureFormat &target) {
  return source.channels == target.channels &&
      std::equal(source.colour.begin(), source.colour.begin() + 3, target.colour.begin()) &&
      (target.colour[3] == opaque || source.colour[3] == target.colour[3]);
}

// round(0.299 R + 0.587 G + 0.114 B) without a division: x / 125 is exact as x * 33555 >> 22 for
// every x below 59074, and x is at most 31937 here.
inline uint8_t luma(uint32_t r, uint32_t g, uint32_t b) {
  const uint32_t eighths = (299 * r + 587 * g + 114 * b + 500) >> 3;
  return static_cast<uint8_t>((eighths * 33555u) >> 22);
}

inline uint32_t load_pixel(const uint8_t *from) {
  uint32_t pixel;
  std::memcpy(&pixel, from, sizeof(pixel));
  return pixel;
}

#if defined(__SSE2__)
// luma() of four pixels at once, in 32-bit lanes; the fourth byte of a pixel has weight 0.
template <size_t R> inline __m128i eighths_of(__m128i pixels) {
  const __m128i zero = _mm_setzero_si128();
  const __m128i weights = R == 0 ? _mm_setr_epi16(299, 587, 114, 0, 299, 587, 114, 0)
                                 : _mm_setr_epi16(114, 587, 299, 0, 114, 587, 299, 0);
  // Pairs of products: (first + second, third + 0) of two pixels each.
  const __m128i low = _mm_madd_epi16(_mm_unpacklo_epi8(pixels, zero), weights);
  const __m128i high = _mm_madd_epi16(_mm_unpackhi_epi8(pixels, zero), weights);
  const __m128 a = _mm_castsi128_ps(low), b = _mm_castsi128_ps(high);
  const __m128i even = _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
  const __m128i odd = _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
  return _mm_srli_epi32(_mm_add_epi32(_mm_add_epi32(even, odd), _mm_set1_epi32(500)), 3);
}

template <size_t Channels> inline __m128i load_four(const uint8_t *from) {
  if constexpr (Channels == 4)
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
  return _mm_setr_epi32(
      static_cast<int>(load_pixel(from)), static_cast<int>(load_pixel(from + 3)),
      static_cast<int>(load_pixel(from + 6)), static_cast<int>(load_pixel(from + 9)));
}

// Eight pixels at a time while the bytes behind the last of them belong to the row too.
template <size_t Channels, size_t R>
size_t grey_eights(const uint8_t *from, uint8_t *to, size_t width) {
  size_t x = 0;
  for (; x + 8 + (Channels == 3) <= width; x += 8, from += 8 * Channels) {
    const __m128i first = eighths_of<R>(load_four<Channels>(from));
    const __m128i second = eighths_of<R>(load_four<Channels>(from + 4 * Channels));
    // x · 33555 >> 22, in 16-bit lanes: the values fit 15 bits.
    const __m128i high =
        _mm_mulhi_epu16(_mm_packs_epi32(first, second), _mm_set1_epi16(static_cast<short>(33555)));
    const __m128i grey = _mm_srli_epi16(high, 6);
    _mm_storel_epi64(reinterpret_cast<__m128i *>(to + x), _mm_packus_epi16(grey, grey));
  }
  return x;
}
#else
template <size_t Channels, size_t R> size_t grey_eights(const uint8_t *, uint8_t *, size_t) {
  return 0;
}
#endif

template <size_t Channels, size_t R, size_t B>
void grey_row(const uint8_t *from, uint8_t *to, size_t width) {
  size_t x = grey_eights<Channels, R>(from, to, width);
  for (from += x * Channels; x < width; ++x, from += Channels)
    to[x] = luma(from[R], from[1], from[B]);
}

using GreyRow = void (*)(const uint8_t *, uint8_t *, size_t);

GreyRow grey_row_of(const PictureFormat &source) {
  const bool red_first = source.colour[0] == 0;
  if (source.channels == 3)
    return red_first ? grey_row<3, 0, 2> : grey_row<3, 2, 0>;
  return red_first ? grey_row<4, 0, 2> : grey_row<4, 2, 0>;
}

// Reorders colours; from[channel] is 255 where the picture has no alpha.
template <size_t ToChannels>
void colour_row(
    const PictureFormat &source, const PictureFormat &target, const uint8_t *from, uint8_t *to,
    size_t width) {
  std::array<int, ToChannels> take;
  take.fill(opaque);
  for (size_t colour = 0; colour < 4; ++colour)
    if (target.colour[colour] != opaque)
      take[target.colour[colour]] = source.colour[colour];
  for (size_t x = 0; x < width; ++x, from += source.channels, to += ToChannels)
    for (size_t c = 0; c < ToChannels; ++c)
      to[c] = take[c] == opaque ? 255 : from[take[c]];
}

// BGRA ↔ RGBA and their kin: red and blue change places.
void swap_row(bool opaque_alpha, const uint8_t *from, uint8_t *to, size_t width) {
  const uint32_t alpha = opaque_alpha ? 0xff000000u : 0u;
  for (size_t x = 0; x < width; ++x) {
    const uint32_t pixel = load_pixel(from + 4 * x);
    const uint32_t swapped = (pixel & 0xff00ff00u) | (pixel >> 16 & 0xffu) | (pixel & 0xffu) << 16;
    const uint32_t written = swapped | alpha;
    std::memcpy(to + 4 * x, &written, sizeof(written));
  }
}

void convert_row(
    const PictureFormat &source, const PictureFormat &target, const std::byte *from_bytes,
    std::byte *to_bytes, size_t width) {
  const auto *from = reinterpret_cast<const uint8_t *>(from_bytes);
  auto *to = reinterpret_cast<uint8_t *>(to_bytes);
  if (target.channels == 1)
    return grey_row_of(source)(from, to, width);
  if (source.channels == 4 && target.channels == 4 && source.colour[0] != target.colour[0])
    return swap_row(source.colour[3] != target.colour[3], from, to, width);
  if (target.channels == 3)
    return colour_row<3>(source, target, from, to, width);
  colour_row<4>(source, target, from, to, width);
}

std::string size_text(size_t width, size_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

size_t row_bytes(const PictureFormat &format, size_t width) {
  return width * format.channels * core::size_of(format.dtype);
}

}  // namespace

size_t frame_count(const TDesc &tensor) {
  return tensor.rank() >= 3 ? tensor.shape[0] : 1;
}

size_t frame_bytes(const TDesc &tensor) {
  size_t bytes = core::size_of(tensor.dtype);
  for (size_t axis = tensor.rank() >= 3 ? 1 : 0; axis < tensor.rank(); ++axis)
    bytes *= tensor.shape[axis];
  return bytes;
}

void check_picture(const Picture &picture, const TDesc &tensor) {
  const std::string got = picture.format + " " + size_text(picture.width, picture.height);
  const PictureFormat *source = find_picture_format(picture.format);
  if (source == nullptr)
    throw std::invalid_argument(
        "expected a picture as GRAY8, GRAY16_LE, RGB, BGR, RGBA, BGRA, "
        "RGBx, BGRx, NV12 or I420, got " +
        got);
  const size_t channels = channels_of(tensor);
  const bool takes_pictures =
      tensor.rank() == 3 || (tensor.rank() == 4 && channels >= 3 && channels <= 4);
  if (!takes_pictures || tensor.dtype != source->dtype ||
      (source->dtype == DType::U16 && channels != 1))
    throw std::invalid_argument(
        "expected frames of " + core::to_string(tensor) + ", got a " + got +
        " picture; it has other channels or another element type");
  if (picture.height != tensor.shape[1] || picture.width != tensor.shape[2])
    throw std::invalid_argument(
        "expected a picture of " + size_text(tensor.shape[2], tensor.shape[1]) + ", got " + got);
  if (picture.height == 0 || picture.width == 0)
    return;
  const size_t row = row_bytes(*source, picture.width);
  if (picture.planes[0].data == nullptr || (picture.height > 1 && picture.planes[0].stride < row))
    throw std::invalid_argument(
        "expected a picture with rows of at least " + std::to_string(row) + " bytes, got " + got +
        " with a stride of " + std::to_string(picture.planes[0].stride));
}

const std::byte *packed_frame(const Picture &picture, const TDesc &tensor) {
  const PictureFormat *source = find_picture_format(picture.format);
  if (source == nullptr || !same_pixels(*source, target_format(*source, tensor)))
    return nullptr;
  const size_t row = row_bytes(*source, picture.width);
  return picture.height <= 1 || picture.planes[0].stride == row ? picture.planes[0].data : nullptr;
}

void copy_picture(const Picture &picture, const TDesc &tensor, std::byte *to) {
  const PictureFormat &source = *find_picture_format(picture.format);
  const PictureFormat &target = target_format(source, tensor);
  const bool as_it_stands = same_pixels(source, target);
  const size_t to_row = row_bytes(target, picture.width);
  const std::byte *from = picture.planes[0].data;
  const size_t stride = picture.planes[0].stride;
  if (as_it_stands && stride == to_row) {
    std::memcpy(to, from, to_row * picture.height);
    return;
  }
  for (size_t y = 0; y < picture.height; ++y) {
    if (as_it_stands)
      std::memcpy(to + y * to_row, from + y * stride, to_row);
    else
      convert_row(source, target, from + y * stride, to + y * to_row, picture.width);
  }
}

}  // namespace holoflow::tasks
