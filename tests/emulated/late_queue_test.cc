// SPDX-License-Identifier: LGPL-2.1-or-later
// A BatchQueue in host memory between two streams of the emulated GPU, call by call.
#include <gtest/gtest.h>

#include <deque>

#include "holoflow/tasks/batch_queue/batch_queue_task.hh"
#include "tests/tasks/slot_harness.hh"

namespace holoflow::emulated {
namespace {

using core::MemLoc;
using core::OpResult;
using core::TDesc;
using Frames = std::vector<int>;

TDesc frames_of_a_byte(size_t count) {
  return TDesc({count, 1, 1}, core::DType::U8, MemLoc::Host);
}

// Frames are bytes that count up. What the consumer reads, its stream copies.
class LateQueue {
public:
  explicit LateQueue(tasks::QueueShape shape)
      : size_(shape.size), driver_(
                               test::Place::Host, contract(shape), make(shape),
                               {.owns_input = true, .owns_output = true}) {}

  void push_until(int frames) {
    for (; pushed_ < frames; ++pushed_)
      ASSERT_TRUE(driver_.push({static_cast<std::byte>(pushed_)})) << "frame " << pushed_;
  }
  void end() { driver_.task->end_of_input(); }
  OpResult pop() { return driver_.pop(); }
  [[nodiscard]] Frames popped() const { return numbers(driver_.popped); }

  // The stream will have read the window into read(window).
  void pop_and_release() {
    ASSERT_EQ(pop(), OpResult::Ok);
    auto &to = read_.emplace_back(size_);
    device_.copy(
        to.data(), MemLoc::Host, driver_.slots.output.ptr, MemLoc::Host, size_, consumer_.get());
    marks_->touch();  // as the section does
    driver_.release();
  }
  [[nodiscard]] Frames read(size_t window) const { return numbers(read_[window]); }
  void finish() { device_.synchronize(consumer_.get()); }

private:
  static core::InferResult contract(const tasks::QueueShape &shape) {
    core::InferResult result;
    result.input_descs = {shape.input};
    result.output_descs = {shape.output};
    return result;
  }
  static Frames numbers(const std::vector<std::byte> &bytes) {
    Frames result;
    for (const auto byte : bytes)
      result.push_back(std::to_integer<int>(byte));
    return result;
  }
  std::unique_ptr<core::IAsyncTask> make(const tasks::QueueShape &shape) {
    core::AsyncCreateCtx ctx;
    ctx.producer_stream = producer_.get();
    ctx.consumer_stream = consumer_.get();
    return std::make_unique<tasks::BatchQueueTask>(shape, ctx, device_, tasks::CopyView());
  }

  const size_t size_;
  std::deque<std::vector<std::byte>> read_;  // outlives the streams
  runtime::Device &device_ = runtime::cuda_device(0);
  runtime::Stream producer_{device_}, consumer_{device_};
  std::shared_ptr<runtime::StreamMarks> marks_ =
      runtime::StreamMarks::of(device_, consumer_.get());  // with the queue
  test::AsyncDriver driver_;
  int pushed_ = 0;
};

tasks::QueueShape shape(size_t size, size_t stride, size_t depth) {
  const auto plan = tasks::plan_queue(tasks::QueuePolicy::Block, 1, size, stride, depth);
  return {
      .input = frames_of_a_byte(1),
      .output = frames_of_a_byte(size),
      .frames_in = 1,
      .size = size,
      .stride = stride,
      .ring = plan.ring,
      .keep = plan.keep};
}

}  // namespace

// Windows of one frame in four, in a ring of seven: before frame 11 no push comes to the place of
// window 1.
TEST(LateQueue, APushWaitsForNoWindowButThoseInItsPlace) {
  LateQueue queue(shape(1, 4, 7));
  queue.push_until(7);
  queue.pop_and_release();
  queue.pop_and_release();
  queue.push_until(9);
  queue.pop_and_release();
  queue.push_until(11);
  EXPECT_EQ(queue.read(1), Frames{0}) << "its copy is still to come";
  queue.push_until(12);
  EXPECT_EQ(queue.read(1), Frames{4});
  EXPECT_EQ(queue.read(2), Frames{0});
  queue.finish();
  EXPECT_EQ(queue.read(2), Frames{8});
}

// Of the last window, (8, 9, …), the repeats come where the stream still reads 4 and 5.
TEST(LateQueue, PaddingWaitsForWhatIsStillRead) {
  auto padded = shape(5, 4, 7);
  padded.pad = true;
  LateQueue queue(padded);
  queue.push_until(7);
  queue.pop_and_release();
  queue.push_until(10);
  queue.pop_and_release();
  queue.end();
  ASSERT_EQ(queue.pop(), OpResult::Ok);
  EXPECT_EQ(queue.popped(), (Frames{8, 9, 9, 9, 9}));
  queue.finish();
  EXPECT_EQ(queue.read(0), (Frames{0, 1, 2, 3, 4}));
  EXPECT_EQ(queue.read(1), (Frames{4, 5, 6, 7, 8}));
}

}  // namespace holoflow::emulated
