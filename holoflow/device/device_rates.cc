// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/runtime/device_rates.hh"

#include <algorithm>
#include <chrono>

#include "holoflow/core/error.hh"

namespace holoflow::runtime {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double seconds_each = 0.1;
constexpr size_t bytes_at_once = size_t{256} << 20;
constexpr size_t beyond_the_caches = size_t{128} << 20;

double measure_copies(
    Device &device, core::MemLoc to_location, core::MemLoc from_location, size_t bytes) {
  if (bytes == 0)
    return 0;
  MemoryBlock to, from;
  try {
    to = MemoryBlock(device, to_location, bytes);
    from = MemoryBlock(device, from_location, bytes);
  } catch (const core::DeviceError &) {
    device.clear_last_error();
    return 0;
  }
  const Stream stream(device);
  const size_t copies = std::clamp<size_t>(bytes_at_once / bytes, 4, 1000);
  const auto copy = [&] {
    for (size_t i = 0; i < copies; ++i)
      device.copy(to.get(), to_location, from.get(), from_location, bytes, stream.get());
    device.synchronize(stream.get());
  };
  copy();  // warms up
  const auto begin = Clock::now();
  size_t copied = 0;
  double seconds = 0;
  do {
    copy();
    copied += copies;
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  } while (seconds < seconds_each);
  return static_cast<double>(copied) * static_cast<double>(bytes) / seconds;
}

}  // namespace

DeviceRates measure_device_rates(Device &device, size_t bytes_to_device, size_t bytes_to_host) {
  using core::MemLoc;
  if (!device.is_gpu())
    return {};
  const DeviceScope scope(device);
  return {
      .to_device = measure_copies(device, MemLoc::Device, MemLoc::Host, bytes_to_device),
      .to_host = measure_copies(device, MemLoc::Host, MemLoc::Device, bytes_to_host),
      .memory = 2 * measure_copies(device, MemLoc::Device, MemLoc::Device, beyond_the_caches)};
}

}  // namespace holoflow::runtime
