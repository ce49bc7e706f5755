// SPDX-License-Identifier: LGPL-2.1-or-later
// Graphs on the emulated GPU beside the same graphs on the CPU.
#pragma once

#include "tests/support/graph_runs.hh"

namespace holoflow::emulated {

using test::chain_run;
using test::json_run;
using test::Outcome;
using test::run;
using test::Run;

/// Runs on the CPU and on the emulated GPU and expects the same bytes.
void expect_same_as_on_the_cpu(const Run &what);

}  // namespace holoflow::emulated
