// SPDX-License-Identifier: LGPL-2.1-or-later
// The built-in tasks on the emulated GPU.
#pragma once

#include "holoflow/core/registry.hh"

namespace holoflow::emulated {

/// Gives every built-in type that needs one a maker for Device tensors: synchronous ones enqueue
/// their Host implementation, asynchronous ones are those of the CUDA module with other copies.
void register_late_tasks(core::Registry &registry);

}  // namespace holoflow::emulated
