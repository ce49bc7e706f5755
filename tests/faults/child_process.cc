// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/faults/child_process.hh"

#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cstring>

extern "C" char **environ;

namespace holoflow::faults {

std::string run_in_child(const std::string &name) {
  std::string program = "/proc/self/exe", filter = "--gtest_filter=" + name,
              disabled = "--gtest_also_run_disabled_tests";
  std::array<char *, 4> arguments{program.data(), filter.data(), disabled.data(), nullptr};
  pid_t child = 0;
  if (const int error =
          posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ);
      error != 0)
    return std::string("it did not start: ") + std::strerror(error);
  int status = 0;
  if (waitpid(child, &status, 0) != child)
    return "it was lost";
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : "exit status " + std::to_string(code);
}

}  // namespace holoflow::faults
