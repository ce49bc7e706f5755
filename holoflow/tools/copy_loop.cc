// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/copy_loop.hh"

#include <vector>

#include "holoflow/tools/measuring.hh"

namespace holoflow::tools {

using core::MemLoc;

namespace {

constexpr size_t ring = 8;
constexpr double least_seconds = 0.2;

struct Slot {
  Slot(runtime::Device &device, size_t up, size_t down)
      : host_in(device, MemLoc::Host, up), host_out(device, MemLoc::Host, down),
        in(device, MemLoc::Device, up), out(device, MemLoc::Device, down), uploaded(device),
        done(device) {}

  runtime::MemoryBlock host_in, host_out, in, out;
  runtime::Event uploaded, done;
};

}  // namespace

double copy_loop(runtime::Device &device, size_t bytes_up, size_t bytes_down) {
  const runtime::DeviceScope scope(device);
  std::vector<Slot> slots;
  for (size_t i = 0; i < ring; ++i)
    slots.emplace_back(device, bytes_up, bytes_down);
  const runtime::Stream up(device), down(device);
  size_t frames = 0;
  const auto copy_frame = [&] {
    Slot &slot = slots[frames % ring];
    if (frames++ >= ring)
      while (!device.query(slot.done.get())) {
      }
    device.copy(
        slot.in.get(), MemLoc::Device, slot.host_in.get(), MemLoc::Host, bytes_up, up.get());
    device.record(slot.uploaded.get(), up.get());
    device.wait(down.get(), slot.uploaded.get());
    device.copy(
        slot.host_out.get(), MemLoc::Host, slot.out.get(), MemLoc::Device, bytes_down, down.get());
    device.record(slot.done.get(), down.get());
  };
  for (size_t i = 0; i < 2 * ring; ++i)
    copy_frame();  // warms up
  device.synchronize(down.get());
  const size_t before = frames;
  const Stopwatch stopwatch;
  while (stopwatch.seconds() < least_seconds)
    copy_frame();
  device.synchronize(down.get());
  return static_cast<double>(frames - before) / stopwatch.seconds();
}

}  // namespace holoflow::tools
