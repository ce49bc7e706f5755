// SPDX-License-Identifier: LGPL-2.1-or-later
// Host memory that goes round between a graph and its application.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/runtime/device.hh"

namespace holoflow::runtime {

/// Slots of equal size in Host memory that the application may keep for as long as it likes: a lent
/// slot keeps the pool alive, so that memory outlives the graph.
///
/// Threads: any.
class SlotPool : public std::enable_shared_from_this<SlotPool> {
public:
  class Slot {
  public:
    [[nodiscard]] std::byte *data() const noexcept { return block_.get(); }

    /// Of the frames in the slot, for whoever fills it.
    std::vector<core::FrameRecord> records;

  private:
    friend class SlotPool;
    MemoryBlock block_;
    std::atomic<size_t> users_ = 0;
    std::shared_ptr<SlotPool> pool_;  // set while lent to the application
  };

  SlotPool(Device &device, size_t slot_bytes, size_t slots);

  /// A free slot; one more is allocated where none is free. Never waits.
  [[nodiscard]] Slot *take();
  /// Gives back a slot that nobody outside was lent.
  void give(Slot *slot) noexcept;
  /// Lends the slot to `users`; each calls end_use once, the last one gives it back. With no users
  /// it is back at once.
  void lend(Slot *slot, size_t users);
  static void end_use(Slot *slot) noexcept;

  [[nodiscard]] size_t allocated() const;

private:
  std::unique_ptr<Slot> new_slot() const;

  Device &device_;
  const size_t slot_bytes_;
  mutable std::mutex mutex_;  // guards slots_ and free_
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot *> free_;
};

}  // namespace holoflow::runtime
