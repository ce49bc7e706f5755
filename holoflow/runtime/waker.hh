// SPDX-License-Identifier: LGPL-2.1-or-later
// Sleep until somebody changed something. The one way in which section threads wait.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
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
    if (is_brisk_ && spin(seen))
      return;
    const auto begin = Clock::now();
    sleep(seen, deadline);
    is_brisk_ = Clock::now() - begin < brisk_wait;
  }

private:
  // Two sides that hand over every few microseconds meet faster awake than through the kernel.
  static constexpr std::chrono::microseconds brisk_wait{8}, longest_spin{4};

  bool spin(uint64_t seen) const {
    const auto end = Clock::now() + longest_spin;
    do {
      for (int i = 0; i < 32; ++i)
        if (epoch_.load(std::memory_order_acquire) != seen)
          return true;
    } while (Clock::now() < end);
    return false;
  }

  void sleep(uint64_t seen, std::optional<Clock::time_point> deadline) {
    std::unique_lock lock(mutex_);
    sleeping_.store(true);
    const auto changed = [&] { return epoch_.load() != seen; };
    if (deadline)
      condition_.wait_until(lock, *deadline, changed);
    else
      condition_.wait(lock, changed);
    sleeping_.store(false);
  }

  std::atomic<uint64_t> epoch_{0};
  std::atomic<bool> sleeping_{false};
  std::mutex mutex_;  // guards nothing but the step from "not changed" to asleep
  std::condition_variable condition_;
  bool is_brisk_ = false;  // the sleeper's: the last wait was short
};

}  // namespace holoflow::runtime
