// SPDX-License-Identifier: LGPL-2.1-or-later
// The task behind RateLimiter nodes: two or three slots, the later of which waits for its time.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/device/hand_over.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/rim.hh"

namespace holoflow::tasks {

/// Slots of a limiter that must hold so many frames, at least two; of one that drops, three.
[[nodiscard]] size_t limiter_slots(const core::TDesc &tensor, size_t min_frames, bool drops);

using RateClock = std::function<std::chrono::steady_clock::time_point()>;

/// Gives tensors out no faster than one a period; meanwhile makes the producer wait, or keeps only
/// the newest tensor.
///
///   acquire_input lends the free slot → try_push marks it pending → try_pop publishes it when its
///   time has come → release_output frees it
///
/// Slots are memory that input and output share, so nothing is copied; a side that yielded its
/// slot copies. Slots are handed over while the work on them is still enqueued (see HandOver); a
/// tensor that the limiter may drop rather than wait for counts as freed once the device has read
/// it, which the next pop waits for. There are two of them, more only
/// where another path of the graph makes the consumer start later. Tensors are counted by pushed
/// and freed: tensor k lies in slot order[k mod the number of slots]. One producer and one
/// consumer, lock-free where the producer waits.
///
/// Dropping: there are three slots, so that one is always free to be lent: at most one tensor is
/// being read and one waits. A push that finds one waiting takes its number: order swaps the slots
/// of the two, the older tensor is counted as dropped and its slot is the next to be lent. A small
/// mutex keeps a pop from taking the waiting tensor meanwhile.
class RateLimiterTask final : public core::IAsyncTask,
                              public runtime::IRunObserver,
                              public runtime::ILedgerSource,
                              public runtime::IInputLender {
public:
  RateLimiterTask(
      core::TDesc tensor, std::chrono::nanoseconds period, bool drops,
      const core::AsyncCreateCtx &ctx, runtime::Device &device,
      RateClock clock = std::chrono::steady_clock::now);

  core::OpResult try_push(core::AsyncPushCtx &ctx) override;
  core::OpResult try_pop(core::AsyncPopCtx &ctx) override;
  std::optional<core::TView> acquire_input(int index) override;
  bool lend_input(int index) override;
  void abandon_input(int index) override;
  void release_output(int index) override;
  void end_of_input() override { ended_.store(true, std::memory_order_release); }
  bool knows_end_of_input() const noexcept override { return true; }
  std::optional<std::chrono::steady_clock::time_point> ready_at() override;

  void begin_run() override;
  void continue_run() override { ended_ = false; }
  runtime::NodeLedgerView ledger_view() const override;

private:
  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] size_t slot_of(uint64_t tensor) const noexcept {
    return order_[tensor % order_.size()];
  }
  void publish(uint64_t tensor);
  size_t take(uint64_t tensor, std::span<core::FrameRecord> records);
  void copy(std::byte *to, const std::byte *from, cudaStream_t stream);
  void wait_for_slot(uint64_t tensor);
  void free_oldest();
  void settle();

  const core::TDesc tensor_;
  const std::chrono::nanoseconds period_;
  const bool drops_;
  const bool owns_input_;
  const bool owns_output_;
  const cudaStream_t producer_stream_;
  const cudaStream_t consumer_stream_;
  runtime::Device &device_;
  const RateClock clock_;
  std::vector<runtime::MemoryBlock> slots_;
  std::vector<std::vector<core::FrameRecord>> records_;  // by slot, handed over with it
  std::vector<size_t> order_;  // slots by tensor; only the producer changes it
  runtime::HandOver written_;  // by slot
  runtime::HandOver released_;  // by tensor

  bool lent_in_ = false;  // producer's: acquired, not yet pushed
  uint64_t released_count_ = 0;  // consumer's: freed, or dropping, to be freed by settle()
  std::chrono::steady_clock::time_point next_ = {};  // consumer's: no tensor leaves before

  alignas(64) std::atomic<uint64_t> pushed_ = 0;
  alignas(64) std::atomic<uint64_t> freed_ = 0;
  std::atomic<uint64_t> popped_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
  std::mutex mutex_;  // dropping: order_, records_ and popped_ of the waiting tensor
  bool lost_ = false;  // dropping: tensors were dropped since the last pop
  std::atomic<bool> ended_ = false;
};

}  // namespace holoflow::tasks
