// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory of tasks that an iteration borrows, and how it goes back.
#pragma once

#include <map>

#include "holoflow/runtime/iteration_ring.hh"
#include "holoflow/runtime/node_runtime.hh"
#include "holoflow/runtime/running_place.hh"
#include "holoflow/runtime/section_waits.hh"

namespace holoflow::runtime {

/// The storage protocol between a section and tasks that own slots:
///
///   owned input    acquire ─ the nodes before it write ─ the task consumes it, or abandon
///   owned output   the task returns Ok ─ the nodes behind it read ─ release, exactly once, also
///                  where the iteration ends early
///
/// A queue whose consumer has ended lends nothing any more: the section then writes to memory of
/// its own, which no one reads.
///
/// Threads: the section's only.
class Lending {
public:
  Lending(Device &device, StreamOrder &order, SectionWaits &waits, RunningPlace &place)
      : device_(device), order_(order), waits_(waits), place_(place) {}

  /// Memory for an owned input; false where the task has none now.
  [[nodiscard]] bool acquire(Iteration &iteration, const Step &step, int slot);
  /// The step has taken its inputs over.
  static void consumed(Iteration &iteration, const Step &step);
  /// The step has returned Ok.
  static void returned(Iteration &iteration, const Step &step);

  /// What the step wanted to push is for no one.
  void discard(Iteration &iteration, const Step &step);
  void abandon(const Iteration::Loan &loan);

  enum class Part { BeforeTail, Tail };
  /// Gives the outputs back that are not needed after this part of the iteration.
  void release(Iteration &iteration, Part part);
  /// Gives one output back; the caller has removed it from its iteration.
  void release(const Iteration::Loan &loan);

private:
  void lend_discard_memory(const Step &step, int slot);

  Device &device_;
  StreamOrder &order_;
  SectionWaits &waits_;
  RunningPlace &place_;
  std::map<const core::Storage *, MemoryBlock> discard_memory_;  // no one reads it any more
};

}  // namespace holoflow::runtime
