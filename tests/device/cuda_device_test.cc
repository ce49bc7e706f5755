// SPDX-License-Identifier: LGPL-2.1-or-later
// A GPU behind the device seam; skipped where there is none. Only the seam is used, so that the
// test links nothing of CUDA.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/device_rates.hh"

namespace holoflow::runtime {
namespace {

using core::DeviceError;
using core::MemLoc;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr size_t bytes = size_t{1} << 20;

class CudaDeviceTest : public testing::Test {
protected:
  void SetUp() override {
    try {
      device_ = &cuda_device();
    } catch (const DeviceError &error) {
      GTEST_SKIP() << error.what();
    }
  }

  // The second GPU, or null.
  static Device *second() {
    try {
      return &cuda_device(1);
    } catch (const DeviceError &) {
      return nullptr;
    }
  }

  static void fill(const MemoryBlock &block, unsigned seed) {
    for (size_t i = 0; i < block.bytes(); ++i)
      block.get()[i] = static_cast<std::byte>((i * 31 + seed) & 0xff);
  }

  // Host → Device → Device → Host on the stream; true where the bytes came back.
  static bool round_trip(Device &device, unsigned seed) {
    const MemoryBlock in(device, MemLoc::Host, bytes);
    const MemoryBlock out(device, MemLoc::Host, bytes);
    const MemoryBlock a(device, MemLoc::Device, bytes);
    const MemoryBlock b(device, MemLoc::Device, bytes);
    const Stream stream(device);
    fill(in, seed);
    std::memset(out.get(), 0, bytes);
    device.copy(a.get(), MemLoc::Device, in.get(), MemLoc::Host, bytes, stream.get());
    device.copy(b.get(), MemLoc::Device, a.get(), MemLoc::Device, bytes, stream.get());
    device.copy(out.get(), MemLoc::Host, b.get(), MemLoc::Device, bytes, stream.get());
    device.synchronize(stream.get());
    return std::memcmp(in.get(), out.get(), bytes) == 0;
  }

