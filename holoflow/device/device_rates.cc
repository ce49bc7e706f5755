// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/runtime/device_rates.hh"

#include <chrono>

#include "holoflow/core/error.hh"

namespace holoflow::runtime {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double seconds_each = 0.1, seconds_of_a_round = 0.02;
constexpr size_t most_copies = 100'000;
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
  size_t copies = 4;
  const auto time_round = [&] {
    const auto begin = Clock::now();
    for (size_t i = 0; i < copies; ++i)
      device.copy(to.get(), to_location, from.get(), from_location, bytes, stream.get());
    device.synchronize(stream.get());
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  (void)time_round();  // warms up
  // Long enough that the wait at the end does not count.
  double seconds = time_round();
  for (; seconds < seconds_of_a_round && copies < most_copies; seconds = time_round())
    copies *= 2;
  size_t copied = copies;
  for (; seconds < seconds_each; copied += copies)
    seconds += time_round();
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
