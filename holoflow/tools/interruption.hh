// SPDX-License-Identifier: LGPL-2.1-or-later
// Ctrl-C while files are written.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace holoflow::tools {

/// While it lives, SIGINT and SIGTERM remove unfinished files and call `before_exit` before they
/// end the program. A thread of its own takes them, since a handler may call next to nothing. To be
/// made before the threads that write, which inherit its signal mask.
class Interruption {
public:
  explicit Interruption(std::function<void()> before_exit);
  Interruption(const Interruption &) = delete;
  Interruption &operator=(const Interruption &) = delete;
  ~Interruption();

private:
  sigset_t before_{};
  std::thread thread_;
};

}  // namespace holoflow::tools
