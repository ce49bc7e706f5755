// SPDX-License-Identifier: LGPL-2.1-or-later
// A task that breaks the device.
#pragma once

#include "holoflow/core/registry.hh"

namespace holoflow::faults {

/// Adds "WildWrite": copies F32 tensors. On the GPU the kernel of tensor number `at` (a param, from
/// 0) also writes to an address that nobody has.
void register_wild_write(core::Registry &registry);

}  // namespace holoflow::faults
