// SPDX-License-Identifier: LGPL-2.1-or-later
// BatchQueue: windows in order, never a stall, copies only where they are allowed.
#include <gmock/gmock.h>

#include <numeric>
#include <random>
#include <thread>

#include "tests/tasks/queue_driver.hh"

namespace holoflow::test {

using core::DType;
using core::OpResult;
using core::TDesc;
using tasks::plan_ring;
using tasks::RingPlan;
using ::testing::HasSubstr;

namespace {

// Pushes as much as fits, then pops as much as is there, until `frames` are through. False: a
// stall.
bool run_through(Queue &queue, uint64_t frames) {
  bool ended = false;
  while (true) {
    bool moved = false;
    while (queue.pushed() < frames && queue.push_next())
      moved = true;
    if (queue.pushed() >= frames && !ended) {
      queue.task->end_of_input();
      ended = moved = true;
    }
    for (;;) {
      const OpResult result = queue.pop_next();
      if (result == OpResult::Eof)
        return true;
      if (result != OpResult::Ok)
        break;
      queue.release();
      moved = true;
    }
    if (!moved)
      return false;
  }
}

void expect_all_windows(const Numbers &numbers, Queue &queue, uint64_t frames) {
  ASSERT_TRUE(run_through(queue, frames)) << "stalled: " << text(numbers);
  const uint64_t windows = frames < numbers.size ? 0 : (frames - numbers.size) / numbers.stride + 1;
  EXPECT_EQ(queue.windows(), windows) << text(numbers);
  EXPECT_EQ(queue.wrong(), 0u) << text(numbers);
  if (numbers.size <= numbers.stride) {
    EXPECT_EQ(queue.queue().copied_frames(), 0u) << text(numbers);
  }
  const runtime::NodeLedgerView ledger = queue.ledger();
  EXPECT_EQ(ledger.entered, frames);
  EXPECT_EQ(ledger.entered, ledger.left + ledger.dropped + ledger.skipped) << text(numbers);
}

// N15 of the cases.
std::vector<Numbers> never_stalling_cases() {
  std::vector<Numbers> cases;
  const auto add = [&cases](size_t in, size_t stride, size_t capacity) {
    for (const size_t size : {stride, size_t{1}, 2 * stride})
      cases.push_back({in, size, stride, capacity});
  };
  for (size_t capacity = 1; capacity <= 3; ++capacity)
    add(1, 4, capacity);
  for (size_t capacity = 1; capacity <= 4; ++capacity)
    add(2, 6, capacity);
  add(3, 6, 3);
  for (size_t capacity = 1; capacity <= 48; ++capacity)
    add(16, 64, capacity);
  add(1, 4, 4);
  add(2, 6, 5);
  add(64, 32, 1);
  add(1, 1, 1);
  return cases;
}

}  // namespace

TEST(BatchQueue, SkipsFramesThatNoWindowShows) {  // N14
  Queue queue({.in = 3, .size = 2, .stride = 6, .capacity = 4});
  EXPECT_EQ(queue.pop_next(), OpResult::NotReady);
  ASSERT_TRUE(queue.push_next());
  EXPECT_EQ(queue.pop_next(), OpResult::Ok) << "ready as soon as its own two frames are in";
  EXPECT_EQ(queue.records[0].sequence, 0u);
  EXPECT_EQ(queue.records[1].sequence, 1u);
  queue.release();
  std::vector<uint64_t> seen;
  for (int push = 1; push < 6; ++push) {
    ASSERT_TRUE(queue.push_next());
    while (queue.pop_next() == OpResult::Ok) {
      seen.push_back(queue.records[0].sequence);
      seen.push_back(queue.records[1].sequence);
      queue.release();
    }
  }
  EXPECT_EQ(seen, (std::vector<uint64_t>{6, 7, 12, 13}));
  EXPECT_EQ(queue.wrong(), 0u);
  EXPECT_EQ(queue.queue().copied_frames(), 0u);
  EXPECT_EQ(queue.ledger().skipped, 12u);
  EXPECT_EQ(queue.ledger().left, 6u);
}

TEST(BatchQueue, NeverStallsForTheListedNumbers) {
  for (const Numbers &numbers : never_stalling_cases()) {
    Queue queue(numbers);
    expect_all_windows(numbers, queue, numbers.in * (1000 / numbers.in));
  }
}

TEST(BatchQueue, NeverStallsForTheListedNumbersOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  for (const Numbers &numbers : never_stalling_cases()) {
    if (numbers.capacity > 6)
      continue;  // the ring is the same
    Queue queue(numbers, Place::Device);
    expect_all_windows(numbers, queue, numbers.in * (200 / numbers.in));
  }
}

TEST(BatchQueue, NeverStallsForAnySmallNumbers) {
  for (size_t in = 1; in <= 7; ++in)
    for (size_t size = 1; size <= 8; ++size)
      for (size_t stride = 1; stride <= 8; ++stride)
        for (const size_t capacity : {1u, 5u, 12u}) {
          const Numbers numbers{in, size, stride, capacity};
          Queue queue(numbers);
          expect_all_windows(numbers, queue, in * 13);
        }
}

TEST(BatchQueue, NeverStallsForRandomNumbersAndAnyOrderOfCalls) {
  std::mt19937 random(1);
  const auto up_to = [&random](size_t most) { return 1 + random() % most; };
  for (int round = 0; round < 300; ++round) {
    const Numbers numbers{up_to(20), up_to(30), up_to(30), up_to(60)};
    const AsyncDriver::Options options{
        .owns_input = random() % 2 == 0, .owns_output = random() % 2 == 0};
    Queue queue(numbers, Place::Host, options);
    // Either side goes first, and a window may be held while frames come in.
    bool held = false;
    int refused = 0;
    while (queue.pushed() < 400 && refused < 100) {
      bool moved = false;
      if (random() % 2 == 0) {
        moved = queue.push_next();
      } else if (held) {
        queue.release();
        held = false;
        moved = true;
      } else if (queue.pop_next() == OpResult::Ok) {
        held = options.owns_output;
        moved = true;
      }
      refused = moved ? 0 : refused + 1;
    }
    EXPECT_LT(refused, 100) << "stalled: " << text(numbers);
    EXPECT_EQ(queue.wrong(), 0u) << text(numbers);
  }
}

TEST(BatchQueue, PassesFramesBetweenTwoThreads) {
  for (const Numbers &numbers : {Numbers{1, 1, 1, 4}, Numbers{2, 3, 1, 4}, Numbers{3, 2, 5, 6}}) {
    for (const bool owner : {true, false}) {
      Queue queue(numbers, Place::Host, {.owns_input = owner, .owns_output = owner});
      const uint64_t frames = 6000 / numbers.in * numbers.in;
      std::thread producer([&queue, frames] {
        while (queue.pushed() < frames)
          if (!queue.push_next())
            std::this_thread::yield();
        queue.task->end_of_input();
      });
      for (OpResult result = OpResult::Ok; result != OpResult::Eof;) {
        result = queue.pop_next();
        if (result == OpResult::Ok)
          queue.release();
        if (result == OpResult::NotReady)
          std::this_thread::yield();
      }
      producer.join();
      EXPECT_EQ(queue.windows(), (frames - numbers.size) / numbers.stride + 1) << text(numbers);
      EXPECT_EQ(queue.wrong(), 0u) << text(numbers);
    }
  }
}

TEST(BatchQueue, LendsItsRingOnBothSides) {
  Queue queue({.in = 2, .size = 2, .stride = 2, .capacity = 4});
  const auto lent = queue.task->acquire_input(0);
  ASSERT_TRUE(lent.has_value());
  const std::byte *memory = lent->data();
  ASSERT_TRUE(queue.push_next());
  ASSERT_EQ(queue.pop_next(), OpResult::Ok);
  EXPECT_EQ(queue.slots.output.ptr, memory);
  queue.release();
}

TEST(BatchQueue, WaitsForRoomUntilTheWindowIsReleased) {
  Queue queue({.in = 1, .size = 1, .stride = 1, .capacity = 2});
  EXPECT_TRUE(queue.push_next());
  EXPECT_TRUE(queue.push_next());
  EXPECT_FALSE(queue.task->acquire_input(0).has_value());
  ASSERT_EQ(queue.pop_next(), OpResult::Ok);
  EXPECT_FALSE(queue.task->acquire_input(0).has_value()) << "the window is still being read";
  queue.release();
  EXPECT_TRUE(queue.push_next());
}

TEST(BatchQueue, TakesBackAnAbandonedSlot) {
  Queue queue({.in = 1, .size = 1, .stride = 1, .capacity = 1});
  ASSERT_TRUE(queue.task->acquire_input(0).has_value());
  queue.task->abandon_input(0);
  EXPECT_EQ(queue.slots.input.ptr, nullptr);
  EXPECT_EQ(queue.pop_next(), OpResult::NotReady);
  EXPECT_TRUE(queue.push_next());
  EXPECT_EQ(queue.pop_next(), OpResult::Ok);
}

TEST(BatchQueue, GivesAsManyFramesOfDepthAsTheGraphNeeds) {
  Queue queue({.in = 1, .size = 1, .stride = 1, .capacity = 2}, Place::Host, {.min_slots = 9});
  for (int frame = 0; frame < 9; ++frame)
    EXPECT_TRUE(queue.push_next()) << frame;
  EXPECT_FALSE(queue.push_next());
}

TEST(BatchQueue, RepeatsTheFrontOfItsRingForOverlappingWindows) {
  const Numbers numbers{.in = 1, .size = 4, .stride = 1, .capacity = 8};
  Queue queue(numbers);
  expect_all_windows(numbers, queue, 80);
  EXPECT_EQ(queue.queue().ring_frames(), 8u);
  EXPECT_EQ(queue.queue().copied_frames(), 30u) << "three of eight frames, in ten rounds";
  EXPECT_EQ(queue.infer.const_outputs, std::vector<bool>{true});
}

TEST(BatchQueue, CopiesWhereItYielded) {
  const Numbers numbers{.in = 2, .size = 1, .stride = 1, .capacity = 4};
  for (const Place place : {Place::Host, Place::Device}) {
    if (place == Place::Device && !have_gpu())
      continue;
    Queue queue(numbers, place, {.owns_input = false, .owns_output = false});
    ASSERT_TRUE(run_through(queue, 100));
    EXPECT_EQ(queue.windows(), 100u);
    EXPECT_EQ(queue.wrong(), 0u);
    EXPECT_EQ(queue.queue().copied_frames(), 200u);
  }
}

TEST(BatchQueue, TakesViewsOfALargerStorage) {
  for (const Place place : {Place::Host, Place::Device}) {
    if (place == Place::Device && !have_gpu())
      continue;
    for (const bool owner : {true, false}) {
      // Columns 1 and 3 of frames of 2×4 pixels.
      const TDesc view({1, 2, 2}, DType::U8, loc_at(place), {8, 4, 2}, 1);
      AsyncDriver queue(
          place, "BatchQueue", {}, view, {.owns_input = owner, .owned_input_bytes = 8});
      std::vector<std::byte> bytes(view.num_bytes());
      for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i);
      ASSERT_TRUE(queue.push(bytes));
      ASSERT_EQ(queue.pop(), OpResult::Ok);
      EXPECT_EQ(
          queue.popped,
          (std::vector<std::byte>{std::byte{0}, std::byte{2}, std::byte{4}, std::byte{6}}));
      queue.release();
    }
  }
}

