// SPDX-License-Identifier: LGPL-2.1-or-later
// The task behind Output nodes: lends page-locked slots to the graph, then to the application.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/rim.hh"

namespace holoflow::tasks {

/// Slots of equal size in Host memory that the application may keep for as long as it likes: a lent
/// slot keeps the pool alive, so that memory outlives the graph.
///
/// Threads: any.
class SlotPool : public std::enable_shared_from_this<SlotPool> {
public:
  class Slot {
  public:
    [[nodiscard]] std::byte *data() const noexcept { return block_.get(); }

  private:
    friend class SlotPool;
    runtime::MemoryBlock block_;
    std::atomic<size_t> users_ = 0;
    std::shared_ptr<SlotPool> pool_;  // set while lent to the application
  };

  SlotPool(runtime::Device &device, size_t slot_bytes, size_t slots);

  /// A free slot; one more is allocated where none is free. Never waits.
  [[nodiscard]] Slot *take();
  /// Gives back a slot that nobody outside was lent.
  void give(Slot *slot) noexcept;
  /// Lends the slot to `users`; each calls end_use once, the last one gives it back.
  void lend(Slot *slot, size_t users);
  static void end_use(Slot *slot) noexcept;

  [[nodiscard]] size_t allocated() const;

private:
  std::unique_ptr<Slot> new_slot() const;

  runtime::Device &device_;
  const size_t slot_bytes_;
  mutable std::mutex mutex_;  // guards slots_ and free_
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot *> free_;
};

/// Where the task owns its input the graph writes into the very slot that the application gets;
/// several may be acquired before the first is executed.
/// where it yielded, or where the input is no packed view, the tensor is copied into a slot.
///
/// Emission: with one record per frame (rank ≥ 3) every frame leaves by itself, as [1, …], unless
/// set_split(false) was called; frames of overlapping windows leave once, padding never. Otherwise
/// the tensor leaves whole.
///
/// Threads: acquire, execute, abandon and end_of_section on the section's thread, interrupt on any.
class OutputTask final : public core::ISyncTask,
                         public runtime::IFrameOutput,
                         public runtime::IRunObserver,
                         public runtime::ILedgerSource,
                         public runtime::IInputLender {
public:
  /// `slot_bytes`: what the graph writes into an owned input, 0 for the tensor's own size.
  OutputTask(core::TDesc input, bool owns_input, size_t slot_bytes, runtime::Device &device);
  ~OutputTask() override;

  std::optional<core::TView> acquire_input(int index) override;
  bool lend_input(int index) override;
  void abandon_input(int index) override;
  core::OpResult execute(core::SyncCtx &ctx) override;
  void interrupt() noexcept override;

  void set_sink(runtime::IFrameSink *sink) override { sink_ = sink; }
  const core::TDesc &tensor() const override { return tensor_; }
  size_t record_count() const override;
  void set_split(bool split) override { split_ = split; }

  void begin_run() override;
  void end_of_section(bool eof) override;
  runtime::NodeLedgerView ledger_view() const override;

  /// Slots allocated so far.
  [[nodiscard]] size_t slots() const { return pool_->allocated(); }

private:
  SlotPool::Slot *take_input(core::SyncCtx &ctx, size_t &offset);
  core::OpResult emit_frames(
      SlotPool::Slot *slot, std::byte *data, std::span<core::FrameRecord> records);
  core::OpResult emit_whole(
      SlotPool::Slot *slot, std::byte *data, std::span<core::FrameRecord> records);
  core::OpResult hand_over(
      core::TDesc desc, SlotPool::Slot *slot, std::byte *data,
      std::vector<core::FrameRecord> records);
  [[nodiscard]] bool emitted_before(const core::FrameRecord &record) const;

  const core::TDesc input_;  // as the graph writes it, may be a view
  const core::TDesc tensor_;  // as it leaves, packed
  core::TDesc frame_;  // one frame of it
  const bool owns_input_;
  std::shared_ptr<SlotPool> pool_;  // shared with the slots that the application holds
  std::vector<SlotPool::Slot *> acquired_;  // oldest first: sections may run ahead of execute
  std::atomic<runtime::IFrameSink *> sink_ = nullptr;
  bool split_ = true;
  std::optional<uint64_t> newest_;  // highest sequence number that left

  std::atomic<uint64_t> entered_ = 0;
  std::atomic<uint64_t> left_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
};

}  // namespace holoflow::tasks
