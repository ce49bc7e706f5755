// SPDX-License-Identifier: LGPL-2.1-or-later
// What a TIFF file says it holds, read without libtiff, which takes a damaged chain of pages for
// its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holoflow::tools {

/// The chain of image file directories, one for each page.
struct TiffChain {
  size_t pages = 0;
  uint64_t first = 0;  ///< offset of the first directory
  std::string fault;  ///< why it goes on and cannot be followed, "" where it ends
};

/// Of a regular file; a file that is no TIFF has no pages.
[[nodiscard]] TiffChain follow_tiff_chain(const std::string &path);

/// A number of images that a program has written into ImageDescription.
struct CountedImages {
  std::string program;  ///< "" where none has
  size_t images = 0;
  bool in_several_files = false;  ///< they may be spread over files
};

/// `samples`: of one page, all pixels and channels.
[[nodiscard]] CountedImages count_described_images(std::string_view description, size_t samples);

}  // namespace holoflow::tools
