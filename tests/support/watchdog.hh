// SPDX-License-Identifier: LGPL-2.1-or-later
// For tests whose fault would be that they never end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

namespace holoflow::test {

/// Aborts with `text` where its scope takes longer than any healthy one could.
class Watchdog {
public:
  explicit Watchdog(std::string text, std::chrono::seconds patience = std::chrono::seconds(120))
      : text_(std::move(text)), patience_(patience), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

private:
  void watch() {
    std::unique_lock lock(mutex_);
    if (ended_.wait_for(lock, patience_, [this] { return done_; }))
      return;
    std::cerr << text_ << std::endl;
    std::abort();
  }

  const std::string text_;
  const std::chrono::seconds patience_;
  std::mutex mutex_;  // guards done_
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace holoflow::test
