// SPDX-License-Identifier: LGPL-2.1-or-later
// The task behind RateLimiter nodes: two slots, the later of which waits for its time.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/rim.hh"

namespace holoflow::tasks {

/// Slots of a limiter that must hold so many frames, at least two.
[[nodiscard]] size_t limiter_slots(const core::TDesc &tensor, size_t min_frames);

using RateClock = std::function<std::chrono::steady_clock::time_point()>;

/// Gives tensors out no faster than one a period and makes the producer wait meanwhile.
///
///   acquire_input lends the free slot → try_push marks it pending → try_pop publishes it when its
///   time has come → release_output frees it
///
/// Slots are memory that input and output share, so nothing is copied; a side that yielded its
/// slot copies, and waits for its stream before it publishes. There are two of them, more only
/// where another path of the graph makes the consumer start later. Tensors are counted by pushed
/// and freed: tensor k lies in slot k mod the number of slots. Lock-free, one producer and one
/// consumer.
class RateLimiterTask final : public core::IAsyncTask,
                              public runtime::IRunObserver,
                              public runtime::ILedgerSource {
public:
  RateLimiterTask(
      core::TDesc tensor, std::chrono::nanoseconds period, const core::AsyncCreateCtx &ctx,
      runtime::Device &device, RateClock clock = std::chrono::steady_clock::now);

  core::OpResult try_push(core::AsyncPushCtx &ctx) override;
  core::OpResult try_pop(core::AsyncPopCtx &ctx) override;
  std::optional<core::TView> acquire_input(int index) override;
  void abandon_input(int index) override;
  void release_output(int index) override;
  void end_of_input() override { ended_.store(true, std::memory_order_release); }
  bool knows_end_of_input() const noexcept override { return true; }
  std::optional<std::chrono::steady_clock::time_point> ready_at() override;

  void begin_run() override;
  runtime::NodeLedgerView ledger_view() const override;

private:
  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] std::byte *slot(uint64_t tensor) const noexcept {
    return slots_[tensor % slots_.size()].get();
  }
  void copy(std::byte *to, const std::byte *from, cudaStream_t stream);

  const core::TDesc tensor_;
  const std::chrono::nanoseconds period_;
  const bool owns_input_;
  const bool owns_output_;
  const cudaStream_t producer_stream_;
  const cudaStream_t consumer_stream_;
  runtime::Device &device_;
  const RateClock clock_;
  std::vector<runtime::MemoryBlock> slots_;
  std::vector<std::vector<core::FrameRecord>> records_;  // handed over with the slot

  bool lent_in_ = false;  // producer's: acquired, not yet pushed
  bool lent_out_ = false;  // consumer's: popped, not yet released
  std::chrono::steady_clock::time_point next_ = {};  // consumer's: no tensor leaves before

  alignas(64) std::atomic<uint64_t> pushed_ = 0;
  alignas(64) std::atomic<uint64_t> freed_ = 0;
  std::atomic<uint64_t> popped_ = 0;
  std::atomic<bool> ended_ = false;
};

}  // namespace holoflow::tasks
