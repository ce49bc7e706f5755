// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses a format: by the name's ending, else by the file's first bytes.
#include "holoflow/tools/frame_files.hh"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/tools/npy_header.hh"
#include "holoflow/tools/written_picture.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

enum class Format { Npy, Png, Tiff, Unknown };

// What these endings name is never raw frames.
constexpr std::array foreign_pictures = {
    ".apng", ".avif", ".bmp",  ".dcm",  ".dng", ".exr", ".fits", ".gif", ".h5",
    ".hdf5", ".hdr",  ".heic", ".heif", ".ico", ".j2k", ".jp2",  ".jpe", ".jpeg",
    ".jpg",  ".jxl",  ".mat",  ".npz",  ".pam", ".pbm", ".pcx",  ".pdf", ".pgm",
    ".pnm",  ".ppm",  ".psd",  ".qoi",  ".svg", ".tga", ".webp"};
constexpr std::array foreign_movies = {".avi", ".flv", ".h264", ".h265", ".m4v", ".mj2", ".mjpg",
                                       ".mkv", ".mov", ".mp4",  ".mpeg", ".mpg", ".mxf", ".ogg",
                                       ".ogv", ".ts",  ".webm", ".wmv",  ".y4m"};

template <size_t Count>
bool holds(const std::array<const char *, Count> &endings, const std::string &ending) {
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

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

Format format_of_begin(std::string_view begin) {
  using namespace std::string_view_literals;
  if (begin.starts_with(npy_magic))
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

[[noreturn]] void refuse_to_read(const std::string &path) {
  const std::string ending = ending_of(path);
  if (holds(foreign_movies, ending))
    throw FileError(
        path,
        "expected .npy, .png, .tif, .tiff or raw frames, got a movie; holoflowbin plays movies: "
        "gst-launch-1.0 filesrc location=" +
            path + " ! decodebin ! videoconvert ! holoflowbin graph=GRAPH ! …");
  if (holds(foreign_pictures, ending))
    throw FileError(
        path,
        "expected .npy, .png, .tif, .tiff or raw frames, got " + ending +
            ", a format that is not read; convert it to one of those");
  throw FileError(
      path,
      "expected .npy, .png, .tif or .tiff, got a file of another kind; say with --caps what its "
      "raw frames are, like --caps video/x-raw,format=GRAY8,width=640,height=480");
}

void refuse_skip_and_gap(const std::string &path, const std::optional<RawLayout> &raw) {
  if (raw && (raw->skip != 0 || raw->gap != 0))
    throw FileError(
        path,
        "expected raw frames for --skip and --gap, got a file that says where its frames "
        "are; leave them out");
}

/// By the bytes: of a stream too, whose bytes cannot be read again.
std::unique_ptr<FrameReader> open_undescribed(
    const std::string &path, const std::optional<RawLayout> &raw) {
  auto source = std::make_unique<ByteSource>(path);
  const bool is_stream = path == standard_stream || !source->rest();
  const bool look_inside = !raw || path == standard_stream;
  const Format format =
      look_inside ? format_of_begin(source->peek(npy_magic.size())) : Format::Unknown;
  if (format != Format::Unknown)
    refuse_skip_and_gap(path, raw);
  if (format == Format::Npy)
    return open_npy(std::move(source));
  if (format != Format::Unknown && is_stream)
    throw FileError(
        path, "expected .npy or raw frames in a stream, got a PNG or TIFF picture; name its file");
  if (format != Format::Unknown)
    return format == Format::Png ? open_png(path) : open_tiff(path);
  if (!raw || holds(foreign_movies, ending_of(path)) || holds(foreign_pictures, ending_of(path)))
    refuse_to_read(path);
  return open_raw(std::move(source), *raw);
}

std::unique_ptr<FrameReader> open_one(
    const std::string &path, const std::optional<RawLayout> &raw) {
  if (path != standard_stream)
    check_readable(path);
  const Format format = format_of_name(path);
  if (format != Format::Unknown)
    refuse_skip_and_gap(path, raw);
  switch (format) {
  case Format::Npy:
    return open_npy(std::make_unique<ByteSource>(path));
  case Format::Png:
    return open_png(path);
  case Format::Tiff:
    return open_tiff(path);
  case Format::Unknown:
    break;
  }
  return open_undescribed(path, raw);
}

/// Whether the name or the first bytes say which format of the table it is.
bool is_described(const std::string &path) {
  check_readable(path);
  return format_of_name(path) != Format::Unknown ||
      format_of_begin(ByteSource(path).peek(npy_magic.size())) != Format::Unknown;
}

bool names_a_series(const std::string &path) {
  std::error_code error;
  return is_numbered(path) && !fs::exists(path, error);
}

}  // namespace

std::unique_ptr<FrameReader> open_reader(
    const std::string &path, const std::optional<RawLayout> &raw) {
  if (names_a_series(path))
    return open_numbered(path, [raw](const std::string &file) { return open_one(file, raw); });
  return open_one(path, raw);
}

std::unique_ptr<FrameWriter> open_writer(const std::string &path, const core::TDesc &tensor) {
  const Format format = format_of_name(path);
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error))
    throw FileError(path, "expected the name of a file to write, got a folder");
  if (is_numbered(path)) {
    if (format != Format::Png && format != Format::Tiff)
      throw FileError(
          path, "expected .png or .tif after a number; the other formats hold many frames");
    const bool is_tiff = format == Format::Tiff;
    // Refuses before anything runs.
    (void)WrittenPicture(path, tensor, is_tiff ? "TIFF" : "PNG", is_tiff);
    return create_numbered(path, [tensor, is_tiff](const std::string &file) {
      return is_tiff ? create_tiff(file, tensor) : create_png(file, tensor);
    });
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
  if (holds(foreign_pictures, ending) || holds(foreign_movies, ending))
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
  if (path == standard_stream ||
      (fs::exists(status) && !fs::is_directory(status) && !fs::is_regular_file(status)))
    throw FileError(path, "expected a regular file, got a pipe or a device; use --caps instead");
  if (names_a_series(path) || is_described(path))
    return open_reader(path, std::nullopt)->frame();
  return discover_frame(path);
}

}  // namespace holoflow::tools
