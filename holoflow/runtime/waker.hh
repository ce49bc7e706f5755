// SPDX-License-Identifier: LGPL-2.1-or-later
// Sleep until somebody changed something. The one way in which section threads wait.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>

namespace holoflow::runtime {

/// One thread sleeps, any thread wakes. No wake-up is lost:
///
///   sleeper: seen = epoch() → look at the condition → wait(seen)
///   waker:   change the condition → notify()
///
/// A notify after epoch() was read makes wait return at once. notify costs one atomic add while
/// nobody sleeps.
class Waker {
public:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] uint64_t epoch() const noexcept { return epoch_.load(); }

  void notify() noexcept {
    // Sequentially consistent on both sides: either the sleeper sees the new epoch, or this thread
    // sees the sleeper.
    epoch_.fetch_add(1);
    if (!sleeping_.load())
      return;
    const std::lock_guard lock(mutex_);
    condition_.notify_one();
  }

  /// Returns when notify was called since `seen` was read, or at the deadline.
  void wait(uint64_t seen, std::optional<Clock::time_point> deadline = std::nullopt) {
    static const int spin_us = [] {
      const char *v = getenv("HF_SPIN");
      return v ? atoi(v) : 0;
    }();
    if (spin_us > 0) {
      const auto end = Clock::now() + std::chrono::microseconds(spin_us);
      do {
        for (int i = 0; i < 16; ++i) {
          if (epoch_.load() != seen)
            return;
          __builtin_ia32_pause();
        }
      } while (Clock::now() < end);
    }
    std::unique_lock lock(mutex_);
    sleeping_.store(true);
    const auto changed = [&] { return epoch_.load() != seen; };
    if (deadline)
      condition_.wait_until(lock, *deadline, changed);
    else
      condition_.wait(lock, changed);
    sleeping_.store(false);
  }

private:
  std::atomic<uint64_t> epoch_{0};
  std::atomic<bool> sleeping_{false};
  std::mutex mutex_;  // guards nothing but the step from "not changed" to asleep
  std::condition_variable condition_;
};

}  // namespace holoflow::runtime