TEST(BatchQueue, DropsAnIncompleteLastWindowAndCountsIt) {
  Queue queue({.in = 1, .size = 4, .stride = 4, .capacity = 8});
  ASSERT_TRUE(run_through(queue, 10));
  EXPECT_EQ(queue.windows(), 2u);
  const runtime::NodeLedgerView ledger = queue.ledger();
  EXPECT_EQ(ledger.entered, 10u);
  EXPECT_EQ(ledger.left, 8u);
  EXPECT_EQ(ledger.dropped, 2u);
  EXPECT_EQ(ledger.dropped_reason, "flush");
  EXPECT_EQ(ledger.held, 0u);
}

TEST(BatchQueue, CountsFramesOnceHoweverManyWindowsShowThem) {
  Queue queue({.in = 1, .size = 3, .stride = 1, .capacity = 8});
  for (int frame = 0; frame < 5; ++frame)
    ASSERT_TRUE(queue.push_next());
  ASSERT_EQ(queue.pop_next(), OpResult::Ok);
  queue.release();
  ASSERT_EQ(queue.pop_next(), OpResult::Ok);
  EXPECT_EQ(queue.ledger().left, 4u);
  EXPECT_EQ(queue.ledger().held, 1u);
}

TEST(BatchQueue, StartsANewRunEmpty) {
  Queue queue({.in = 1, .size = 1, .stride = 1, .capacity = 2});
  ASSERT_TRUE(queue.push_next());
  ASSERT_TRUE(queue.push_next());
  ASSERT_EQ(queue.pop_next(), OpResult::Ok);
  queue.task->end_of_input();
  queue.queue().begin_run();
  EXPECT_EQ(queue.slots.output.ptr, nullptr);
  EXPECT_EQ(queue.pop(), OpResult::NotReady);
  EXPECT_EQ(queue.ledger().entered, 0u);
}

