// SPDX-License-Identifier: LGPL-2.1-or-later
// posix_spawn with three pipes; reads and writes them together, so that neither side can block the
// other.
#include "holoflow/tools/subprocess.hh"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

extern char **environ;

namespace holoflow::tools {

namespace {

class Pipe {
public:
  Pipe() {
    // Closed on exec: a child gets its ends by dup2 only.
    if (pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
  }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;
  ~Pipe() {
    close_read();
    close_write();
  }
  [[nodiscard]] int read_end() const { return ends_[0]; }
  [[nodiscard]] int write_end() const { return ends_[1]; }
  void close_read() { close_end(ends_[0]); }
  void close_write() { close_end(ends_[1]); }

private:
  static void close_end(int &end) {
    if (end >= 0)
      ::close(end);
    end = -1;
  }
  std::array<int, 2> ends_ = {-1, -1};
};

/// Appends what there is to read; closes the pipe at its end.
void drain(Pipe &pipe, std::string &text) {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(pipe.read_end(), buffer.data(), buffer.size());
  if (count > 0)
    text.append(buffer.data(), static_cast<size_t>(count));
  else if (count == 0 || errno != EINTR)
    pipe.close_read();
}

void feed(Pipe &pipe, std::string_view &rest) {
  const ssize_t count = ::write(pipe.write_end(), rest.data(), rest.size());
  if (count >= 0)
    rest.remove_prefix(static_cast<size_t>(count));
  else if (errno != EINTR && errno != EAGAIN)
    rest = {};  // it does not want more
  if (rest.empty())
    pipe.close_write();
}

void exchange(Pipe &in, std::string_view input, Pipe &out, Pipe &err, ProcessResult &result) {
  if (input.empty())
    in.close_write();
  else
    ::fcntl(in.write_end(), F_SETFL, O_NONBLOCK);
  while (out.read_end() >= 0 || err.read_end() >= 0 || in.write_end() >= 0) {
    std::array<pollfd, 3> waits{
        {{out.read_end(), POLLIN, 0}, {err.read_end(), POLLIN, 0}, {in.write_end(), POLLOUT, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "poll");
    if (waits[0].revents != 0)
      drain(out, result.output);
    if (waits[1].revents != 0)
      drain(err, result.errors);
    if (waits[2].revents != 0)
      feed(in, input);
  }
}

/// A program that does not read its input is its own business; writing to it must not end ours.
class IgnoredBrokenPipes {
public:
  IgnoredBrokenPipes() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  IgnoredBrokenPipes(const IgnoredBrokenPipes &) = delete;
  IgnoredBrokenPipes &operator=(const IgnoredBrokenPipes &) = delete;
  ~IgnoredBrokenPipes() { std::signal(SIGPIPE, before_); }

private:
  void (*before_)(int);
};

/// 0, or why there is no child.
int spawn(
    pid_t &child, const std::vector<char *> &argv, const Pipe &in, const Pipe &out,
    const Pipe &err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read_end(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.write_end(), 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t pipes;  // ignored by us, but not by the child
  sigemptyset(&pipes);
  sigaddset(&pipes, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &pipes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string> &arguments, std::string_view input) {
  const IgnoredBrokenPipes ignored;
  Pipe in, out, err;
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));  // posix_spawn does not write to them
  argv.push_back(nullptr);
  pid_t child = -1;
  const int error = spawn(child, argv, in, out, err);
  ProcessResult result;
  if (error != 0) {
    result.errors = std::strerror(error);
    return result;
  }
  result.started = true;
  in.close_read();
  out.close_write();
  err.close_write();
  exchange(in, input, out, err, result);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace holoflow::tools
