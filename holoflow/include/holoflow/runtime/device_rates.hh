// SPDX-License-Identifier: LGPL-2.1-or-later
// How fast a GPU's memory is and how fast frames get there and back, to compare a graph with.
#pragma once

#include <cstddef>

#include "holoflow/runtime/device.hh"

namespace holoflow::runtime {

/// Bytes per second; 0: not known.
struct DeviceRates {
  double to_device = 0.0;  ///< copies from page-locked Host memory
  double to_host = 0.0;  ///< copies to page-locked Host memory
  double memory = 0.0;  ///< read and written: a copy within the device's memory counts twice
};

/// Measures: one rate after the other, many copies enqueued at once, about half a second in
/// all. The link with copies of so many bytes each (0: not measured), the memory with copies larger
/// than the caches. 0 on the CPU, and where the memory to copy to and from is not there.
///
/// Threads: any; nothing else should use the device meanwhile.
/// Errors: core::DeviceError.
[[nodiscard]] DeviceRates measure_device_rates(
    Device &device, size_t bytes_to_device, size_t bytes_to_host);

}  // namespace holoflow::runtime