TEST(BatchQueue, DebugBuildsOverwriteWhatWentBack) {
#ifdef NDEBUG
  GTEST_SKIP() << "a build without assertions";
#endif
  AsyncDriver queue(
      Place::Host, "BatchQueue", params_of({1, 2, 1, 4}),
      TDesc({1, 1, 1}, DType::U8, core::MemLoc::Host));
  for (int frame = 0; frame < 2; ++frame)
    ASSERT_TRUE(queue.push({std::byte{1}}));
  ASSERT_EQ(queue.pop(), OpResult::Ok);
  const std::byte *window = queue.slots.output.ptr;
  queue.release();
  EXPECT_EQ(window[0], std::byte{0xDB});
  EXPECT_EQ(window[1], std::byte{1}) << "the next window shows it too";
}

TEST(BatchQueue, AnswersCancelledWhereTheRunIsStopped) {
  Queue queue({.in = 1, .size = 1, .stride = 1, .capacity = 2});
  queue.cancelled = true;
  EXPECT_EQ(queue.pop_next(), OpResult::Cancelled);
}

TEST(BatchQueue, KeepsNoOwnerOfFramesThatNobodySees) {
  AsyncDriver queue(
      Place::Host, "BatchQueue", params_of({1, 1, 2, 4}),
      TDesc({1, 1, 1}, DType::U8, core::MemLoc::Host));
  const auto token = std::make_shared<int>(0);
  for (int frame = 0; frame < 2; ++frame)
    ASSERT_TRUE(queue.push({std::byte{1}}, {{.owner = token}}));
  EXPECT_EQ(token.use_count(), 2) << "one shown frame";
  ASSERT_EQ(queue.pop(), OpResult::Ok);
  queue.records.clear();
  EXPECT_EQ(token.use_count(), 1);
  queue.release();
}

