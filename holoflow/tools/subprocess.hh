// SPDX-License-Identifier: LGPL-2.1-or-later
// Other programs, run without a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holoflow::tools {

struct ProcessResult {
  bool started = false;  ///< false: there is no such program, `errors` says why
  int status = -1;  ///< exit status; 128 + signal where a signal ended it
  std::string output;
  std::string errors;
};

/// Runs `arguments[0]`, found on PATH, and waits for it. `input` goes to its standard input.
/// Throws std::system_error where the system has no more pipes or processes.
[[nodiscard]] ProcessResult run_process(
    const std::vector<std::string> &arguments, std::string_view input = {});

}  // namespace holoflow::tools
