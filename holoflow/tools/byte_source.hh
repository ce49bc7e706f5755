// SPDX-License-Identifier: LGPL-2.1-or-later
// Bytes of a file, a pipe, a device or standard input, from front to back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace holoflow::tools {

/// What names standard input or output in place of a file.
inline constexpr const char *standard_stream = "-";

/// One thread. Errors: FileError.
class ByteSource {
public:
  explicit ByteSource(const std::string &path);
  ByteSource(const ByteSource &) = delete;
  ByteSource &operator=(const ByteSource &) = delete;
  ~ByteSource();

  [[nodiscard]] const std::string &path() const { return path_; }
  /// The number of bytes read: fewer only at the end.
  size_t read(void *to, size_t bytes);
  /// The next bytes, which stay to be read: fewer only at the end.
  [[nodiscard]] std::string peek(size_t bytes);
  /// The number of bytes left out: fewer only at the end.
  size_t skip(size_t bytes);
  /// Bytes to the end, where this is a regular file.
  [[nodiscard]] std::optional<size_t> rest() const;

private:
  std::string path_;
  int descriptor_;
  std::string peeked_;
};

}  // namespace holoflow::tools
