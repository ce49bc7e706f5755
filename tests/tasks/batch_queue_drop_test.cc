// SPDX-License-Identifier: LGPL-2.1-or-later
// BatchQueue: what it does when it is full, and with an incomplete last window.
#include <gmock/gmock.h>

#include <random>
#include <thread>

#include "tests/tasks/queue_driver.hh"

namespace holoflow::test {

using core::OpResult;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

using Firsts = std::vector<uint64_t>;
constexpr uint32_t discontinuity = core::FrameRecord::Discontinuity;

void expect_balance(Queue &queue, const std::string &what) {
  const runtime::NodeLedgerView ledger = queue.ledger();
  EXPECT_EQ(ledger.entered, queue.pushed()) << what;
  EXPECT_EQ(
      ledger.entered,
      ledger.left + ledger.skipped + ledger.dropped + ledger.overflowed + ledger.held)
      << what;
}

struct PadCase {
  size_t in, size, stride;
  uint64_t frames;
  Firsts windows;
  size_t shown_last;  // frames of the last window that are no repeats
};

// Every window's first frame, and how much of the last one is real.
const std::vector<PadCase> pad_cases = {
    {1, 4, 4, 10, {0, 4, 8}, 2},  //
    {1, 4, 4, 8, {0, 4}, 4},  // nothing is left over
    {1, 4, 4, 3, {0}, 3},  //
    {1, 4, 4, 0, {}, 0},  //
    {1, 4, 1, 6, {0, 1, 2}, 4},  // every frame was shown already
    {1, 4, 1, 2, {0}, 2},  // none was
    {1, 4, 2, 7, {0, 2, 4}, 3},  // frame 6 is new
    {1, 4, 2, 6, {0, 2}, 4},  //
    {1, 6, 4, 9, {0, 4}, 5},  //
    {1, 2, 6, 7, {0, 6}, 1},  //
    {1, 2, 6, 5, {0}, 2},  // the rest is skipped
    {3, 2, 6, 21, {0, 6, 12, 18}, 2},  //
    {3, 4, 4, 9, {0, 4, 8}, 1},  //
    {2, 5, 3, 6, {0, 3}, 3},  //
    {4, 3, 3, 8, {0, 3, 6}, 2},  //
};

void check_padding(Place place, bool owns_output, const std::string &policy) {
  for (const PadCase &test : pad_cases) {
    const Numbers numbers{test.in, test.size, test.stride, 32, policy, "pad"};
    Queue queue(numbers, place, {.owns_output = owns_output});
    queue.push_until(test.frames);
    queue.task->end_of_input();
    EXPECT_EQ(queue.pop_all(), test.windows) << text(numbers);
    EXPECT_EQ(queue.pop(), OpResult::Eof) << text(numbers);
    EXPECT_EQ(queue.wrong(), 0u) << text(numbers);
    EXPECT_EQ(queue.shown, test.shown_last) << text(numbers);
    expect_balance(queue, text(numbers));
    EXPECT_EQ(queue.ledger().dropped, 0u) << text(numbers);
    EXPECT_EQ(queue.ledger().held, 0u) << text(numbers);
  }
}

struct FullCase {
  Numbers numbers;
  uint64_t frames;  // pushed before anything is popped
  Firsts windows;
  uint64_t dropped;
};

const std::vector<FullCase> full_cases = {
    {{1, 1, 1, 4, "drop-oldest"}, 4, {0, 1, 2, 3}, 0},
    {{1, 1, 1, 4, "drop-oldest"}, 10, {6, 7, 8, 9}, 6},
    {{1, 1, 1, 1, "drop-oldest"}, 10, {9}, 9},
    {{1, 4, 4, 8, "drop-oldest"}, 8, {0, 4}, 0},
    {{1, 4, 4, 8, "drop-oldest"}, 9, {4}, 4},
    {{1, 4, 4, 8, "drop-oldest"}, 20, {12, 16}, 12},
    {{4, 1, 1, 8, "drop-oldest"}, 12, {4, 5, 6, 7, 8, 9, 10, 11}, 4},
    {{1, 4, 1, 6, "drop-oldest"}, 10, {4, 5, 6}, 4},
    {{1, 4, 2, 6, "drop-oldest"}, 11, {6}, 6},
    {{3, 2, 6, 6, "drop-oldest"}, 18, {12}, 4},
    {{1, 1, 1, 4, "drop-newest"}, 4, {0, 1, 2, 3}, 0},
    {{1, 1, 1, 4, "drop-newest"}, 10, {0, 1, 2, 3}, 6},
    {{1, 4, 4, 8, "drop-newest"}, 20, {0, 4}, 12},
    {{4, 1, 1, 8, "drop-newest"}, 12, {0, 1, 2, 3, 4, 5, 6, 7}, 4},
    {{1, 4, 1, 6, "drop-newest"}, 10, {0, 1, 2}, 4},
};

void check_full(Place place) {
  for (const FullCase &test : full_cases)
    for (const bool owns_input : {true, false})
      for (const bool owns_output : {true, false}) {
        Queue queue(test.numbers, place, {.owns_input = owns_input, .owns_output = owns_output});
        queue.push_until(test.frames);
        EXPECT_EQ(queue.ledger().overflowed, test.dropped) << text(test.numbers);
        EXPECT_EQ(queue.pop_all(), test.windows) << text(test.numbers);
        EXPECT_EQ(queue.wrong(), 0u) << text(test.numbers);
        expect_balance(queue, text(test.numbers));
      }
}

}  // namespace

