// SPDX-License-Identifier: LGPL-2.1-or-later
// How fast frames get to a GPU and back, to compare a graph with.
#pragma once

#include <cstddef>

#include "holoflow/runtime/device.hh"

namespace holoflow::tools {

struct LinkRates {
  double to_device = 0;  ///< bytes per second
  double to_host = 0;
};

/// One direction after the other, copies of so many bytes from and to page-locked memory, many
/// enqueued at once; takes about a quarter of a second. 0 bytes: not measured, 0.
[[nodiscard]] LinkRates measure_link(
    runtime::Device &device, size_t bytes_to_device, size_t bytes_to_host);

}  // namespace holoflow::tools
