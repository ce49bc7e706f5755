// SPDX-License-Identifier: LGPL-2.1-or-later
// One page of a TIFF file: what it is, and its samples whatever way they lie in the file.
#pragma once

#include <cstdint>

#include "holoflow/tools/samples.hh"
#include "holoflow/tools/tiff_library.hh"

namespace holoflow::tools {

/// What matters of a page.
struct TiffPage {
  uint32_t width = 0, height = 0;
  uint16_t bits = 1, samples = 1, sample_format = SAMPLEFORMAT_UINT;
  uint16_t photometric = PHOTOMETRIC_MINISBLACK, planes = PLANARCONFIG_CONTIG;
  bool tiled = false;

  friend bool operator==(const TiffPage &, const TiffPage &) = default;

  [[nodiscard]] SampleType type() const;
  [[nodiscard]] size_t sample_count() const { return size_t{width} * height * samples; }
  [[nodiscard]] bool is_inverted() const { return photometric == PHOTOMETRIC_MINISWHITE; }
  /// `7×5 with 3 samples of int16`.
  [[nodiscard]] std::string text() const;
};

/// The page that the file stands at.
[[nodiscard]] TiffPage tiff_page_of(TIFF *file);

/// Throws FileError for pages that become no frames: what is wrong and what helps.
void check_tiff_page(const std::string &path, const TiffPage &page);

/// Writes the page's samples in the machine's byte order, those of a pixel beside each other.
/// Strips, tiles and planes; every compression that libtiff knows. Errors: std::runtime_error.
void decode_tiff_page(TIFF *file, const TiffPage &page, std::byte *to);

/// Makes black of white in samples of a page with is_inverted().
void invert_samples(std::byte *samples, size_t bytes);

}  // namespace holoflow::tools
