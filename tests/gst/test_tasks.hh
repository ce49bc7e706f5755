// SPDX-License-Identifier: LGPL-2.1-or-later
// What tests share with the task types of test_tasks.cc.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace holoflow::test {

/// Where frames of the task `HoldAtGate` wait while it is closed.
class TaskGate {
public:
  void close();
  void open();
  /// Until a frame waits.
  void await_held();
  /// The task's.
  void pass();

private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool open_ = true;
  size_t held_ = 0;
};
TaskGate &task_gate();

/// Frames that came to tasks of the type `Keep`, of all tests.
std::atomic<uint64_t> &kept_frames();

}  // namespace holoflow::test
