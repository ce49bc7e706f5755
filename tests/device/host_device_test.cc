// SPDX-License-Identifier: LGPL-2.1-or-later
// The CPU behind the device seam.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/device_rates.hh"

namespace holoflow::runtime {
namespace {

using core::MemLoc;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(HostDevice, IsTheCpu) {
  EXPECT_EQ(host_device().name(), "CPU");
  EXPECT_EQ(host_device().index(), -1);
  EXPECT_FALSE(host_device().is_gpu());
  EXPECT_EQ(&host_device(), &host_device());
}

TEST(HostDevice, HasNoLink) {
  const auto rates = measure_device_rates(host_device(), 1, 1);
  EXPECT_EQ(rates.to_device, 0.0);
  EXPECT_EQ(rates.to_host, 0.0);
  EXPECT_EQ(rates.memory, 0.0);
}

TEST(HostDevice, MemoryIsAlignedUniqueAndWritable) {
  std::vector<MemoryBlock> blocks;
  for (size_t bytes : {0u, 0u, 1u, 255u, 256u, 257u, 100000u}) {
    blocks.emplace_back(host_device(), MemLoc::Host, bytes);
    const auto &block = blocks.back();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % 256, 0u) << bytes;
    EXPECT_EQ(block.bytes(), bytes);
    std::memset(block.get(), 0x5a, bytes);
  }
  for (size_t i = 0; i < blocks.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(blocks[i].get(), blocks[j].get());
}

TEST(HostDevice, HasNoDeviceMemory) {
  EXPECT_THAT(
      [] { (void)host_device().allocate(MemLoc::Device, 16); },
      ThrowsMessage<core::DeviceError>(
          HasSubstr("CPU: expected Host memory to be asked for, got Device memory of 16 bytes")));
  std::byte byte{};
  EXPECT_THAT(
      [&] { host_device().copy(&byte, MemLoc::Device, &byte, MemLoc::Host, 1, nullptr); },
      ThrowsMessage<core::DeviceError>(
          "CPU: expected a copy from Host to Host, got one from Host to Device"));
}

TEST(HostDevice, MemoryThatIsNotThereIsAnError) {
  for (size_t bytes :
       {std::numeric_limits<size_t>::max(), std::numeric_limits<size_t>::max() - 300})
    EXPECT_THAT(
        [&] { (void)host_device().allocate(MemLoc::Host, bytes); },
        ThrowsMessage<core::DeviceError>(HasSubstr("CPU: no memory for 18446744073709551")));
}

TEST(HostDevice, CopiesAtOnceAndWithinABlock) {
  const MemoryBlock block(host_device(), MemLoc::Host, 8);
  std::memcpy(block.get(), "abcdefgh", 8);
  host_device().copy(block.get() + 2, MemLoc::Host, block.get(), MemLoc::Host, 6, nullptr);
  EXPECT_EQ(std::memcmp(block.get(), "ababcdef", 8), 0);
  host_device().copy(nullptr, MemLoc::Host, nullptr, MemLoc::Host, 0, nullptr);
}

TEST(HostDevice, StreamsAndEventsAreNullAndEverythingHasHappened) {
  Device &device = host_device();
  const Stream stream(device);
  const Event event(device);
  EXPECT_EQ(stream.get(), nullptr);
  EXPECT_EQ(event.get(), nullptr);
  device.record(event.get(), stream.get());
  device.wait(stream.get(), event.get());
  device.synchronize(stream.get());
  device.synchronize(event.get());
  EXPECT_TRUE(device.query(event.get()));
  const DeviceScope scope(device);
  device.clear_last_error();
}

TEST(MemoryBlock, MovesItsMemory) {
  MemoryBlock block(host_device(), MemLoc::Host, 16);
  std::byte *const ptr = block.get();
  MemoryBlock moved(std::move(block));
  EXPECT_EQ(moved.get(), ptr);
  MemoryBlock assigned;
  EXPECT_EQ(assigned.get(), nullptr);
  assigned = std::move(moved);
  EXPECT_EQ(assigned.get(), ptr);
  EXPECT_EQ(assigned.device(), &host_device());
}

}  // namespace
}  // namespace holoflow::runtime
