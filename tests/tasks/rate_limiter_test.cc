// SPDX-License-Identifier: LGPL-2.1-or-later
// RateLimiter: tensors leave when their time has come; the clock is the test's own.
#include "holoflow/tasks/rate_limiter/rate_limiter_task.hh"

#include <gmock/gmock.h>

#include <thread>

#include "tests/tasks/slot_harness.hh"

namespace holoflow::test {

using core::DType;
using core::OpResult;
using core::TDesc;
using std::chrono::milliseconds;
using tasks::RateLimiterTask;
using ::testing::HasSubstr;

namespace {

// A limiter of one tensor in 10 ms on a clock that only the test moves.
class Limiter {
public:
  explicit Limiter(
      Place place = Place::Host, AsyncDriver::Options options = {},
      milliseconds period = milliseconds(10), bool drops = false)
      : driver_(make(place, options, period, drops, now_)) {}

  AsyncDriver *operator->() { return &driver_; }
  void advance(milliseconds by) { *now_ += by; }
  [[nodiscard]] std::chrono::steady_clock::time_point now() const { return *now_; }
  [[nodiscard]] RateLimiterTask &task() { return dynamic_cast<RateLimiterTask &>(*driver_.task); }

  bool push(int value) {
    return driver_.push(
        std::vector<std::byte>(4, static_cast<std::byte>(value)),
        {{.sequence = static_cast<uint64_t>(value)}});
  }

private:
  using Now = std::shared_ptr<std::chrono::steady_clock::time_point>;

  static AsyncDriver make(
      Place place, AsyncDriver::Options options, milliseconds period, bool drops, const Now &now) {
    const TDesc tensor({1, 2, 2}, DType::U8, loc_at(place));
    const core::InferResult infer =
        registry(place).get_async("RateLimiter").infer({&tensor, 1}, {{"max_fps", 100}});
    core::AsyncCreateCtx ctx;
    ctx.device = device_at(place).index();
    ctx.owned_inputs = {options.owns_input};
    ctx.owned_outputs = {options.owns_output};
    return AsyncDriver(
        place, infer,
        std::make_unique<RateLimiterTask>(
            tensor, period, drops, ctx, device_at(place), [now] { return *now; }),
        options);
  }

