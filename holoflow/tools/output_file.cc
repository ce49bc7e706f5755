// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/output_file.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "holoflow/tools/frame_files.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

std::mutex unfinished_mutex;  // guards the set, and every change of the files' names
std::set<std::string> unfinished;

mode_t default_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

bool is_pipe_or_device(const std::string &path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)), target_(path_) {
  if (is_pipe_or_device(path_))
    throw FileError(
        path_,
        "expected a regular file for this format, got a pipe or a device; only raw frames "
        "go there");
  std::error_code error;
  if (fs::is_symlink(path_, error))
    target_ = fs::weakly_canonical(path_, error).string();
  std::string name = target_ + ".part-XXXXXX";
  const std::lock_guard lock(unfinished_mutex);
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0)
    throw FileError(path_, std::string("cannot be created: ") + std::strerror(errno));
  ::fchmod(descriptor, default_mode());  // mkstemp gives nobody else rights
  ::close(descriptor);
  temporary_ = name;
  unfinished.insert(temporary_);
}

OutputFile::~OutputFile() {
  if (temporary_.empty())
    return;
  const std::lock_guard lock(unfinished_mutex);
  ::unlink(temporary_.c_str());
  unfinished.erase(temporary_);
}

void OutputFile::commit() {
  const std::lock_guard lock(unfinished_mutex);
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0)
    throw FileError(path_, std::string("cannot be given its name: ") + std::strerror(errno));
  unfinished.erase(temporary_);
  temporary_.clear();
}

void remove_unfinished_files() {
  unfinished_mutex.lock();  // for good: see the header
  for (const std::string &name : unfinished)
    ::unlink(name.c_str());
}

OutputStream::OutputStream(const std::string &path) : path_(path) {
  if (path == standard_stream) {
    descriptor_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  } else {
    const bool straight = is_pipe_or_device(path);
    if (!straight)
      file_.emplace(path);
    const std::string &name = straight ? path : file_->temporary();
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
  }
  if (descriptor_ < 0)
    fail("cannot be opened");
}

OutputStream::~OutputStream() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void OutputStream::fail(const std::string &what) const {
  throw FileError(path_, what + ": " + std::strerror(errno));
}

void OutputStream::write(const void *data, size_t bytes) {
  const auto *rest = static_cast<const char *>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, rest, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail("cannot be written");
    rest += written;
    bytes -= static_cast<size_t>(written);
  }
}

void OutputStream::seek(size_t position) {
  if (::lseek(descriptor_, static_cast<off_t>(position), SEEK_SET) < 0)
    fail("cannot be sought");
}

void OutputStream::commit() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0)  // some file systems tell only here that the disk is full
    fail("cannot be written");
  if (file_)
    file_->commit();
}

}  // namespace holoflow::tools
