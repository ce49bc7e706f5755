// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses a format: by the name's ending, else by the file's first bytes.
#include "holoflow/tools/frame_files.hh"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "holoflow/core/graph_fault.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

enum class Format { Npy, Png, Tiff, Unknown };

// What readers of these endings expect is never raw frames.
constexpr std::array other_formats = {
    ".apng", ".avi", ".avif", ".bmp", ".dcm",  ".dng",  ".exr", ".fits", ".flv", ".gif",  ".h264",
    ".h265", ".h5",  ".hdf5", ".hdr", ".heic", ".heif", ".ico", ".j2k",  ".jp2", ".jpe",  ".jpeg",
    ".jpg",  ".jxl", ".m4v",  ".mat", ".mj2",  ".mjpg", ".mkv", ".mov",  ".mp4", ".mpeg", ".mpg",
    ".mxf",  ".npz", ".ogg",  ".ogv", ".pam",  ".pbm",  ".pcx", ".pdf",  ".pgm", ".pnm",  ".ppm",
    ".psd",  ".qoi", ".svg",  ".tga", ".webm", ".webp", ".wmv", ".y4m"};

/// In lower case, with its point.
std::string ending_of(const std::string &path) {
  std::string ending = fs::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return ending;
}

Format format_of_name(const std::string &path) {
  const std::string ending = ending_of(path);
  if (ending == ".npy")
    return Format::Npy;
  if (ending == ".png")
    return Format::Png;
  if (ending == ".tif" || ending == ".tiff")
    return Format::Tiff;
  return Format::Unknown;
}

Format format_of_content(const std::string &path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return Format::Unknown;  // what is read from a pipe is gone
  std::array<char, 6> bytes{};
  std::ifstream(path, std::ios::binary).read(bytes.data(), bytes.size());
  const std::string_view begin(bytes.data(), bytes.size());
  using namespace std::string_view_literals;
  if (begin.starts_with("\x93NUMPY"sv))
    return Format::Npy;
  if (begin.starts_with("\x89PNG\r\n"sv))
    return Format::Png;
  for (const auto mark : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv})
    if (begin.starts_with(mark))
      return Format::Tiff;
  return Format::Unknown;
}

void check_readable(const std::string &path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    throw FileError(path, core::no_such_file(path));
  if (fs::is_directory(status))
    throw FileError(path, "expected a file, got a folder");
}

std::unique_ptr<FrameReader> open_format(Format format, const std::string &path) {
  switch (format) {
  case Format::Npy:
    return open_npy(path);
  case Format::Png:
    return open_png(path);
  case Format::Tiff:
    return open_tiff(path);
  case Format::Unknown:
    break;
  }
  return nullptr;
}

/// Null for other formats.
std::unique_ptr<FrameReader> open_described(const std::string &path, bool look_inside) {
  Format format = format_of_name(path);
  if (is_numbered(path) && format == Format::Png)
    return open_numbered_png(path);
  check_readable(path);
  if (format == Format::Unknown && look_inside)
    format = format_of_content(path);
  return open_format(format, path);
}

}  // namespace

std::unique_ptr<FrameReader> open_reader(
    const std::string &path, const std::optional<MediaFrame> &raw) {
  if (auto reader = open_described(path, !raw.has_value()))
    return reader;
  if (!raw)
    throw FileError(
        path,
        "expected .npy, .png, .tif or .tiff, got a file of another kind; say with --caps what its "
        "raw frames are, like --caps video/x-raw,format=GRAY8,width=640,height=480");
  return open_raw(path, *raw);
}

std::unique_ptr<FrameWriter> open_writer(const std::string &path, const core::TDesc &tensor) {
  const Format format = format_of_name(path);
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error))
    throw FileError(path, "expected the name of a file to write, got a folder");
  if (is_numbered(path)) {
    if (format != Format::Png)
      throw FileError(path, "expected .png behind a number; the other formats hold many frames");
    return create_numbered_png(path, tensor);
  }
  switch (format) {
  case Format::Npy:
    return create_npy(path, tensor);
  case Format::Png:
    return create_png(path, tensor);
  case Format::Tiff:
    return create_tiff(path, tensor);
  case Format::Unknown:
    break;
  }
  const std::string ending = ending_of(path);
  if (std::find(other_formats.begin(), other_formats.end(), ending) != other_formats.end())
    throw FileError(
        path,
        "expected .npy, .png, .tif or .tiff, or an ending like .raw for raw frames, got " + ending +
            ", a format that is not written; write one of those and convert it");
  return create_raw(path, tensor);
}

MediaFrame frame_of_file(const std::string &path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  // A look at a pipe would take what it carries, or wait for a writer.
  if (fs::exists(status) && !fs::is_directory(status) && !fs::is_regular_file(status))
    throw FileError(path, "expected a regular file, got a pipe or a device; use --caps instead");
  if (const auto reader = open_described(path, true))
    return reader->frame();
  return discover_frame(path);
}

}  // namespace holoflow::tools
