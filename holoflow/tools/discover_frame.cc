// SPDX-License-Identifier: LGPL-2.1-or-later
// Asks gst-discoverer-1.0 about media files of other formats.
#include <charconv>
#include <filesystem>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/subprocess.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

/// The number behind `Width: ` at the begin of a line, 0 where there is none.
size_t number_behind(const std::string &text, const std::string &label) {
  for (size_t at = text.find(label); at != std::string::npos; at = text.find(label, at + 1)) {
    const size_t line = text.rfind('\n', at) + 1;  // npos + 1 is the begin
    if (text.find_first_not_of(' ', line) != at)
      continue;
    size_t number = 0;
    const char *end = text.data() + text.size();
    if (std::from_chars(text.data() + at + label.size(), end, number).ec == std::errc())
      return number;
  }
  return 0;
}

}  // namespace

MediaFrame discover_frame(const std::string &path) {
  // An absolute path is neither an option nor an address.
  const auto result =
      run_process({"gst-discoverer-1.0", "-v", fs::absolute(fs::path(path)).string()});
  if (!result.started)
    throw FileError(
        path,
        "expected .npy, .png, .tif or .tiff, or gst-discoverer-1.0 to look at other media, "
        "which is not installed; install gstreamer1.0-plugins-base-apps, or use --caps");
  const size_t width = number_behind(result.output, "Width: ");
  const size_t height = number_behind(result.output, "Height: ");
  if (width == 0 || height == 0)
    throw FileError(
        path,
        "expected a media file with pictures, gst-discoverer-1.0 finds none; use --caps to "
        "say what its frames are");
  if (result.output.find("Interlaced: true") != std::string::npos)
    throw FileError(path, "expected progressive video, got interlaced; deinterlace it first");
  // The depth of a decoded pixel. Colours come as YUV mostly, which a graph takes as grey or,
  // behind videoconvert, as RGB.
  const size_t depth = number_behind(result.output, "Depth: ");
  const char *format = depth == 8 ? "GRAY8" : depth == 16 ? "GRAY16_LE" : "RGB";
  try {
    return picture_frame(format, width, height);
  } catch (const std::exception &error) {
    throw FileError(path, error.what());
  }
}

}  // namespace holoflow::tools
