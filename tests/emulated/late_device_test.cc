// SPDX-License-Identifier: LGPL-2.1-or-later
// The emulated GPU itself: late, in order, and blind to what it was not told to wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/emulated/control.hh"

namespace holoflow::emulated {
namespace {

using core::DeviceError;
using core::MemLoc;
using runtime::Event;
using runtime::MemoryBlock;
using runtime::Stream;
using testing::ThrowsMessage;

// In the tests below memory is declared before streams: a stream that goes runs what is left of it.
class LateDeviceTest : public testing::Test {
protected:
  void SetUp() override {
    control_ = control();
    ASSERT_NE(control_, nullptr) << "HOLOFLOW_MODULE_PATH does not lead to the emulated GPU";
    control_->reset();
  }
  void TearDown() override {
    if (control_ != nullptr)
      control_->reset();
  }

  // One byte, from and to anywhere.
  void copy(std::byte *to, const std::byte *from, const Stream &stream) {
    device_.copy(to, MemLoc::Host, from, MemLoc::Host, 1, stream.get());
  }

  runtime::Device &device_ = runtime::cuda_device(0);
  Control *control_ = nullptr;
};

constexpr std::byte zero{0}, one{1}, two{2}, three{3};

TEST_F(LateDeviceTest, IsTheFirstAndOnlyGpu) {
  EXPECT_EQ(device_.index(), 0);
  EXPECT_TRUE(device_.is_gpu());
  EXPECT_EQ(device_.name(), "emulated GPU");
  EXPECT_EQ(&runtime::cuda_device(), &device_);
  EXPECT_THROW((void)runtime::cuda_device(1), DeviceError);
}

TEST_F(LateDeviceTest, NothingRunsBeforeSomebodyWaitsForTheStream) {
  std::byte from = one, to = zero;
  const Stream stream(device_), other(device_);
  copy(&to, &from, stream);
  device_.synchronize(other.get());
  EXPECT_EQ(to, zero);
  EXPECT_EQ(control_->pending(), 1u);
  from = two;  // a copy reads when it runs
  device_.synchronize(stream.get());
  EXPECT_EQ(to, two);
  EXPECT_EQ(control_->pending(), 0u);
}

TEST_F(LateDeviceTest, WaitingForAnEventRunsWhatWasEnqueuedBeforeItsRecord) {
  std::byte from = one, before = zero, after = zero;
  const Stream stream(device_);
  const Event event(device_);
  copy(&before, &from, stream);
  device_.record(event.get(), stream.get());
  copy(&after, &from, stream);
  device_.synchronize(event.get());
  EXPECT_EQ(before, one);
  EXPECT_EQ(after, zero);
  EXPECT_TRUE(device_.query(event.get()));
}

TEST_F(LateDeviceTest, QueryAnswersFirstAndThenRunsOneOperation) {
  std::byte from = one, between = zero, to = zero;
  const Stream producer(device_), consumer(device_);
  const Event made(device_), read(device_);
  EXPECT_TRUE(device_.query(read.get())) << "never recorded";
  copy(&between, &from, producer);
  device_.record(made.get(), producer.get());
  device_.wait(consumer.get(), made.get());
  copy(&to, &between, consumer);
  device_.record(read.get(), consumer.get());
  EXPECT_FALSE(device_.query(read.get()));
  EXPECT_EQ(between, one) << "the consumer's first step is one of the producer";
  EXPECT_EQ(to, zero);
  int asked = 1;
  for (; !device_.query(read.get()); ++asked)
    ASSERT_LT(asked, 10);
  EXPECT_EQ(asked, 5) << "copy, record, wait, copy, record";
  EXPECT_EQ(to, one);
}

TEST_F(LateDeviceTest, AStreamThatWaitsRunsTheOtherFirst) {
  std::byte from = one, x = zero, y = zero, z = zero;
  const Stream first(device_), second(device_), third(device_);
  const Event a(device_), b(device_);
  copy(&x, &from, first);
  device_.record(a.get(), first.get());
  device_.wait(second.get(), a.get());
  copy(&y, &x, second);
  device_.record(b.get(), second.get());
  device_.wait(third.get(), b.get());
  copy(&z, &y, third);
  device_.synchronize(third.get());
  EXPECT_EQ(z, one);
}

TEST_F(LateDeviceTest, StreamsMayWaitForEachOtherInTurn) {
  const Stream ping(device_), pong(device_);
  const Event event(device_);
  std::vector<std::byte> chain(64, zero);
  chain[0] = three;
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    const Stream &stream = i % 2 == 0 ? ping : pong;
    device_.wait(stream.get(), event.get());
    copy(&chain[i + 1], &chain[i], stream);
    device_.record(event.get(), stream.get());
  }
  EXPECT_EQ(chain[1], zero);
  device_.synchronize(event.get());
  EXPECT_EQ(chain.back(), three);
}

TEST_F(LateDeviceTest, WithoutAWaitTheOtherStreamIsNotSeen) {
  std::byte from = one, between = zero, to = two;
  const Stream producer(device_), consumer(device_);
  const Event event(device_);
  copy(&between, &from, producer);
  device_.record(event.get(), producer.get());
  copy(&to, &between, consumer);
  device_.synchronize(consumer.get());
  EXPECT_EQ(to, zero);
}

TEST_F(LateDeviceTest, AWaitMeansTheRecordThatWasTheLastOneThen) {
  std::byte from = one, early = zero, late = zero;
  const Stream producer(device_), consumer(device_);
  const Event event(device_);
  device_.wait(consumer.get(), event.get());  // never recorded: no wait
  copy(&early, &from, producer);
  device_.record(event.get(), producer.get());
  device_.wait(consumer.get(), event.get());
  copy(&late, &from, producer);
  device_.record(event.get(), producer.get());
  device_.synchronize(consumer.get());
  EXPECT_EQ(early, one);
  EXPECT_EQ(late, zero) << "belongs to the second record";
  device_.synchronize(event.get());
  EXPECT_EQ(late, one);
}

TEST_F(LateDeviceTest, EventsAndStreamsMayGoBeforeTheirWork) {
  std::byte from = one, between = zero, to = zero;
  const Stream consumer(device_);
  {
    const Stream producer(device_);
    const Event event(device_);
    copy(&between, &from, producer);
    device_.record(event.get(), producer.get());
    device_.wait(consumer.get(), event.get());
    copy(&to, &between, consumer);
  }
  EXPECT_EQ(between, one) << "what is pending runs before a stream goes";
  EXPECT_EQ(to, zero);
  device_.synchronize(consumer.get());
  EXPECT_EQ(to, one);
}

TEST_F(LateDeviceTest, ALongQueueRunsItsOldest) {
  std::byte from = one;
  const Stream stream(device_);
  std::vector<std::byte> to(300, zero);
  for (auto &byte : to)
    copy(&byte, &from, stream);
  EXPECT_EQ(control_->pending(), 256u);
  EXPECT_EQ(to[43], one);
  EXPECT_EQ(to[44], zero);
  device_.synchronize(stream.get());
}

TEST_F(LateDeviceTest, TheNullStreamIsDoneOnReturnAndWaitsForNoOther) {
  std::byte from = one, late = zero, to = zero;
  const Stream stream(device_);
  const Event event(device_);
  copy(&late, &from, stream);
  device_.record(event.get(), stream.get());
  device_.copy(&to, MemLoc::Host, &from, MemLoc::Host, 1, nullptr);
  EXPECT_EQ(to, one);
  EXPECT_EQ(late, zero);
  device_.wait(nullptr, event.get());
  EXPECT_EQ(late, one);
}

TEST_F(LateDeviceTest, MemoryIsAlignedFilledAndCounted) {
  const size_t alive = control_->live_allocations();
  {
    std::vector<MemoryBlock> blocks;
    for (const MemLoc loc : {MemLoc::Host, MemLoc::Device})
      for (const size_t bytes : {0, 1, 257}) {
        blocks.emplace_back(device_, loc, bytes);
        ASSERT_NE(blocks.back().get(), nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back().get()) % 256, 0u);
        for (size_t i = 0; i < bytes; ++i)
          EXPECT_EQ(blocks.back().get()[i], std::byte{0xA5});
      }
    EXPECT_EQ(control_->live_allocations(), alive + 6);
    EXPECT_EQ(control_->allocations(), 6u);
  }
  EXPECT_EQ(control_->live_allocations(), alive);
  EXPECT_THROW((void)device_.allocate(MemLoc::Device, size_t{1} << 50), DeviceError);
}

