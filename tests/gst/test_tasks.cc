// SPDX-License-Identifier: LGPL-2.1-or-later
// Task types of the element's tests: those of the library, one that fails when it is told to, one
// that takes as long as a test wants, one that makes frames and one that keeps them.
#include "test_tasks.hh"

#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

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

std::atomic<uint64_t> &kept_frames() {
  static std::atomic<uint64_t> frames = 0;
  return frames;
}

TaskGate &task_gate() {
  static TaskGate gate;
  return gate;
}

}  // namespace holoflow::test

namespace {

namespace core = holoflow::core;

/// Makes `frames` pictures of 8 x 4 pixels, each full of its number.
class Counter final : public core::ISyncTask {
public:
  explicit Counter(uint64_t frames) : frames_(frames) {}
  void begin_run() override { next_ = 0; }
  core::OpResult execute(core::SyncCtx &ctx) override {
    if (next_ == frames_)
      return core::OpResult::Eof;
    std::memset(
        ctx.outputs[0].data(), static_cast<int>(next_ % 256), ctx.outputs[0].desc.num_bytes());
    ++next_;
    return core::OpResult::Ok;
  }

private:
  const uint64_t frames_;
  uint64_t next_ = 0;
};

class CounterFactory final : public core::ISyncTaskFactory {
public:
  core::InferResult infer(std::span<const core::TDesc>, const nlohmann::json &) const override {
    core::InferResult result;
    result.output_descs = {core::TDesc({1, 4, 8}, core::DType::U8, core::MemLoc::Host)};
    return result;
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc>, const nlohmann::json &params,
      const core::SyncCreateCtx &) const override {
    return std::make_unique<Counter>(params.at("frames").get<uint64_t>());
  }
};

/// Cannot begin a run.
class CannotBegin final : public core::ISyncTask {
public:
  void begin_run() override { throw std::runtime_error("it was told not to begin"); }
  core::OpResult execute(core::SyncCtx &) override { return core::OpResult::Eof; }
};

class CannotBeginFactory final : public core::ISyncTaskFactory {
public:
  core::InferResult infer(
      std::span<const core::TDesc> inputs, const nlohmann::json &) const override {
    core::InferResult result;
    result.input_descs.assign(inputs.begin(), inputs.end());
    result.output_descs.assign(inputs.begin(), inputs.end());
    return result;
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc>, const nlohmann::json &,
      const core::SyncCreateCtx &) const override {
    return std::make_unique<CannotBegin>();
  }
};

}  // namespace

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
  registry.register_sync("CannotBegin", std::make_unique<CannotBeginFactory>());
  registry.register_sync("Counter", std::make_unique<CounterFactory>());
  // Takes frames and gives none.
  core::add_kernel(
      registry, "Keep",
      [](std::span<const core::TView>, std::span<core::TView>, const nlohmann::json &,
         cudaStream_t) { ++test::kept_frames(); },
      [](std::span<const core::TDesc>, const nlohmann::json &) {
        return std::vector<core::TDesc>();
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
