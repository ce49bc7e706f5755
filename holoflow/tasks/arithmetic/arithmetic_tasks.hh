// SPDX-License-Identifier: LGPL-2.1-or-later
// The makers of the arithmetic tasks.
#pragma once

#include "holoflow/tasks/arithmetic/arithmetic.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

struct ArithmeticType {
  const char *type;
  Arithmetic op;
};

inline constexpr ArithmeticType arithmetic_types[] = {
    {"Add", Arithmetic::Add},
    {"Subtract", Arithmetic::Subtract},
    {"Multiply", Arithmetic::Multiply},
    {"Divide", Arithmetic::Divide},
};

/// A walk over both inputs, broadcast, and the output.
[[nodiscard]] StridedLoop<3> arithmetic_loop(const MakeArgs<core::SyncCreateCtx> &args);

[[nodiscard]] SyncMaker make_arithmetic_host(Arithmetic op);

}  // namespace holoflow::tasks
