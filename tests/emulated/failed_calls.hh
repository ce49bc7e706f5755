// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs of a graph on a GPU that refuses a call.
#pragma once

#include "tests/emulated/expect_same.hh"

namespace holoflow::emulated {

enum class Failure {
  Once,  ///< one call fails
  Lost,  ///< so do all calls after it, and nothing that is pending runs
};

/// Runs the graph again and again, each time with the next call failing, until a run makes fewer
/// calls. Each run has to end, with that error or with the right bytes; to leave no memory, stream
/// or event behind; to give back each pushed tensor once; and to free nothing that pending work
/// still writes.
void check_every_call(const Run &what, Failure failure);

}  // namespace holoflow::emulated