// AddressSanitizer ends the program where memory is used after it was freed.
#if !defined(__SANITIZE_ADDRESS__)
TEST_F(LateDeviceTest, MemoryThatIsFreedTooEarlyIsPoisonedAndWatched) {
  const uint64_t before = control_->written_after_free();
  std::byte from = one, to = zero;
  std::byte *read = device_.allocate(MemLoc::Device, 1);
  const Stream stream(device_);
  *read = one;
  copy(&to, read, stream);
  device_.free(MemLoc::Device, read);
  std::byte *written = device_.allocate(MemLoc::Host, 1);
  copy(written, &from, stream);
  device_.free(MemLoc::Host, written);
  device_.synchronize(stream.get());
  EXPECT_EQ(to, std::byte{0xDB});
  EXPECT_EQ(control_->written_after_free(), before + 1);
}
#endif

TEST_F(LateDeviceTest, LosesWhatItIsToldToLose) {
  std::byte from = one, between = zero, to = two;
  const Stream producer(device_), consumer(device_);
  const Event event(device_);
  copy(&between, &from, producer);
  control_->lose_records(true);
  device_.record(event.get(), producer.get());
  EXPECT_TRUE(device_.query(event.get()));
  control_->lose_records(false);
  device_.record(event.get(), producer.get());
  control_->lose_waits(true);
  device_.wait(consumer.get(), event.get());
  copy(&to, &between, consumer);
  device_.synchronize(consumer.get());
  EXPECT_EQ(to, zero);
  control_->skip_host_waits(true);
  device_.synchronize(event.get());
  EXPECT_EQ(between, zero);
  control_->reset();
  device_.synchronize(event.get());
  EXPECT_EQ(between, one);
}

