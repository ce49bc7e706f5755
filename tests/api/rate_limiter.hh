// SPDX-License-Identifier: LGPL-2.1-or-later
// An asynchronous task as a user of the first model wrote it: with a staging buffer, and in a form
// that owns its slots and copies nothing.
#pragma once

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <vector>

#include "holoflow/core/tasks.hh"

namespace api_test {

namespace core = holoflow::core;
using Clock = std::chrono::steady_clock;

inline Clock::duration period_of(const nlohmann::json &settings) {
  const auto max_fps = settings.at("max_fps").get<double>();
  if (!(max_fps > 0))
    throw std::invalid_argument("max_fps must be above 0");
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1.0 / max_fps));
}

inline core::InferResult infer_rate_limiter(
    std::span<const core::TDesc> inputs, core::MemLoc loc, bool owns) {
  if (inputs.size() != 1 || inputs[0].mem_loc != loc)
    throw std::invalid_argument("a rate limiter has one input in its own memory");
  const auto &input = inputs[0];
  return core::InferResult{
      .input_descs = {input},
      .output_descs = {core::TDesc(input.shape, input.dtype, input.mem_loc)},
      .in_place = {},
      .owned_inputs = {owns},
      .owned_outputs = {owns},
      .kind = core::TaskKind::Async,
      .synchronizes_producer_stream = loc == core::MemLoc::Device,
  };
}

/// One element waits in a buffer of the task's own.
class HostStagingLimiter final : public core::IAsyncTask {
public:
  HostStagingLimiter(const core::TDesc &desc, Clock::duration period)
      : staging_(desc.num_bytes()), period_(period), next_(Clock::now()) {}

  core::OpResult try_push(core::AsyncPushCtx &ctx) override {
    if (ctx.cancelled->load(std::memory_order_relaxed))
      return core::OpResult::Cancelled;
    if (full_.load(std::memory_order_acquire))
      return core::OpResult::NotReady;
    std::memcpy(staging_.data(), ctx.inputs[0].data(), staging_.size());
    full_.store(true, std::memory_order_release);
    return core::OpResult::Ok;
  }

  core::OpResult try_pop(core::AsyncPopCtx &ctx) override {
    if (ctx.cancelled->load(std::memory_order_relaxed))
      return core::OpResult::Cancelled;
    const auto now = Clock::now();
    if (!full_.load(std::memory_order_acquire) || now < next_)
      return core::OpResult::NotReady;
    std::memcpy(ctx.outputs[0].data(), staging_.data(), staging_.size());
    next_ = now + period_;
    full_.store(false, std::memory_order_release);
    return core::OpResult::Ok;
  }

private:
  std::vector<std::byte> staging_;
  Clock::duration period_;
  Clock::time_point next_;
  std::atomic<bool> full_ = false;
};

/// Two slots go round: one with the producer, one with the consumer.
class HostSlotLimiter final : public core::IAsyncTask {
public:
  HostSlotLimiter(const core::TDesc &desc, Clock::duration period)
      : desc_(desc), period_(period), next_(Clock::now()) {
    for (auto &slot : slots_)
      slot.memory.resize(desc.num_bytes());
  }

  std::optional<core::TView> acquire_input(int index) override {
    const std::lock_guard lock(mutex_);
    auto *slot = find(State::Free);
    if (slot == nullptr || find(State::Pending) != nullptr)
      return std::nullopt;
    slot->state = State::Writing;
    auto &storage = storage_access().owned_input_storage(static_cast<size_t>(index));
    storage.ptr = slot->memory.data();
    return core::TView{desc_, &storage};
  }

  core::OpResult try_push(core::AsyncPushCtx &) override {
    const std::lock_guard lock(mutex_);
    storage_access().owned_input_storage(0).ptr = nullptr;
    find(State::Writing)->state = State::Pending;
    return core::OpResult::Ok;
  }

  core::OpResult try_pop(core::AsyncPopCtx &) override {
    const std::lock_guard lock(mutex_);
    auto *slot = find(State::Pending);
    const auto now = Clock::now();
    if (slot == nullptr || now < next_)
      return core::OpResult::NotReady;
    next_ = now + period_;
    slot->state = State::Reading;
    storage_access().owned_output_storage(0).ptr = slot->memory.data();
    return core::OpResult::Ok;
  }

  void release_output(int index) override {
    const std::lock_guard lock(mutex_);
    storage_access().owned_output_storage(static_cast<size_t>(index)).ptr = nullptr;
    find(State::Reading)->state = State::Free;
  }

private:
  enum class State { Free, Writing, Pending, Reading };
  struct Slot {
    std::vector<std::byte> memory;
    State state = State::Free;
  };
  Slot *find(State state) {
    for (auto &slot : slots_)
      if (slot.state == state)
        return &slot;
    return nullptr;
  }

  core::TDesc desc_;
  Clock::duration period_;
  Clock::time_point next_;
  std::mutex mutex_;  // guards the slots
  std::array<Slot, 2> slots_;
};

template <typename Task, core::MemLoc loc, bool owns>
class HostLimiterFactory final : public core::IAsyncTaskFactory {
public:
  core::InferResult infer(
      std::span<const core::TDesc> inputs, const nlohmann::json &settings) const override {
    (void)period_of(settings);
    return infer_rate_limiter(inputs, loc, owns);
  }
  std::unique_ptr<core::IAsyncTask> create(
      std::span<const core::TDesc> inputs, const nlohmann::json &settings,
      const core::AsyncCreateCtx &) const override {
    return std::make_unique<Task>(inputs[0], period_of(settings));
  }
};

}  // namespace api_test
