// SPDX-License-Identifier: LGPL-2.1-or-later
// The CUDA module's counterpart of builtin_tasks.hh.
#pragma once

#include "holoflow/core/registry.hh"

namespace holoflow::tasks {

/// Adds the makers for Device tensors to the built-in types; does nothing where the registry does
/// not hold them.
void register_builtin_tasks_cuda(core::Registry &registry);

}  // namespace holoflow::tasks