TEST_F(LateDeviceTest, FailsTheCallThatItIsToldToFailOnce) {
  const Stream stream(device_);
  const Event event(device_);
  control_->reset();
  control_->fail_call(3);
  device_.record(event.get(), stream.get());
  device_.synchronize(stream.get());
  EXPECT_THAT(
      [&] { device_.synchronize(event.get()); },
      ThrowsMessage<DeviceError>("emulated GPU: call 3 failed: synchronize(event)"));
  device_.synchronize(event.get());
  EXPECT_EQ(control_->calls(), 4u);
  EXPECT_EQ(control_->stream_synchronisations(), 1u);
  EXPECT_EQ(control_->event_synchronisations(), 1u);
}

TEST_F(LateDeviceTest, RefusesHandlesThatAreGone) {
  cudaStream_t stream = device_.create_stream();
  runtime::DeviceEvent event = device_.create_event();
  device_.destroy_stream(stream);
  device_.destroy_event(event);
  EXPECT_THROW(device_.synchronize(stream), DeviceError);
  EXPECT_THROW(device_.synchronize(event), DeviceError);
}

TEST_F(LateDeviceTest, ServesManyThreads) {
  std::atomic<int> good = 0;
  const auto round_trip = [&](int thread) {
    const Stream producer(device_), consumer(device_);
    const Event event(device_);
    const std::byte want{static_cast<unsigned char>(thread)};
    for (int round = 0; round < 50; ++round) {
      std::byte from = want, between = zero, to = zero;
      copy(&between, &from, producer);
      device_.record(event.get(), producer.get());
      device_.wait(consumer.get(), event.get());
      copy(&to, &between, consumer);
      device_.synchronize(consumer.get());
      good += to == want;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int thread = 1; thread <= 4; ++thread)
      threads.emplace_back(round_trip, thread);
  }
  EXPECT_EQ(good, 4 * 50);
}

}  // namespace
}  // namespace holoflow::emulated