TEST(BatchQueuePad, CompletesTheLastWindow) {
  for (const bool owner : {true, false})
    for (const std::string policy : {"block", "drop-oldest", "drop-newest"})
      check_padding(Place::Host, owner, policy);
}

TEST(BatchQueuePad, CompletesTheLastWindowOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  for (const bool owner : {true, false})
    for (const std::string policy : {"block", "drop-oldest", "drop-newest"})
      check_padding(Place::Device, owner, policy);
}

TEST(BatchQueuePad, DoesNotCountRepeatsAsFrames) {
  Queue queue({.size = 4, .stride = 4, .capacity = 8, .flush = "pad"});
  queue.push_until(6);
  queue.task->end_of_input();
  EXPECT_THAT(queue.pop_all(), ElementsAre(0, 4));
  EXPECT_EQ(queue.ledger().entered, 6u);
  EXPECT_EQ(queue.ledger().left, 6u);
}

TEST(BatchQueuePad, WaitsForTheEnd) {
  Queue queue({.size = 4, .stride = 4, .capacity = 8, .flush = "pad"});
  queue.push_until(3);
  EXPECT_EQ(queue.pop(), OpResult::NotReady);
  queue.push_until(4);
  ASSERT_EQ(queue.pop_any(), OpResult::Ok);
  EXPECT_EQ(queue.shown, 4u);
}

TEST(BatchQueueFull, KeepsWholeWindowsOnHost) {
  check_full(Place::Host);
}

TEST(BatchQueueFull, KeepsWholeWindowsOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  check_full(Place::Device);
}

TEST(BatchQueueFull, AlwaysLendsASlot) {
  for (const std::string policy : {"drop-oldest", "drop-newest"})
    for (const Numbers &numbers : {Numbers{1, 1, 1, 1, policy}, Numbers{2, 3, 1, 4, policy}}) {
      Queue queue(numbers);
      bool held = false;
      for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(queue.task->acquire_input(0).has_value()) << text(numbers);
        ASSERT_TRUE(queue.push_next()) << text(numbers);
        held = held || queue.pop_any() == OpResult::Ok;  // and is never released
        if (held)
          break;
      }
      for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(queue.push_next()) << text(numbers);
      queue.release();
    }
}

TEST(BatchQueueFull, DropsNothingForASlotThatIsNotPushed) {
  Queue queue({.capacity = 2, .policy = "drop-oldest"});
  queue.push_until(2);
  ASSERT_TRUE(queue.task->acquire_input(0).has_value());
  queue.task->abandon_input(0);
  queue.task->end_of_input();
  EXPECT_THAT(queue.pop_all(), ElementsAre(0, 1));
}

