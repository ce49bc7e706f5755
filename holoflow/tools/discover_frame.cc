// SPDX-License-Identifier: LGPL-2.1-or-later
// Asks GStreamer's programs about media files of other formats.
#include <charconv>
#include <filesystem>
#include <string_view>

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

/// What no text of gst-launch-1.0 takes for anything else.
std::string address_of(const std::string &path) {
  std::string address = "file://";
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const unsigned char c : fs::absolute(fs::path(path)).string()) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
        (c >= '0' && c <= '9') || c == '/' || c == '.' || c == '-' || c == '_';
    if (is_plain)
      address += static_cast<char>(c);
    else
      address += {'%', digits[c / 16], digits[c % 16]};
  }
  return address;
}

/// Caps of the decoded pictures, as holoflowbin after "decodebin" gets them; "" where none come.
std::string decoded_caps(const std::string &path) {
  const auto result = run_process(
      {"gst-launch-1.0", "-v", "uridecodebin", "uri=" + address_of(path), "!", "video/x-raw", "!",
       "fakesink", "name=decoded", "num-buffers=1"});
  if (!result.started)
    throw FileError(
        path,
        "expected gst-launch-1.0 to decode the first picture, which is not installed; install "
        "gstreamer1.0-tools, or use --caps");
  const std::string label = "GstFakeSink:decoded.GstPad:sink: caps = ";
  const size_t at = result.output.find(label);
  if (at == std::string::npos)
    return "";
  const size_t begin = at + label.size();
  return result.output.substr(begin, result.output.find('\n', begin) - begin);
}

}  // namespace

MediaFrame discover_frame(const std::string &path) {
  // An absolute path is neither an option nor an address.
  const auto found =
      run_process({"gst-discoverer-1.0", "-v", fs::absolute(fs::path(path)).string()});
  if (!found.started)
    throw FileError(
        path,
        "expected .npy, .png, .tif or .tiff, or gst-discoverer-1.0 to look at other media, "
        "which is not installed; install gstreamer1.0-plugins-base-apps, or use --caps");
  // Its search ends in any case, which that for decoded pictures may not where there are none.
  if (number_behind(found.output, "Width: ") == 0 || number_behind(found.output, "Height: ") == 0)
    throw FileError(
        path,
        "expected a media file with pictures, gst-discoverer-1.0 finds none; use --caps to "
        "say what its frames are");
  const std::string caps = decoded_caps(path);
  if (caps.empty())
    throw FileError(
        path,
        "expected a media file that can be decoded, gst-launch-1.0 decodes no picture; use --caps "
        "to say what its frames are");
  try {
    return frame_of_caps(caps);
  } catch (const std::exception &error) {
    throw FileError(path, error.what());
  }
}

}  // namespace holoflow::tools
