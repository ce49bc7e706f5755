// SPDX-License-Identifier: LGPL-2.1-or-later
// Files that appear under their name only when they are complete.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace holoflow::tools {

/// Whether something that is no file has this name: /dev/stdout, a named pipe.
[[nodiscard]] bool is_pipe_or_device(const std::string &path);

/// Written under another name in the same folder, then renamed. Destroyed before commit() it leaves
/// nothing behind and the old file untouched. Errors: FileError.
class OutputFile {
public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  ~OutputFile();

  /// The name while it is written.
  [[nodiscard]] const std::string &temporary() const { return temporary_; }
  [[nodiscard]] const std::string &path() const { return path_; }
  /// The writer has closed the file.
  void commit();

private:
  std::string path_;
  std::string target_;  // behind links
  std::string temporary_;  // "" once committed
};

/// Removes what is not complete, for a program about to end; nothing is created or renamed after.
void remove_unfinished_files();

/// The same as a stream of bytes. Standard output ("-"), pipes and devices are written straight.
class OutputStream {
public:
  explicit OutputStream(const std::string &path);
  OutputStream(const OutputStream &) = delete;
  OutputStream &operator=(const OutputStream &) = delete;
  ~OutputStream();

  void write(const void *data, size_t bytes);
  /// Continues at a byte that has been written; not on pipes and devices.
  void seek(size_t position);
  void commit();

private:
  [[noreturn]] void fail(const std::string &what) const;

  std::string path_;
  std::optional<OutputFile> file_;  // nothing for pipes and devices
  int descriptor_ = -1;
};

}  // namespace holoflow::tools