  Now now_ = std::make_shared<std::chrono::steady_clock::time_point>(milliseconds(1000));
  AsyncDriver driver_;
};

}  // namespace

TEST(RateLimiter, LetsATensorThroughOnlyWhenItsTimeHasCome) {
  Limiter limiter;
  EXPECT_EQ(limiter->pop(), OpResult::NotReady);
  EXPECT_FALSE(limiter->task->ready_at().has_value()) << "nothing to wait for";
  ASSERT_TRUE(limiter.push(1));
  ASSERT_EQ(limiter->pop(), OpResult::Ok) << "the first one at once";
  EXPECT_EQ(limiter->popped, std::vector<std::byte>(4, std::byte{1}));
  EXPECT_EQ(limiter->records[0].sequence, 1u);
  limiter->release();
  ASSERT_TRUE(limiter.push(2));
  EXPECT_EQ(limiter->pop(), OpResult::NotReady);
  ASSERT_TRUE(limiter->task->ready_at().has_value());
  EXPECT_EQ(*limiter->task->ready_at(), limiter.now() + milliseconds(10));
  limiter.advance(milliseconds(9));
  EXPECT_EQ(limiter->pop(), OpResult::NotReady);
  limiter.advance(milliseconds(1));
  EXPECT_EQ(limiter->pop(), OpResult::Ok);
  EXPECT_EQ(limiter->popped, std::vector<std::byte>(4, std::byte{2}));
}

TEST(RateLimiter, MakesTheProducerWaitInsteadOfDropping) {
  Limiter limiter;
  ASSERT_TRUE(limiter.push(1));
  ASSERT_TRUE(limiter.push(2));
  EXPECT_FALSE(limiter.push(3)) << "both slots are taken";
  ASSERT_EQ(limiter->pop(), OpResult::Ok);
  EXPECT_FALSE(limiter.push(3)) << "the first is still being read";
  limiter->release();
  ASSERT_TRUE(limiter.push(3));
  for (int want : {2, 3}) {
    limiter.advance(milliseconds(10));
    ASSERT_EQ(limiter->pop(), OpResult::Ok);
    EXPECT_EQ(limiter->popped[0], static_cast<std::byte>(want));
    limiter->release();
  }
  const runtime::NodeLedgerView ledger = limiter.task().ledger_view();
  EXPECT_EQ(ledger.entered, 3u);
  EXPECT_EQ(ledger.left, 3u);
  EXPECT_EQ(ledger.held, 0u);
}

TEST(RateLimiter, DebugBuildsOverwriteWhatWentBack) {
#ifdef NDEBUG
  GTEST_SKIP() << "a build without assertions";
#endif
  Limiter limiter;
  ASSERT_TRUE(limiter.push(1));
  ASSERT_EQ(limiter->pop(), OpResult::Ok);
  const std::byte *tensor = limiter->slots.output.ptr;
  limiter->release();
  EXPECT_EQ(std::vector<std::byte>(tensor, tensor + 4), std::vector<std::byte>(4, std::byte{0xDB}));
}

TEST(RateLimiter, GivesOutTheMemoryThatItLent) {
  Limiter limiter;
  const auto lent = limiter->task->acquire_input(0);
  ASSERT_TRUE(lent.has_value());
  const std::byte *memory = lent->data();
  ASSERT_TRUE(limiter.push(1));
  ASSERT_EQ(limiter->pop(), OpResult::Ok);
  EXPECT_EQ(limiter->slots.output.ptr, memory);
  limiter->release();
}

TEST(RateLimiter, CopiesWhereItYielded) {
  for (const Place place : {Place::Host, Place::Device}) {
    if (place == Place::Device && !have_gpu())
      continue;
    for (const bool input : {true, false})
      for (const bool output : {true, false}) {
        Limiter limiter(place, {.owns_input = input, .owns_output = output});
        for (int value = 1; value < 6; ++value) {
          ASSERT_TRUE(limiter.push(value));
          limiter.advance(milliseconds(10));
          ASSERT_EQ(limiter->pop(), OpResult::Ok);
          EXPECT_EQ(limiter->popped, std::vector<std::byte>(4, static_cast<std::byte>(value)));
          limiter->release();
        }
      }
  }
}

TEST(RateLimiter, AnswersEofOnceItIsEmpty) {
  Limiter limiter;
  ASSERT_TRUE(limiter.push(1));
  ASSERT_TRUE(limiter.push(2));
  limiter->task->end_of_input();
  ASSERT_EQ(limiter->pop(), OpResult::Ok);
  limiter->release();
  EXPECT_EQ(limiter->pop(), OpResult::NotReady) << "the last one has its time too";
  limiter.advance(milliseconds(10));
  ASSERT_EQ(limiter->pop(), OpResult::Ok);
  limiter->release();
  EXPECT_EQ(limiter->pop(), OpResult::Eof);
  EXPECT_TRUE(limiter->task->knows_end_of_input());
}

TEST(RateLimiter, PassesTensorsBetweenTwoThreads) {
  Limiter limiter(Place::Host, {}, milliseconds(0));
  constexpr int count = 4000;
  std::thread producer([&limiter] {
    for (int i = 0; i < count; ++i)
      while (!limiter.push(i % 251))
        std::this_thread::yield();
    limiter->task->end_of_input();
  });
  int popped = 0, wrong = 0;
  for (OpResult result = OpResult::Ok; result != OpResult::Eof;) {
    result = limiter->pop();
    if (result == OpResult::NotReady)
      std::this_thread::yield();
    if (result != OpResult::Ok)
      continue;
    wrong += limiter->popped != std::vector<std::byte>(4, static_cast<std::byte>(popped++ % 251));
    limiter->release();
  }
  producer.join();
  EXPECT_EQ(popped, count);
  EXPECT_EQ(wrong, 0);
}

TEST(RateLimiter, StartsANewRunEmptyAndAtOnce) {
  Limiter limiter;
  ASSERT_TRUE(limiter.push(1));
  ASSERT_EQ(limiter->pop(), OpResult::Ok);
  limiter->task->end_of_input();
  limiter.task().begin_run();
  EXPECT_EQ(limiter->pop(), OpResult::NotReady);
  ASSERT_TRUE(limiter.push(2));
  EXPECT_EQ(limiter->pop(), OpResult::Ok);
}

TEST(RateLimiter, KeepsStridesAndOffsetOfAView) {
  const Array view = scattered(u8({1, 2, 2}, iota(4)));
  const core::InferResult infer = infer_task("RateLimiter", {{"max_fps", 5}}, {view});
  EXPECT_EQ(infer.output_descs[0], view.desc(Place::Host)) << "both sides share the slots";
}

TEST(RateLimiter, RefusesRatesThatAreNone) {
  const Array tensor = u8({1, 1, 1}, {0});
  EXPECT_THAT(refusal("RateLimiter", {{"max_fps", 0}}, {tensor}), HasSubstr("max_fps"));
  EXPECT_THAT(refusal("RateLimiter", nlohmann::json::object(), {tensor}), HasSubstr("max_fps"));
}

TEST(RateLimiterDrop, KeepsTheNewestAndCountsTheRest) {
  for (const Place place : {Place::Host, Place::Device}) {
    if (place == Place::Device && !have_gpu())
      continue;
    for (const bool input : {true, false})
      for (const bool output : {true, false}) {
        Limiter limiter(
            place, {.owns_input = input, .owns_output = output}, milliseconds(10), true);
        int next = 0;
        for (int round = 0; round < 5; ++round) {
          for (int i = 0; i < 4; ++i)
            ASSERT_TRUE(limiter.push(++next));
          ASSERT_EQ(limiter->pop(), OpResult::Ok);
          EXPECT_EQ(limiter->popped, std::vector<std::byte>(4, static_cast<std::byte>(next)));
          EXPECT_EQ(limiter->records[0].sequence, static_cast<uint64_t>(next));
          EXPECT_EQ(limiter->records[0].flags, core::FrameRecord::Discontinuity);
          // What the consumer reads is left alone.
          for (int i = 0; i < 4; ++i)
            ASSERT_TRUE(limiter.push(++next));
          if (output) {
            EXPECT_EQ(limiter->slots.output.ptr != nullptr, true);
          }
          limiter->release();
          EXPECT_EQ(limiter->pop(), OpResult::NotReady);
          limiter.advance(milliseconds(10));
        }
        const runtime::NodeLedgerView ledger = limiter.task().ledger_view();
        EXPECT_EQ(ledger.entered, 40u);
        EXPECT_EQ(ledger.left, 5u);
        EXPECT_EQ(ledger.dropped, 34u);
        EXPECT_EQ(ledger.dropped_reason, "max-fps");
        EXPECT_EQ(ledger.held, 1u);
      }
  }
}

TEST(RateLimiterDrop, LeavesWhatTheConsumerReads) {
  Limiter limiter(Place::Host, {}, milliseconds(10), true);
  ASSERT_TRUE(limiter.push(1));
  ASSERT_EQ(limiter->pop(), OpResult::Ok);
  for (int value = 2; value < 20; ++value) {
    ASSERT_TRUE(limiter->task->acquire_input(0).has_value());
    ASSERT_TRUE(limiter.push(value));
    ASSERT_EQ(*limiter->slots.output.ptr, std::byte{1});
  }
  limiter->release();
  limiter->task->end_of_input();
  EXPECT_EQ(limiter->pop(), OpResult::NotReady);
  limiter.advance(milliseconds(10));
  ASSERT_EQ(limiter->pop(), OpResult::Ok) << "the last one comes at its time";
  EXPECT_EQ(limiter->popped[0], std::byte{19});
  limiter->release();
  EXPECT_EQ(limiter->pop(), OpResult::Eof);
}

TEST(RateLimiterDrop, DropsNothingThatComesSlowly) {
  Limiter limiter(Place::Host, {}, milliseconds(10), true);
  for (int value = 1; value < 9; ++value) {
    ASSERT_TRUE(limiter.push(value));
    ASSERT_EQ(limiter->pop(), OpResult::Ok);
    EXPECT_EQ(limiter->records[0].flags, 0u);
    limiter->release();
    limiter.advance(milliseconds(10));
  }
  EXPECT_EQ(limiter.task().ledger_view().dropped, 0u);
}

TEST(RateLimiterDrop, GivesUpTheOwnersOfDroppedFrames) {
  Limiter limiter(Place::Host, {}, milliseconds(10), true);
  const auto token = std::make_shared<int>(0);
  for (int i = 0; i < 9; ++i)
    ASSERT_TRUE(limiter->push(std::vector<std::byte>(4), {{.owner = token}}));
  EXPECT_EQ(token.use_count(), 2);
}

TEST(RateLimiterDrop, NeverMakesItsProducerWaitBetweenTwoThreads) {
  for (const bool owner : {true, false}) {
    Limiter limiter(
        Place::Host, {.owns_input = owner, .owns_output = owner}, milliseconds(0), true);
    constexpr int count = 4000;
    int waited = 0;
    std::thread producer([&limiter, &waited] {
      for (int i = 1; i <= count; ++i)
        waited += limiter.push(i) ? 0 : 1;
      limiter->task->end_of_input();
    });
    uint64_t last = 0, wrong = 0;
    for (OpResult result = OpResult::Ok; result != OpResult::Eof;) {
      const runtime::NodeLedgerView now = limiter.task().ledger_view();
      wrong += now.entered != now.left + now.dropped + now.held;
      result = limiter->pop();
      if (result == OpResult::NotReady)
        std::this_thread::yield();
      if (result != OpResult::Ok)
        continue;
      const uint64_t sequence = limiter->records[0].sequence;
      wrong += sequence <= last;
      wrong += limiter->popped != std::vector<std::byte>(4, static_cast<std::byte>(sequence));
      last = sequence;
      limiter->release();
    }
    producer.join();
    EXPECT_EQ(waited, 0);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(last, static_cast<uint64_t>(count)) << "the newest always comes";
    EXPECT_EQ(limiter.task().ledger_view().entered, static_cast<uint64_t>(count));
  }
}

TEST(RateLimiterDrop, TellsThatItDropsAndWhatItTakes) {
  const core::InferResult infer =
      infer_task("RateLimiter", {{"max_fps", 5}, {"policy", "drop"}}, {u8({1, 2, 2}, iota(4))});
  ASSERT_TRUE(infer.window.has_value());
  EXPECT_TRUE(infer.window->drops);
  EXPECT_EQ(infer.own_memory[0].bytes, 12u);
  EXPECT_FALSE(infer_task("RateLimiter", {{"max_fps", 5}}, {u8({1, 2, 2}, iota(4))}).window->drops);
}

}  // namespace holoflow::test
