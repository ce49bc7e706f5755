// SPDX-License-Identifier: LGPL-2.1-or-later
// Task types of the element's tests: those of the library, one that fails when it is told to and
// one that takes as long as a test wants.
#include "test_tasks.hh"

#include <cstring>
#include <stdexcept>

#include "gst/gstholoflowtasks.h"
#include "holoflow/builtin_tasks.hh"

namespace holoflow::test {

void TaskGate::close() {
  std::lock_guard lock(mutex_);
  open_ = false;
}

void TaskGate::open() {
  std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

void TaskGate::await_held() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return held_ > 0; });
}

void TaskGate::pass() {
  std::unique_lock lock(mutex_);
  ++held_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return open_; });
  --held_;
}

TaskGate &task_gate() {
  static TaskGate gate;
  return gate;
}

}  // namespace holoflow::test

namespace holoflow::gst {

void register_tasks(core::Registry &registry) {
  register_builtin_tasks(registry);
  // Copies frames, but throws at one whose first byte is 99.
  core::add_kernel(
      registry, "FailAt99",
      [](std::span<const core::TView> inputs, std::span<core::TView> outputs,
         const nlohmann::json &, cudaStream_t) {
        if (inputs[0].data()[0] == std::byte{99})
          throw std::runtime_error("this frame begins with 99");
        std::memcpy(outputs[0].data(), inputs[0].data(), inputs[0].desc.num_bytes());
      });
  // Copies frames once the gate is open.
  core::add_kernel(
      registry, "HoldAtGate",
      [](std::span<const core::TView> inputs, std::span<core::TView> outputs,
         const nlohmann::json &, cudaStream_t) {
        test::task_gate().pass();
        std::memcpy(outputs[0].data(), inputs[0].data(), inputs[0].desc.num_bytes());
      });
}

}  // namespace holoflow::gst
