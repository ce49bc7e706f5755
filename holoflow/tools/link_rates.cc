// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/link_rates.hh"

#include <algorithm>

#include "holoflow/tools/measuring.hh"

namespace holoflow::tools {

namespace {

constexpr double seconds_each_way = 0.1;
constexpr size_t bytes_at_once = size_t{256} << 20;

double measure_copies(
    runtime::Device &device, core::MemLoc to_location, core::MemLoc from_location, size_t bytes) {
  if (bytes == 0)
    return 0;
  const runtime::MemoryBlock to(device, to_location, bytes);
  const runtime::MemoryBlock from(device, from_location, bytes);
  const runtime::Stream stream(device);
  const size_t copies = std::clamp<size_t>(bytes_at_once / bytes, 4, 1000);
  const auto copy = [&] {
    for (size_t i = 0; i < copies; ++i)
      device.copy(to.get(), to_location, from.get(), from_location, bytes, stream.get());
    device.synchronize(stream.get());
  };
  copy();  // warms up
  const Stopwatch stopwatch;
  size_t copied = 0;
  double seconds = 0;
  do {
    copy();
    copied += copies;
    seconds = stopwatch.seconds();
  } while (seconds < seconds_each_way);
  return static_cast<double>(copied) * static_cast<double>(bytes) / seconds;
}

}  // namespace

LinkRates measure_link(runtime::Device &device, size_t bytes_to_device, size_t bytes_to_host) {
  using core::MemLoc;
  const runtime::DeviceScope scope(device);
  return {
      measure_copies(device, MemLoc::Device, MemLoc::Host, bytes_to_device),
      measure_copies(device, MemLoc::Host, MemLoc::Device, bytes_to_host)};
}

}  // namespace holoflow::tools
