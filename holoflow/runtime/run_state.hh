// SPDX-License-Identifier: LGPL-2.1-or-later
// What all sections of a run share.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>

namespace holoflow::runtime {

/// Threads: everything is safe from any thread.
class RunState {
public:
  /// Set once a run; tasks see it through their contexts.
  std::atomic<bool> cancelled{false};
  /// Whether node durations are being taken.
  std::atomic<bool> measuring{false};
  /// Makes every task and section return soon; set by the scheduler, called without locks.
  std::function<void()> interrupt;

  /// The first error wins and stops the run.
  void fail(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      if (error_ == nullptr)
        error_ = error;
    }
    stop();
  }

  void stop() {
    if (!cancelled.exchange(true))
      interrupt();
  }

  void begin_run() {
    const std::lock_guard lock(mutex_);
    error_ = nullptr;
    cancelled = false;
  }

  [[nodiscard]] std::exception_ptr error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

private:
  mutable std::mutex mutex_;  // guards error_; never held while a task runs
  std::exception_ptr error_;
};

}  // namespace holoflow::runtime
