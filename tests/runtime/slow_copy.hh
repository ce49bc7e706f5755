// SPDX-License-Identifier: LGPL-2.1-or-later
// A task whose kernel takes long.
#pragma once

#include "holoflow/core/registry.hh"

namespace holoflow::test {

/// Adds "SlowCopy": copies F32 tensors. On the GPU its stream is busy for `milliseconds` (a param)
/// before the copy reads the first byte.
void register_slow_copy(core::Registry &registry);

}  // namespace holoflow::test