TEST(BatchQueueFull, LeavesTheWindowThatTheConsumerHolds) {
  Queue queue({.capacity = 2, .policy = "drop-oldest"});
  queue.push_until(2);
  ASSERT_EQ(queue.pop_any(), OpResult::Ok);
  const float *held = reinterpret_cast<const float *>(queue.slots.output.ptr);
  EXPECT_EQ(held[1], 1.0F);
  queue.push_until(9);
  EXPECT_EQ(held[1], 1.0F);
  queue.release();
  EXPECT_THAT(queue.pop_all(), ElementsAre(7, 8));
  EXPECT_EQ(queue.wrong(), 0u);
  EXPECT_EQ(queue.ledger().overflowed, 6u);
}

TEST(BatchQueueFull, TakesFramesAgainOnceThereIsRoom) {
  Queue queue({.capacity = 2, .policy = "drop-newest"});
  queue.push_until(3);
  ASSERT_EQ(queue.pop_any(), OpResult::Ok);
  queue.push_until(4);
  EXPECT_EQ(queue.ledger().overflowed, 2u) << "the window is still being read";
  queue.release();
  queue.push_until(5);
  EXPECT_THAT(queue.pop_all(), ElementsAre(1, 4));
  EXPECT_EQ(queue.ledger().overflowed, 2u);
}

TEST(BatchQueueFull, BeginsAfterAGapWhereAWindowBegins) {
  Queue queue({.size = 4, .stride = 4, .capacity = 4, .policy = "drop-newest"});
  queue.push_until(5);
  ASSERT_EQ(queue.pop_any(), OpResult::Ok);
  queue.release();
  queue.push_until(8);
  EXPECT_THAT(queue.pop_all(), IsEmpty()) << "4 is missing from its window";
  EXPECT_EQ(queue.ledger().overflowed, 4u);
  queue.push_until(12);
  EXPECT_THAT(queue.pop_all(), ElementsAre(8));
}

TEST(BatchQueueFull, ShowsNoWindowWithAGap) {
  Queue queue({.size = 3, .stride = 1, .capacity = 4, .policy = "drop-newest"});
  queue.push_until(5);  // 4 is refused
  ASSERT_EQ(queue.pop_any(), OpResult::Ok);
  queue.release();
  queue.push_until(6);
  EXPECT_THAT(queue.pop_all(), ElementsAre(1)) << "not (2, 3, 5)";
  queue.push_until(8);
  EXPECT_THAT(queue.pop_all(), ElementsAre(5));
  EXPECT_EQ(queue.wrong(), 0u);
  EXPECT_EQ(queue.ledger().overflowed, 1u) << "2 and 3 were shown before";
  expect_balance(queue, "");
}

TEST(BatchQueueFull, TellsWhereFramesAreMissing) {
  for (const std::string policy : {"drop-oldest", "drop-newest"}) {
    Queue queue({.capacity = 2, .policy = policy});
    queue.push_until(2);
    ASSERT_EQ(queue.pop_any(), OpResult::Ok);
    EXPECT_EQ(queue.records[0].flags & discontinuity, 0u);
    queue.release();
    queue.push_until(5);
    std::vector<uint32_t> flags;
    queue.push_until(5);
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(queue.pop_any(), OpResult::Ok);
      flags.push_back(queue.records[0].flags & discontinuity);
      queue.release();
    }
    if (policy == "drop-oldest") {
      EXPECT_THAT(flags, ElementsAre(discontinuity, 0u));
    } else {
      EXPECT_THAT(flags, ElementsAre(0u, 0u));
      queue.push_until(6);
      ASSERT_EQ(queue.pop_any(), OpResult::Ok);
      EXPECT_EQ(queue.records[0].flags & discontinuity, discontinuity);
    }
  }
}

TEST(BatchQueueFull, GivesUpTheOwnersOfDroppedFrames) {
  for (const std::string policy : {"drop-oldest", "drop-newest"}) {
    AsyncDriver queue(
        Place::Host, "BatchQueue", params_of({.capacity = 2, .policy = policy}),
        core::TDesc({1, 1, 1}, core::DType::U8, core::MemLoc::Host));
    const auto token = std::make_shared<int>(0);
    for (int frame = 0; frame < 9; ++frame)
      ASSERT_TRUE(queue.push({std::byte{1}}, {{.owner = token}}));
    EXPECT_EQ(token.use_count(), 3) << policy << ": two frames are held";
  }
}

