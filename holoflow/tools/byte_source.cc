// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/byte_source.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "holoflow/tools/frame_files.hh"

namespace holoflow::tools {

namespace {

bool is_regular(int descriptor, struct stat &status) {
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

ByteSource::ByteSource(const std::string &path)
    : path_(path), descriptor_(
                       path == standard_stream ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                               : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0)
    throw FileError(path, std::string("cannot be opened: ") + std::strerror(errno));
}

ByteSource::~ByteSource() {
  ::close(descriptor_);
}

size_t ByteSource::read(void *to, size_t bytes) {
  auto *at = static_cast<char *>(to);
  const size_t known = std::min(bytes, peeked_.size());
  std::memcpy(at, peeked_.data(), known);
  peeked_.erase(0, known);
  size_t done = known;
  while (done < bytes) {
    const ssize_t count = ::read(descriptor_, at + done, bytes - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      throw FileError(path_, std::string("cannot be read: ") + std::strerror(errno));
    if (count == 0)
      break;
    done += static_cast<size_t>(count);
  }
  return done;
}

std::string ByteSource::peek(size_t bytes) {
  if (peeked_.size() < bytes) {
    std::string text(bytes, '\0');
    text.resize(read(text.data(), bytes));
    peeked_ = text;
  }
  return peeked_.substr(0, bytes);
}

size_t ByteSource::skip(size_t bytes) {
  if (const auto there = rest()) {
    const size_t left_out = std::min(bytes, *there);
    const size_t known = std::min(left_out, peeked_.size());
    peeked_.erase(0, known);
    if (::lseek(descriptor_, static_cast<off_t>(left_out - known), SEEK_CUR) < 0)
      throw FileError(path_, std::string("cannot be read: ") + std::strerror(errno));
    return left_out;
  }
  std::array<char, 4096> unused;
  size_t done = 0;
  while (done < bytes) {
    const size_t count = read(unused.data(), std::min(bytes - done, unused.size()));
    if (count == 0)
      break;
    done += count;
  }
  return done;
}

std::optional<size_t> ByteSource::rest() const {
  struct stat status {};
  if (!is_regular(descriptor_, status))
    return std::nullopt;
  const off_t position = ::lseek(descriptor_, 0, SEEK_CUR);
  return peeked_.size() + static_cast<size_t>(std::max<off_t>(status.st_size - position, 0));
}

}  // namespace holoflow::tools
