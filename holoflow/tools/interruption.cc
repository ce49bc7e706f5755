// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/interruption.hh"

#include <pthread.h>
#include <unistd.h>

#include <utility>

#include "holoflow/tools/command.hh"
#include "holoflow/tools/output_file.hh"

namespace holoflow::tools {

namespace {

// Tells the thread that it is no longer needed.
constexpr int end_signal = SIGUSR1;

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, end_signal})
    sigaddset(&set, signal);
  return set;
}

void watch(const std::function<void()> &before_exit) {
  const sigset_t set = watched_signals();
  int signal = end_signal;
  if (sigwait(&set, &signal) != 0 || signal == end_signal)
    return;
  remove_unfinished_files();
  before_exit();
  print_fault("holoflow: interrupted; what was not finished is removed");
  // Not exit(): other threads still use what its destructors would take away.
  ::_exit(128 + signal);
}

}  // namespace

Interruption::Interruption(std::function<void()> before_exit) {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  thread_ = std::thread(watch, std::move(before_exit));
}

Interruption::~Interruption() {
  pthread_kill(thread_.native_handle(), end_signal);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace holoflow::tools
