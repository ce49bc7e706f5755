// SPDX-License-Identifier: LGPL-2.1-or-later
// The parts of pass 9 that have files of their own.
#pragma once

#include "holoflow/compiler/alias_forest.hh"
#include "holoflow/compiler/plan.hh"

namespace holoflow::compiler {

inline constexpr const char *partition_pass = "section partitioning";

/// A node after which the bytes of a storage are no longer what others came to read: it overwrites
/// its input in place, or it takes an owned input away. Every reader in `readers` has to run first.
struct Overwriter {
  size_t node = 0;
  int slot = 0;  ///< the input
  int alias = -1;  ///< index into plan.aliases; -1: owns the input
  std::vector<size_t> readers = {};  ///< synchronous nodes of its section
};

/// Finds what is overwritten while others still need it. Optional aliases that no order can save
/// are broken, yielding owners give way, required aliases and firm owners are refused.
/// Reads: aliases, ownership, sections.  Writes: tid_to_sid, aliases, ownership masks.
[[nodiscard]] std::vector<Overwriter> find_overwriters(Plan &plan);

/// Settles one overwriter that no order can save: an optional alias is broken, a yielding owner
/// gives way, anything else is refused. `reason` follows the name of the input: "is also read by
/// …".
void give_up_overwriting(
    Plan &plan, AliasForest &forest, const Overwriter &overwriter, const std::string &reason);

/// Fills each section's sync_topo, producers first and readers before overwriters. Where these
/// orders contradict each other the overwriter gets memory of its own, or is refused.
/// Writes: sections, tid_to_sid, aliases, ownership masks.
void order_sections(
    Plan &plan, const std::vector<std::vector<size_t>> &members,
    const std::vector<Overwriter> &overwriters);

/// Orders what each section pushes to: whoever only reads a tensor before the one who owns it, then
/// tasks that synchronise the stream themselves, so that their wait serves the others.
void order_pushes(Plan &plan);

/// Frames flow at one rate wherever paths meet, and no queue is too shallow for the delay of
/// another path. Writes: min_slots of asynchronous nodes.
void balance_rates(Plan &plan);

}  // namespace holoflow::compiler
