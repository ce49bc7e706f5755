// SPDX-License-Identifier: LGPL-2.1-or-later
// In place of png_file.cc where libpng was not there at build time.
#include "holoflow/tools/frame_files.hh"

namespace holoflow::tools {

namespace {

[[noreturn]] void refuse(const std::string &path) {
  throw FileError(
      path,
      "expected a build with libpng, got one without; install libpng-dev and build again, or "
      "use .npy");
}

}  // namespace

std::unique_ptr<FrameReader> open_png(const std::string &path) {
  refuse(path);
}

std::unique_ptr<FrameWriter> create_png(const std::string &path, const core::TDesc &) {
  refuse(path);
}

}  // namespace holoflow::tools
