// SPDX-License-Identifier: LGPL-2.1-or-later
// The header of NumPy's .npy: a magic, the length of a Python dictionary in text, the dictionary.
#pragma once

#include <string_view>

#include "holoflow/tools/byte_source.hh"
#include "holoflow/tools/media_frame.hh"
#include "holoflow/tools/samples.hh"

namespace holoflow::tools {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

struct NpyHeader {
  SampleType type;  ///< of the elements in the file
  MediaFrame frame;  ///< as a tensor
  size_t frames = 0;
  size_t file_frame_bytes = 0;
};

/// Leaves the source at the first element. Throws FileError, also where a regular file is too short
/// for the elements.
[[nodiscard]] NpyHeader read_npy_header(ByteSource &source);

}  // namespace holoflow::tools
