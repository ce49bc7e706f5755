// SPDX-License-Identifier: LGPL-2.1-or-later
// The makers of the element-wise tasks.
#pragma once

#include "holoflow/tasks/elementwise/elementwise.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

struct ElementwiseType {
  const char *type;
  Elementwise function;
};

inline constexpr ElementwiseType elementwise_types[] = {
    {"Sqrt", Elementwise::Sqrt},
    {"Log1p", Elementwise::Log1p},
    {"Abs", Elementwise::Abs},
    {"AbsSquared", Elementwise::AbsSquared},
};

[[nodiscard]] SyncMaker make_elementwise_host(Elementwise function);

}  // namespace holoflow::tasks
