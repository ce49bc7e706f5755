// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors that share a storage form a tree: the tensor that was written afresh at the root, each
// alias a branch. Passes 6 and 9 cut branches off.
//
//   A.0 ──view──► S.0 ──writes──► B.0        one storage, three tensors, two versions of its bytes
#pragma once

#include <vector>

#include "holoflow/compiler/plan.hh"

namespace holoflow::compiler {

class AliasForest {
public:
  /// The plan must have passed map_storage and outlive the forest.
  explicit AliasForest(Plan &plan);

  /// Tensors of a storage, producers first.
  [[nodiscard]] const std::vector<int> &tensors(int sid);
  /// The unbroken alias that made a tensor, an index into plan.aliases; -1 for a root.
  [[nodiscard]] int alias_of(int tid) const { return alias_of_[static_cast<size_t>(tid)]; }
  /// The tensor that an alias looks at, and the one it makes.
  [[nodiscard]] int in_tid(const Alias &alias) const;
  [[nodiscard]] int out_tid(const Alias &alias) const;

  /// Gives the alias's output, and all that shares memory with it further on, a storage of its own.
  /// Returns the new storage id.
  int cut(size_t alias);

private:
  Plan &plan_;
  std::vector<std::vector<int>> tensors_;  // by sid; may still list what was cut off
  std::vector<int> alias_of_;
  std::vector<std::vector<int>> made_from_;  // by tid, tensors that look at it
};

/// Writes plan.storage_owner anew from the ownership masks of the nodes.
void record_owners(Plan &plan);

}  // namespace holoflow::compiler
