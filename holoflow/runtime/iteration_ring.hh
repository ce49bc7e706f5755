// SPDX-License-Identifier: LGPL-2.1-or-later
// The iterations of a section that are in flight: what each has in hand, and whose memory is in
// the storages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holoflow/runtime/section_steps.hh"

namespace holoflow::runtime {

/// What one pass through a section has in hand. A value: up to 1 + lag of them are in flight.
struct Iteration {
  /// A slot whose memory a task has lent for this iteration.
  struct Loan {
    const Step *step = nullptr;
    int slot = 0;
    bool is_last_of_step = true;
  };
  std::vector<Loan> acquired;  ///< inputs that no one has consumed yet
  std::vector<Loan> lent;  ///< outputs of tasks that returned Ok, to be released
  std::vector<const Step *> delivered;  ///< sources and queues that gave frames

  uint64_t work = 0;  ///< the stream's last work of this iteration, once its tail is outstanding

  void clear() {
    acquired.clear();
    lent.clear();
    delivered.clear();
  }
};

/// 1 + lag iterations in turn, oldest first. Storages that the tail touches hold the memory of the
/// current iteration, except while an OldestMemory lives.
///
///   begin() ─ six steps ─┬─ complete()                     no tail
///                        └─ defer(work) ─ … ─ OldestMemory ─ tail ─ complete_oldest()
///
/// Threads: the section's only.
class IterationRing {
public:
  IterationRing(const Section &section, const SectionSteps &steps, ExecResources &resources);

  /// Forgets the last run.
  void reset();

  /// The iteration that had this place has ended: its work has been waited for.
  void begin();
  [[nodiscard]] Iteration &current() { return iterations_[current_slot()]; }
  /// Which of the pieces of memory and records the current iteration has.
  [[nodiscard]] size_t current_slot() const { return begun_ % iterations_.size(); }
  void complete();
  /// The tail of the current iteration waits for the stream's work.
  void defer(uint64_t work);

  [[nodiscard]] bool has_outstanding() const { return outstanding_ != begun_; }
  /// More tails are outstanding than the lag allows.
  [[nodiscard]] bool is_over_lag() const { return begun_ - outstanding_ >= iterations_.size(); }
  [[nodiscard]] Iteration &oldest() { return iterations_[oldest_slot()]; }
  [[nodiscard]] size_t oldest_slot() const { return outstanding_ % iterations_.size(); }
  void complete_oldest();

  /// The current iteration is neither complete nor outstanding.
  [[nodiscard]] bool is_in_progress() const { return in_progress_; }
  /// Iterations that are not complete, oldest first.
  [[nodiscard]] std::vector<Iteration *> open();

  /// Puts the memory of the oldest iteration into the storages, for a scope.
  class OldestMemory {
  public:
    explicit OldestMemory(IterationRing &ring) : ring_(ring), slot_(ring.oldest_slot()) {
      ring_.swap_memory(slot_);
    }
    ~OldestMemory() { ring_.swap_memory(slot_); }
    OldestMemory(const OldestMemory &) = delete;
    OldestMemory &operator=(const OldestMemory &) = delete;

  private:
    IterationRing &ring_;
    const size_t slot_;
  };

private:
  struct Repeated {
    core::Storage *storage;
    std::byte *first;
    size_t stride;
  };

  void swap_memory(size_t slot);

  std::vector<Iteration> iterations_;
  std::vector<Repeated> repeated_;  // storages with a piece for each iteration
  std::vector<core::Storage *> tail_storages_;
  std::vector<std::vector<std::byte *>> memory_;  // by place: of the tail's storages
  uint64_t begun_ = 0, outstanding_ = 0;  // numbers of the current and the oldest iteration
  bool in_progress_ = false;
};

}  // namespace holoflow::runtime
