// SPDX-License-Identifier: LGPL-2.1-or-later
// Graphs on a real GPU whose calls of the CUDA runtime are made to fail.
#pragma once

#include <chrono>
#include <string>

#include "tests/support/graph_runs.hh"

namespace holoflow::faults {

enum class Failure {
  Once,  ///< one call fails
  Lost,  ///< so do all calls after it
};

struct FailingGraph {
  std::string name;
  test::Run run;
  bool exact = true;  ///< GPU and CPU give the same bits
  bool page_locked = false;  ///< the graph borrows what is pushed
};

/// Runs the graph again and again, each time with another call failing, from its first to its
/// last. Where they are more than fit in `budget`, calls are drawn evenly. Each run has to end by
/// itself, with one error that names a call or with the right bytes; to give back each pushed
/// tensor once; and to leave no memory, stream or event behind. Runs without failures in between
/// have to be right.
void check_failing_calls(
    const FailingGraph &graph, Failure failure, std::chrono::milliseconds budget);

}  // namespace holoflow::faults
