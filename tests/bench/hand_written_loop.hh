// SPDX-License-Identifier: LGPL-2.1-or-later
// The yardstick: the same work as the graph, written by hand with three streams and events.
#pragma once

#include <cstddef>

namespace holoflow::bench {

/// How the host waits for the oldest frame of the ring.
enum class HostWait { Spin, Block };

/// Frames per second of: U8 frame up, U8 → F32, x·2 + 1, F32 → U8, U8 frame down; a ring of 8
/// slots, one host thread. Throws std::runtime_error where a CUDA call fails or the result is
/// wrong.
double hand_written_loop(size_t width, size_t height, size_t frames, HostWait wait);

}  // namespace holoflow::bench
