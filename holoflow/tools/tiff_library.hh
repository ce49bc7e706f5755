// SPDX-License-Identifier: LGPL-2.1-or-later
// libtiff, which reports by callback.
#pragma once

#include <tiffio.h>

#include <memory>
#include <string>

namespace holoflow::tools {

struct CloseTiff {
  void operator()(TIFF *file) const { TIFFClose(file); }
};
using OwnedTiff = std::unique_ptr<TIFF, CloseTiff>;

/// Null where the file cannot be opened: tiff_error() says why.
[[nodiscard]] OwnedTiff open_tiff_library(const std::string &path, const char *mode);
/// What libtiff reported on this thread since forget_tiff_error(), "" for nothing.
[[nodiscard]] const std::string &tiff_error();
void forget_tiff_error();

}  // namespace holoflow::tools
