// SPDX-License-Identifier: LGPL-2.1-or-later
// The task behind Output nodes: lends page-locked slots to the graph, then to the application.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/device/slot_pool.hh"
#include "holoflow/runtime/rim.hh"

namespace holoflow::tasks {

/// Where the task owns its input the graph writes into the very slot that the application gets;
/// several may be acquired before the first is executed. Where it yielded, or where the input is no
/// packed view, the tensor is copied into a slot.
///
/// Emission: with one record per frame (rank ≥ 3) every frame leaves by itself, as [1, …], unless
/// set_split(false) was called; frames of overlapping windows leave once, padding never. Otherwise
/// the tensor leaves whole, unless all its frames are padding or have left before.
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
  const core::TDesc &tensor() const override { return *tensor_; }
  size_t record_count() const override;
  void set_split(bool split) override { split_ = split; }
  std::chrono::nanoseconds take_waiting_time() override;

  void begin_run() override;
  void continue_run() override {}
  void end_of_section(bool eof) override;
  runtime::NodeLedgerView ledger_view() const override;

  /// Slots allocated so far.
  [[nodiscard]] size_t slots() const { return pool_->allocated(); }

private:
  runtime::SlotPool::Slot *take_input(core::SyncCtx &ctx, size_t &offset);
  core::OpResult emit_frames(runtime::SlotPool::Slot *slot, std::byte *data);
  core::OpResult emit_whole(runtime::SlotPool::Slot *slot, std::byte *data);
  core::OpResult hand_over(
      const std::shared_ptr<const core::TDesc> &desc, runtime::SlotPool::Slot *slot,
      std::byte *data, std::span<const core::FrameRecord> records);
  /// Whether the frame is neither padding nor one that left before; from now on it has left.
  [[nodiscard]] bool take_note(const core::FrameRecord &record);

  const core::TDesc input_;  // as the graph writes it, may be a view
  // Shared with what the application holds.
  const std::shared_ptr<const core::TDesc> tensor_;  // as it leaves, packed
  const std::shared_ptr<const core::TDesc> frame_;  // one frame of it
  const bool owns_input_;
  std::shared_ptr<runtime::SlotPool> pool_;  // shared with the slots that the application holds
  std::vector<runtime::SlotPool::Slot *>
      acquired_;  // oldest first: sections may run ahead of execute
  std::atomic<runtime::IFrameSink *> sink_ = nullptr;
  bool split_ = true;
  std::optional<uint64_t> newest_;  // highest sequence number that left

  std::atomic<uint64_t> entered_ = 0;
  std::atomic<uint64_t> left_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
};

}  // namespace holoflow::tasks
