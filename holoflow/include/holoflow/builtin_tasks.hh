// SPDX-License-Identifier: LGPL-2.1-or-later
// The task types that come with the library.
#pragma once

#include "holoflow/core/registry.hh"

namespace holoflow {

/// Registers every built-in type. Touches no device; the compiler adds the GPU implementations when
/// a graph first needs them. Throws std::invalid_argument where a name is taken.
void register_builtin_tasks(core::Registry &registry);

}  // namespace holoflow
