// SPDX-License-Identifier: LGPL-2.1-or-later
// The fastest that frames get to a GPU and back, to compare a graph with.
#pragma once

#include <cstddef>

#include "holoflow/runtime/device.hh"

namespace holoflow::tools {

/// Frames per second of a loop as one would write it by hand: a stream up, a stream down that waits
/// for it by event, a ring of 8 slots of page-locked and of device memory, one thread that waits
/// spinning. So many bytes go up and come down for each frame, and nothing is computed. Takes about
/// a fifth of a second. `device` is a GPU.
[[nodiscard]] double copy_loop(runtime::Device &device, size_t bytes_up, size_t bytes_down);

}  // namespace holoflow::tools
