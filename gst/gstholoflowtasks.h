// SPDX-License-Identifier: LGPL-2.1-or-later
// Which task types graphs of the element may use.
#pragma once

#include "holoflow/core/registry.hh"

namespace holoflow::gst {

/// Registers them. Touches no device. The tests' program has a version of its own with more types.
void register_tasks(core::Registry &registry);

}  // namespace holoflow::gst
