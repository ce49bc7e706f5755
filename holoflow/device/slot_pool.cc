// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/device/slot_pool.hh"

#include <utility>

namespace holoflow::runtime {

SlotPool::SlotPool(Device &device, size_t slot_bytes, size_t slots)
    : device_(device), slot_bytes_(slot_bytes) {
  for (size_t i = 0; i < slots; ++i) {
    slots_.push_back(new_slot());
    free_.push_back(slots_.back().get());
  }
}

std::unique_ptr<SlotPool::Slot> SlotPool::new_slot() const {
  auto slot = std::make_unique<Slot>();
  slot->block_ = MemoryBlock(device_, core::MemLoc::Host, slot_bytes_);
  return slot;
}

SlotPool::Slot *SlotPool::take() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Slot *slot = free_.back();
      free_.pop_back();
      return slot;
    }
  }
  auto slot = new_slot();  // page-locking takes long: without the lock
  std::lock_guard lock(mutex_);
  slots_.push_back(std::move(slot));
  free_.reserve(slots_.size());  // so that give() never allocates
  return slots_.back().get();
}

void SlotPool::give(Slot *slot) noexcept {
  std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

void SlotPool::lend(Slot *slot, size_t users) {
  if (users == 0)
    return give(slot);
  slot->pool_ = shared_from_this();
  slot->users_.store(users, std::memory_order_release);
}

void SlotPool::end_use(Slot *slot) noexcept {
  if (slot->users_.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  slot->records.clear();  // what they hold goes now; their memory stays
  // The pool may die with the last reference, and the slot with it.
  const std::shared_ptr<SlotPool> pool = std::move(slot->pool_);
  pool->give(slot);
}

size_t SlotPool::allocated() const {
  std::lock_guard lock(mutex_);
  return slots_.size();
}

}  // namespace holoflow::runtime
