// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in files: what every format's reader and writer look like, and how one is chosen.
//
//   FILE                     read                              written
//   *.npy                    NumPy 1.0, 2.0, numbers (samples) all tensors stacked
//   *.png                    8 or 16 bits, grey or colour      U8, U16
//   *.tif, *.tiff            numbers (samples), pages          U8, U16, F32, a page for each frame
//   name-%04d.ENDING         any of these and raw              PNG and TIFF
//   -                        NumPy, else raw                   raw
//   anything else            raw, with --caps                  raw, unless its ending is one of
//                                                              another format of pictures or videos
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "holoflow/tools/byte_source.hh"
#include "holoflow/tools/media_frame.hh"

namespace holoflow::tools {

/// `1 frame`, `3 frames`.
[[nodiscard]] inline std::string count_frames(size_t count) {
  return std::to_string(count) + (count == 1 ? " frame" : " frames");
}

/// A file that cannot be read or written: `"path": expected …, got …; what to do`.
class FileError : public std::runtime_error {
public:
  FileError(const std::string &path, const std::string &text)
      : std::runtime_error("\"" + path + "\": " + text) {}
};

/// Frames of a file, in order. One thread. Errors: FileError.
class FrameReader {
public:
  virtual ~FrameReader() = default;
  /// The same for all frames.
  [[nodiscard]] const MediaFrame &frame() const { return frame_; }
  /// Writes frame().bytes bytes; false where there are no more frames.
  [[nodiscard]] virtual bool read(std::byte *to) = 0;
  /// Frames in the whole file, where its headers or size say so.
  [[nodiscard]] virtual std::optional<size_t> total() const { return std::nullopt; }
  /// A sentence about frames that belong to the file and are not read, "" for none. Before the
  /// first read(): what headers and names say; at the end it is complete.
  [[nodiscard]] virtual std::string left_unread() const { return ""; }
  /// A sentence about what became of the frames on the way, "" for nothing. At the end.
  [[nodiscard]] virtual std::string remark() const { return ""; }

protected:
  MediaFrame frame_;
};

/// Tensors into a file. The file has its name only once finish() has returned; a writer that is
/// destroyed before leaves nothing behind. One thread. Errors: FileError.
class FrameWriter {
public:
  virtual ~FrameWriter() = default;
  /// Packed data of frames [first, last) of the tensor that the writer was opened for.
  virtual void write(const std::byte *data, size_t first, size_t last) = 0;
  virtual void finish() = 0;
  /// A sentence about what stays where finish() is not reached, "" where nothing does.
  [[nodiscard]] virtual std::string left_behind() const { return ""; }
  /// A sentence about older files that look as if they belonged to these frames, "" for none. Once
  /// finish() has returned.
  [[nodiscard]] virtual std::string left_from_before() const { return ""; }
};

/// How frames lie in a raw file.
struct RawLayout {
  MediaFrame frame;
  size_t skip = 0;  ///< bytes before the first frame
  size_t gap = 0;  ///< bytes between two frames
};

/// `raw`: what --caps says, for files that do not say it themselves. Throws FileError.
[[nodiscard]] std::unique_ptr<FrameReader> open_reader(
    const std::string &path, const std::optional<RawLayout> &raw);
/// For tensors like `tensor`; throws FileError where the format cannot hold them.
[[nodiscard]] std::unique_ptr<FrameWriter> open_writer(
    const std::string &path, const core::TDesc &tensor);
/// What a file's header says of its frames; asks gst-discoverer-1.0 about formats that are not in
/// the table above. Throws FileError.
[[nodiscard]] MediaFrame frame_of_file(const std::string &path);

// One file of sources each.
[[nodiscard]] std::unique_ptr<FrameReader> open_npy(std::unique_ptr<ByteSource> source);
[[nodiscard]] std::unique_ptr<FrameReader> open_png(const std::string &path);
[[nodiscard]] std::unique_ptr<FrameReader> open_tiff(const std::string &path);
[[nodiscard]] std::unique_ptr<FrameReader> open_raw(
    std::unique_ptr<ByteSource> source, const RawLayout &layout);
[[nodiscard]] std::unique_ptr<FrameWriter> create_npy(
    const std::string &path, const core::TDesc &tensor);
[[nodiscard]] std::unique_ptr<FrameWriter> create_png(
    const std::string &path, const core::TDesc &tensor);
[[nodiscard]] std::unique_ptr<FrameWriter> create_tiff(
    const std::string &path, const core::TDesc &tensor);
[[nodiscard]] std::unique_ptr<FrameWriter> create_raw(
    const std::string &path, const core::TDesc &tensor);
/// `open` and `create` make what reads and writes one of the files.
[[nodiscard]] std::unique_ptr<FrameReader> open_numbered(
    const std::string &pattern,
    std::function<std::unique_ptr<FrameReader>(const std::string &)> open);
[[nodiscard]] std::unique_ptr<FrameWriter> create_numbered(
    const std::string &pattern,
    std::function<std::unique_ptr<FrameWriter>(const std::string &)> create);
[[nodiscard]] MediaFrame discover_frame(const std::string &path);

/// Whether the path holds a place for a number: %d, %4d, %04d.
[[nodiscard]] bool is_numbered(const std::string &path);
/// Whether both name one file; a path with a place for a number names all of its files.
[[nodiscard]] bool share_a_file(const std::string &left, const std::string &right);

}  // namespace holoflow::tools