  Device *device_ = nullptr;
};

TEST_F(CudaDeviceTest, HasANameAndAnIndex) {
  EXPECT_EQ(device_->index(), 0);
  EXPECT_TRUE(device_->is_gpu());
  EXPECT_FALSE(device_->name().empty());
  EXPECT_EQ(&cuda_device(0), device_);
}

TEST_F(CudaDeviceTest, AnIndexThatIsNotThereIsNamedWithTheRange) {
  EXPECT_THAT(
      [] { (void)cuda_device(1000); },
      ThrowsMessage<DeviceError>(testing::AllOf(
          HasSubstr("no CUDA: there is no GPU 1000"), HasSubstr("expected an index from 0 to "))));
}

TEST_F(CudaDeviceTest, MemoryIsAlignedAndUnique) {
  for (MemLoc loc : {MemLoc::Host, MemLoc::Device}) {
    std::vector<MemoryBlock> blocks;
    for (size_t size : {size_t{0}, size_t{0}, size_t{1}, size_t{257}, bytes}) {
      blocks.emplace_back(*device_, loc, size);
      ASSERT_NE(blocks.back().get(), nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back().get()) % 256, 0u);
      for (size_t i = 0; i + 1 < blocks.size(); ++i)
        EXPECT_NE(blocks[i].get(), blocks.back().get());
    }
  }
}

TEST_F(CudaDeviceTest, MemoryThatIsNotThereIsAnErrorAndNothingElseSuffers) {
  EXPECT_THAT(
      [&] { (void)device_->allocate(MemLoc::Device, size_t{1} << 50); },
      ThrowsMessage<DeviceError>(testing::AllOf(
          HasSubstr("GPU 0 (" + device_->name()), HasSubstr("of 1125899906842624 bytes failed"),
          HasSubstr("cudaErrorMemoryAllocation"))));
  EXPECT_TRUE(round_trip(*device_, 5));
}

TEST_F(CudaDeviceTest, RatesAreMeasuredWhereThereIsTheMemoryForThat) {
  const auto rates = measure_device_rates(*device_, bytes, size_t{1} << 50);
  EXPECT_GT(rates.to_device, 0.0);
  EXPECT_EQ(rates.to_host, 0.0) << "nobody has a petabyte";
  EXPECT_GT(rates.memory, 0.0);
  EXPECT_EQ(measure_device_rates(*device_, 0, bytes).to_device, 0.0);
  EXPECT_TRUE(round_trip(*device_, 5)) << "the device is as good as before";
}

TEST_F(CudaDeviceTest, CopiesKeepTheOrderOfTheStream) {
  EXPECT_TRUE(round_trip(*device_, 1));
}

TEST_F(CudaDeviceTest, CopiesWithoutAStreamAreDoneOnReturn) {
  const MemoryBlock in(*device_, MemLoc::Host, bytes);
  const MemoryBlock out(*device_, MemLoc::Host, bytes);
  const MemoryBlock on_device(*device_, MemLoc::Device, bytes);
  fill(in, 2);
  device_->copy(on_device.get(), MemLoc::Device, in.get(), MemLoc::Host, bytes, nullptr);
  device_->copy(out.get(), MemLoc::Host, on_device.get(), MemLoc::Device, bytes, nullptr);
  EXPECT_EQ(std::memcmp(in.get(), out.get(), bytes), 0);
  device_->copy(out.get(), MemLoc::Host, on_device.get(), MemLoc::Device, 0, nullptr);
  device_->synchronize(cudaStream_t{nullptr});
}

TEST_F(CudaDeviceTest, PageableMemoryMayBeCopiedToo) {
  std::vector<std::byte> in(bytes, std::byte{0x3c});
  std::vector<std::byte> out(bytes);
  const MemoryBlock on_device(*device_, MemLoc::Device, bytes);
  const Stream stream(*device_);
  device_->copy(on_device.get(), MemLoc::Device, in.data(), MemLoc::Host, bytes, stream.get());
  device_->copy(out.data(), MemLoc::Host, on_device.get(), MemLoc::Device, bytes, stream.get());
  device_->synchronize(stream.get());
  EXPECT_EQ(in, out);
}

TEST_F(CudaDeviceTest, AnEventOrdersTwoStreams) {
  const MemoryBlock in(*device_, MemLoc::Host, bytes);
  const MemoryBlock out(*device_, MemLoc::Host, bytes);
  const MemoryBlock on_device(*device_, MemLoc::Device, bytes);
  const Stream producer(*device_);
  const Stream consumer(*device_);
  const Event ready(*device_);
  for (unsigned round = 0; round < 50; ++round) {
    fill(in, round);
    device_->copy(on_device.get(), MemLoc::Device, in.get(), MemLoc::Host, bytes, producer.get());
    device_->record(ready.get(), producer.get());
    device_->wait(consumer.get(), ready.get());
    device_->copy(out.get(), MemLoc::Host, on_device.get(), MemLoc::Device, bytes, consumer.get());
    device_->synchronize(consumer.get());
    ASSERT_EQ(std::memcmp(in.get(), out.get(), bytes), 0) << round;
    EXPECT_TRUE(device_->query(ready.get()));
  }
}

TEST_F(CudaDeviceTest, WaitingForAnEventMeansTheWorkBeforeItIsDone) {
  constexpr size_t large = size_t{64} << 20;
  const MemoryBlock in(*device_, MemLoc::Host, large);
  const MemoryBlock out(*device_, MemLoc::Host, large);
  const MemoryBlock on_device(*device_, MemLoc::Device, large);
  const Stream stream(*device_);
  const Event done(*device_);
  EXPECT_TRUE(device_->query(done.get())) << "an event that was never recorded has happened";
  fill(in, 9);
  std::memset(out.get(), 0, large);
  device_->copy(on_device.get(), MemLoc::Device, in.get(), MemLoc::Host, large, stream.get());
  device_->copy(out.get(), MemLoc::Host, on_device.get(), MemLoc::Device, large, stream.get());
  device_->record(done.get(), stream.get());
  device_->synchronize(done.get());
  EXPECT_TRUE(device_->query(done.get()));
  EXPECT_EQ(std::memcmp(in.get(), out.get(), large), 0);
}

TEST_F(CudaDeviceTest, ServesThreadsThatNeverSelectedIt) {
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 4; ++t)
      threads.emplace_back([&, t] { good += round_trip(*device_, t) ? 1 : 0; });
  }
  EXPECT_EQ(good, 4);
}

TEST_F(CudaDeviceTest, TheCallersDeviceIsRestored) {
  Device *other = second();
  if (other == nullptr)
    GTEST_SKIP() << "there is one GPU only";
  const DeviceScope first_current(*device_);
  {
    const DeviceScope scope(*other);
    EXPECT_EQ(device_->select(), 1);
    device_->restore(1);
  }
  EXPECT_EQ(other->select(), 0);
  other->restore(0);
  // Calls on the second GPU leave the first current.
  EXPECT_TRUE(round_trip(*other, 3));
  EXPECT_EQ(device_->select(), 0);
}

TEST_F(CudaDeviceTest, TwoGpusWorkSideBySide) {
  Device *other = second();
  if (other == nullptr)
    GTEST_SKIP() << "there is one GPU only";
  EXPECT_NE(other, device_);
  EXPECT_EQ(other->index(), 1);
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (Device *device : {device_, other, device_, other})
      threads.emplace_back([&good, device] { good += round_trip(*device, 4) ? 1 : 0; });
  }
  EXPECT_EQ(good, 4);
}

}  // namespace
}  // namespace holoflow::runtime