TEST(BatchQueue, RefusesTensorsWithoutFrames) {
  EXPECT_EQ(
      refusal("BatchQueue", {}, {f32({480, 640}, std::vector<double>(480 * 640))}),
      "input 0: expected frames along axis 0 of a tensor of rank 3 or more, got F32 "
      "[480, 640] on Host; add a \"Reshape\" node (shape [1, 480, 640]) before it");
  EXPECT_THAT(
      refusal("BatchQueue", {}, {f32({0, 2, 2}, {})}),
      HasSubstr("expected at least one frame along axis 0, got F32 [0, 2, 2] on Host"));
}

TEST(BatchQueue, TellsItsWindowAndMemory) {
  const core::InferResult infer = infer_task(
      "BatchQueue", {{"output_size", 2}, {"output_stride", 6}}, {f32({3, 1, 2}, iota(6))});
  ASSERT_TRUE(infer.window.has_value());
  EXPECT_EQ(infer.window->frames_in, 3u);
  EXPECT_EQ(infer.window->size, 2u);
  EXPECT_EQ(infer.window->stride, 6u);
  EXPECT_EQ(infer.window->capacity, 6u);
  ASSERT_EQ(infer.own_memory.size(), 1u);
  EXPECT_EQ(infer.own_memory[0].bytes, 6u * 2 * sizeof(float));
  EXPECT_EQ(infer.output_descs[0], TDesc({2, 1, 2}, DType::F32, core::MemLoc::Host));
  EXPECT_TRUE(infer.yields_ownership);
  EXPECT_FALSE(infer.window->drops);
}

TEST(RingPlan, IsTheShortestThatNeitherStallsNorCopies) {
  // With a ring of `frames` both sides move on until neither can.
  const auto stalls = [](size_t in, size_t size, size_t stride, size_t frames) {
    uint64_t head = 0, tail = 0;
    while (head < 40 * in || tail < 40 * stride) {
      if (head + in <= tail + frames)
        head += in;
      else if (head >= tail + size)
        tail += stride;
      else
        return true;
    }
    return false;
  };
  for (size_t in = 1; in <= 6; ++in)
    for (size_t size = 1; size <= 9; ++size)
      for (size_t stride = 1; stride <= 9; ++stride) {
        const RingPlan ring = plan_ring(in, size, stride, 1);
        const std::string what = text({in, size, stride, 1});
        EXPECT_EQ(ring.frames % in, 0u) << what;
        EXPECT_FALSE(stalls(in, size, stride, ring.frames)) << what;
        for (size_t shorter = ring.frames - in; shorter >= in; shorter -= in) {
          const bool copies = size <= stride && std::gcd(stride, shorter) < size;
          EXPECT_TRUE(stalls(in, size, stride, shorter) || copies) << what << ": " << shorter;
        }
      }
}

TEST(RingPlan, BoundsTheRingWhereStridesAreUnrelated) {
  const RingPlan ring = plan_ring(64, 63, 63, 4);
  EXPECT_LE(ring.frames, 64u * 64u);
  const RingPlan large = plan_ring(1000, 999, 999, 4);
  EXPECT_EQ(large.frames, 2000u) << "not 999000";
  EXPECT_EQ(large.repeated, 998u);
  EXPECT_THROW((void)plan_ring(size_t{1} << 40, 1, 1, 1), std::overflow_error);
}

}  // namespace holoflow::test
