// SPDX-License-Identifier: LGPL-2.1-or-later
// What was recorded of a run of tasks: kept with the compiled graph, filled while it runs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "holoflow/runtime/recorded_work.hh"

namespace holoflow::runtime {

/// What a run has recorded so far. Belongs to the compiled graph, so that it outlives the scheduler
/// and, where nothing about the run changes, the compile.
struct RunExecutables {
  std::vector<std::string> nodes;  ///< of the run, in order
  std::string key;  ///< of its definition, which says too which slots share memory
  cudaStream_t stream = nullptr;
  std::vector<std::byte *> fixed;  ///< addresses of the memory that does not move
  std::vector<std::unique_ptr<RecordedWork>> list;
};

}  // namespace holoflow::runtime