TEST(BatchQueueFull, BalancesForRandomNumbersAndAnyOrderOfCalls) {
  std::mt19937 random(7);
  const auto up_to = [&random](size_t most) { return 1 + random() % most; };
  for (int round = 0; round < 400; ++round) {
    const Numbers numbers{
        up_to(6),
        up_to(9),
        up_to(9),
        up_to(20),
        round % 2 == 0 ? "drop-oldest" : "drop-newest",
        random() % 2 == 0 ? "pad" : "drop"};
    const AsyncDriver::Options options{
        .owns_input = random() % 2 == 0, .owns_output = random() % 2 == 0};
    Queue queue(numbers, Place::Host, options);
    const size_t pushes = 2 + random() % 11;  // per pop, in the mean
    bool held = false;
    while (queue.pushed() < 300) {
      if (random() % pushes != 0) {
        ASSERT_TRUE(queue.push_next()) << text(numbers);
      } else if (held) {
        queue.release();
        held = false;
      } else if (queue.pop_any() == OpResult::Ok) {
        held = options.owns_output;
      }
      expect_balance(queue, text(numbers));
    }
    if (held)
      queue.release();
    queue.task->end_of_input();
    (void)queue.pop_all();
    EXPECT_GT(queue.windows(), 0u) << text(numbers);
    EXPECT_EQ(queue.wrong(), 0u) << text(numbers);
    expect_balance(queue, text(numbers));
    EXPECT_EQ(queue.ledger().held, 0u) << text(numbers);
  }
}

TEST(BatchQueueFull, NeverMakesItsProducerWaitBetweenTwoThreads) {
  for (const std::string policy : {"drop-oldest", "drop-newest"})
    for (const Numbers &numbers :
         {Numbers{1, 1, 1, 2, policy}, Numbers{2, 3, 1, 4, policy}, Numbers{3, 2, 5, 6, policy},
          Numbers{1, 8, 8, 8, policy}})
      for (const bool owner : {true, false}) {
        Queue queue(numbers, Place::Host, {.owns_input = owner, .owns_output = owner});
        const uint64_t frames = 6000 / numbers.in * numbers.in;
        uint64_t waited = 0;
        std::thread producer([&queue, frames, &waited] {
          while (queue.pushed() < frames)
            waited += queue.push_next() ? 0 : 1;
          queue.task->end_of_input();
        });
        for (OpResult result = OpResult::Ok; result != OpResult::Eof;) {
          const runtime::NodeLedgerView now = queue.ledger();
          EXPECT_EQ(now.entered, now.left + now.skipped + now.overflowed + now.dropped + now.held);
          result = queue.pop_any();
          if (result == OpResult::Ok)
            queue.release();
          if (result == OpResult::NotReady)
            std::this_thread::yield();
        }
        producer.join();
        EXPECT_EQ(waited, 0u) << text(numbers);
        EXPECT_GT(queue.windows(), 0u) << text(numbers);
        EXPECT_EQ(queue.wrong(), 0u) << text(numbers);
        expect_balance(queue, text(numbers));
      }
}

TEST(BatchQueueFull, StartsANewRunEmpty) {
  Queue queue({.capacity = 2, .policy = "drop-newest"});
  queue.push_until(7);
  ASSERT_EQ(queue.pop_any(), OpResult::Ok);
  queue.queue().begin_run();
  EXPECT_EQ(queue.pop(), OpResult::NotReady);
  EXPECT_EQ(queue.ledger().entered, 0u);
  EXPECT_EQ(queue.ledger().overflowed, 0u);
}

TEST(BatchQueueFull, TellsThatItDropsAndWhatItTakes) {
  for (const std::string policy : {"drop-oldest", "drop-newest"}) {
    const bool oldest = policy == "drop-oldest";
    const core::InferResult infer = infer_task(
        "BatchQueue",
        {{"policy", policy}, {"output_size", 3}, {"output_stride", 1}, {"target_capacity", 6}},
        {f32({1, 1, 2}, iota(2))});
    ASSERT_TRUE(infer.window.has_value());
    EXPECT_TRUE(infer.window->drops);
    EXPECT_EQ(infer.window->capacity, 6u);
    EXPECT_EQ(infer.own_memory.size(), oldest ? 2u : 1u);
    EXPECT_EQ(infer.const_outputs[0], !oldest) << "a copy may be overwritten";
  }
}

}  // namespace holoflow::test
