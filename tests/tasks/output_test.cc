// SPDX-License-Identifier: LGPL-2.1-or-later
// Output called as the scheduler calls it, in front of a sink that keeps what it gets.
#include "holoflow/core/merged_flags.hh"
#include "holoflow/tasks/input_output/output_task.hh"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/tasks/frames.hh"
#include "tests/tasks/slot_harness.hh"

namespace holoflow::test {

using core::DType;
using core::FrameRecord;
using core::MemLoc;
using core::OpResult;
using core::TDesc;
using tasks::OutputTask;
using ::testing::ElementsAre;

namespace {

// Collects what leaves; gives frames back only when told.
class CollectingSink final : public runtime::IFrameSink {
public:
  OpResult on_frames(runtime::OutputFrames &&frames) override {
    got.push_back(std::move(frames));
    return answer;
  }
  void on_end(bool eof) override { ends.push_back(eof); }
  void interrupt() noexcept override { interrupted = true; }

  void give_back(size_t index) { std::exchange(got[index].release, {})(); }
  [[nodiscard]] std::vector<uint8_t> bytes(size_t index) const {
    const auto *data = reinterpret_cast<const uint8_t *>(got[index].data);
    return {data, data + got[index].desc->num_bytes()};
  }

  std::vector<runtime::OutputFrames> got;
  std::vector<bool> ends;
  std::atomic<bool> interrupted = false;
  OpResult answer = OpResult::Ok;
};

// An Output with what a section does around it.
class OutputDriver {
public:
  explicit OutputDriver(TDesc input, bool owner = true, size_t slot_bytes = 0)
      : task(std::make_unique<OutputTask>(input, owner, slot_bytes, runtime::host_device())),
        input_(input), owner_(owner), memory_(input.offset + input.num_bytes()) {
    task->bind_storage_access(&slots);
    task->set_sink(&sink);
    if (!owner)
      slots.input = {MemLoc::Host, memory_.size(), memory_.data()};
    task->begin_run();
  }

  // One iteration whose tensor's extent is filled with first, first + 1, …
  OpResult iterate(std::vector<FrameRecord> records, int first = 0) {
    core::TView view{input_, &slots.input};
    if (owner_)
      view = *task->acquire_input(0);
    slot = view.data();
    auto *data = reinterpret_cast<uint8_t *>(view.data());
    std::iota(data, data + input_.num_bytes(), static_cast<uint8_t>(first));
    std::span<FrameRecord> span(records);
    core::SyncCtx ctx{
        .inputs = {&view, 1}, .outputs = {}, .cancelled = &cancelled, .input_records = {&span, 1}};
    return task->execute(ctx);
  }

  FakeSlots slots;
  CollectingSink sink;
  std::unique_ptr<OutputTask> task;
  std::atomic<bool> cancelled = false;
  std::byte *slot = nullptr;  // what the last iteration wrote to

private:
  TDesc input_;
  bool owner_;
  std::vector<std::byte> memory_;
};

}  // namespace

TEST(Output, LendsTheSlotThatTheGraphWrote) {
  OutputDriver output(grey(1));
  ASSERT_EQ(output.iterate({numbered(0)}, 5), OpResult::Ok);
  EXPECT_EQ(output.slots.input.ptr, nullptr) << "handed over";
  ASSERT_EQ(output.sink.got.size(), 1u);
  EXPECT_EQ(output.sink.got[0].data, output.slot);
  EXPECT_EQ(*output.sink.got[0].desc, grey(1));
  EXPECT_EQ(output.sink.got[0].records[0].pts_ns, 0);
  EXPECT_THAT(output.sink.bytes(0), ElementsAre(5, 6, 7, 8, 9, 10));
  output.sink.give_back(0);
}

TEST(Output, SlotsAcquiredAheadLeaveInTheirOrder) {
  OutputDriver output(grey(1));
  std::vector<std::byte *> acquired;
  for (int i = 0; i < 3; ++i)
    acquired.push_back(output.task->acquire_input(0)->data());
  EXPECT_NE(acquired[0], acquired[1]);
  EXPECT_NE(acquired[1], acquired[2]);
  core::TView view{grey(1), &output.slots.input};
  core::SyncCtx ctx{.inputs = {&view, 1}, .outputs = {}, .cancelled = &output.cancelled};
  ASSERT_EQ(output.task->execute(ctx), OpResult::Ok);
  ASSERT_EQ(output.task->execute(ctx), OpResult::Ok);
  output.task->abandon_input(0);
  output.task->abandon_input(0);
  ASSERT_EQ(output.sink.got.size(), 2u);
  EXPECT_EQ(output.sink.got[0].data, acquired[0]);
  EXPECT_EQ(output.sink.got[1].data, acquired[1]);
  output.sink.give_back(0);
  output.sink.give_back(1);
}

TEST(Output, NeverWaitsForTheApplicationToGiveBack) {
  OutputDriver output(grey(1));
  for (uint64_t i = 0; i < 20; ++i)
    ASSERT_EQ(output.iterate({numbered(i)}, static_cast<int>(i)), OpResult::Ok);
  EXPECT_EQ(output.task->slots(), 20u);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(output.sink.bytes(i)[0], i) << "nobody wrote over it";
    output.sink.give_back(i);
  }
  for (uint64_t i = 20; i < 40; ++i)
    ASSERT_EQ(output.iterate({numbered(i)}), OpResult::Ok);
  EXPECT_EQ(output.task->slots(), 20u) << "slots that came back are used again";
  for (size_t i = 20; i < 40; ++i)
    output.sink.give_back(i);
}

TEST(Output, LentMemoryOutlivesTheTask) {
  OutputDriver output(grey(1));
  ASSERT_EQ(output.iterate({numbered(0)}, 3), OpResult::Ok);
  output.task.reset();
  EXPECT_THAT(output.sink.bytes(0), ElementsAre(3, 4, 5, 6, 7, 8));
  output.sink.give_back(0);
}

TEST(Output, SplitsABatchIntoFramesThatShareTheSlot) {
  OutputDriver output(grey(3, 1, 2));
  ASSERT_EQ(output.iterate({numbered(0), numbered(1), numbered(2)}), OpResult::Ok);
  ASSERT_EQ(output.sink.got.size(), 3u);
  EXPECT_EQ(*output.sink.got[1].desc, grey(1, 1, 2));
  EXPECT_THAT(output.sink.bytes(1), ElementsAre(2, 3));
  EXPECT_EQ(output.sink.got[2].records[0].sequence, 2u);
  output.sink.give_back(0);
  output.sink.give_back(2);
  std::byte *held = output.sink.got[0].data;
  EXPECT_NE(output.task->acquire_input(0)->data(), held);
  output.task->abandon_input(0);
  output.sink.give_back(1);
  std::vector<std::byte *> free;
  EXPECT_EQ(output.task->acquire_input(0)->data(), held) << "free again after the last frame";
  output.task->abandon_input(0);
}

TEST(Output, EmitsFramesOfOverlappingWindowsOnceAndPaddingNever) {
  OutputDriver output(grey(3, 1, 1));
  ASSERT_EQ(output.iterate({numbered(0), numbered(1), numbered(2)}), OpResult::Ok);
  ASSERT_EQ(output.iterate({numbered(1), numbered(2), numbered(3)}), OpResult::Ok);
  ASSERT_EQ(
      output.iterate(
          {numbered(4), numbered(4, FrameRecord::Padding), numbered(4, FrameRecord::Padding)}),
      OpResult::Ok);
  std::vector<uint64_t> seen;
  for (size_t i = 0; i < output.sink.got.size(); ++i) {
    seen.push_back(output.sink.got[i].records[0].sequence);
    output.sink.give_back(i);
  }
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(output.task->ledger_view().left, 5u);
  EXPECT_EQ(output.task->slots(), 3u) << "slots of which nothing left come back too";
}

TEST(Output, KeepsATensorWholeWithOneRecordOrWhenTold) {
  OutputDriver one(grey(3, 1, 1)), told(grey(2, 1, 1));
  ASSERT_EQ(one.iterate({numbered(9)}), OpResult::Ok);
  ASSERT_EQ(one.sink.got.size(), 1u);
  EXPECT_EQ(*one.sink.got[0].desc, grey(3, 1, 1));
  told.task->set_split(false);
  ASSERT_EQ(told.iterate({numbered(0), numbered(1)}), OpResult::Ok);
  ASSERT_EQ(told.sink.got.size(), 1u);
  EXPECT_THAT(sequences(told.sink.got[0].records), ElementsAre(0, 1));
  one.sink.give_back(0);
  told.sink.give_back(0);
}

TEST(Output, GivesATensorThatShowsFramesAgain) {
  OutputDriver delayed(grey(1, 1, 1));
  delayed.task->set_split(false);
  for (const uint64_t sequence : {0, 1, 0, 1, 2})
    ASSERT_EQ(delayed.iterate({numbered(sequence)}), OpResult::Ok);
  EXPECT_EQ(delayed.sink.got.size(), 5u);
  for (size_t i = 0; i < delayed.sink.got.size(); ++i)
    delayed.sink.give_back(i);
}

TEST(Output, LeavesOutAWholeTensorWithPaddingAndNoFrameThatDidNotLeaveBefore) {
  // What the windows over the end of a padded batch bring: one record each, or all of theirs.
  OutputDriver merged(grey(1, 1, 1)), whole(grey(3, 1, 1));
  merged.task->set_split(false);
  whole.task->set_split(false);
  for (const uint64_t sequence : {3, 4, 5})
    ASSERT_EQ(merged.iterate({numbered(sequence)}), OpResult::Ok);
  for (const uint64_t sequence : {6, 6, 6})
    ASSERT_EQ(merged.iterate({numbered(sequence, core::shows_padding)}), OpResult::Ok);
  ASSERT_EQ(merged.iterate({numbered(6, FrameRecord::Padding)}), OpResult::Ok);
  const auto padding = numbered(3, FrameRecord::Padding);
  ASSERT_EQ(whole.iterate({numbered(1), numbered(2), numbered(3)}), OpResult::Ok);
  ASSERT_EQ(whole.iterate({numbered(2), numbered(3), padding}), OpResult::Ok);
  ASSERT_EQ(whole.iterate({padding, padding, padding}), OpResult::Ok);
  std::vector<uint64_t> seen;
  for (size_t i = 0; i < merged.sink.got.size(); ++i) {
    seen.push_back(merged.sink.got[i].records[0].sequence);
    EXPECT_EQ(merged.sink.got[i].records[0].flags, core::FrameRecord::None);
    merged.sink.give_back(i);
  }
  EXPECT_THAT(seen, ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(merged.task->ledger_view().left, 4u);
  ASSERT_EQ(whole.sink.got.size(), 1u);
  whole.sink.give_back(0);
  EXPECT_EQ(whole.task->slots(), 2u) << "slots of which nothing left come back too";
}

TEST(Output, CopiesWhereItYieldedAndWhereTheInputIsAView) {
  OutputDriver yielded(grey(1, 1, 3), false);
  ASSERT_EQ(yielded.iterate({numbered(0)}, 7), OpResult::Ok);
  EXPECT_THAT(yielded.sink.bytes(0), ElementsAre(7, 8, 9));
  EXPECT_NE(yielded.sink.got[0].data, yielded.slots.input.ptr);
  yielded.sink.give_back(0);

  const TDesc columns({1, 2, 2}, DType::U8, MemLoc::Host, {8, 4, 2}, 1);
  for (const bool owner : {true, false}) {
    OutputDriver view(columns, owner, 8);
    ASSERT_EQ(view.iterate({numbered(0)}), OpResult::Ok);
    EXPECT_EQ(*view.sink.got[0].desc, grey(1, 2, 2));
    EXPECT_THAT(view.sink.bytes(0), ElementsAre(0, 2, 4, 6));
    view.sink.give_back(0);
  }
}

TEST(Output, LendsAFrameOfALargerStorageWhereItLies) {
  const TDesc second({1, 1, 2}, DType::U8, MemLoc::Host, size_t{4});
  OutputDriver output(second, true, 8);
  std::byte *slot = output.task->acquire_input(0)->storage->ptr;
  ASSERT_EQ(output.iterate({numbered(0)}), OpResult::Ok);
  EXPECT_EQ(output.sink.got[0].data, slot + 4);
  output.sink.give_back(0);
}

TEST(Output, EndsItsSectionWhereTheSinkWantsNoMore) {
  OutputDriver output(grey(2, 1, 1));
  output.sink.answer = OpResult::Eof;
  EXPECT_EQ(output.iterate({numbered(0), numbered(1)}), OpResult::Eof);
  EXPECT_EQ(output.sink.got.size(), 1u) << "the second frame was not offered";
  output.sink.give_back(0);
  output.task->end_of_section(false);
  output.task->interrupt();
  EXPECT_EQ(output.sink.ends, std::vector<bool>{false});
  EXPECT_TRUE(output.sink.interrupted);
}

TEST(Output, CountsWhatNobodyTakes) {
  OutputDriver output(grey(1));
  output.task->set_sink(nullptr);
  ASSERT_EQ(output.iterate({numbered(0)}), OpResult::Ok);
  EXPECT_EQ(output.task->ledger_view().dropped, 1u);
  EXPECT_EQ(output.task->ledger_view().dropped_reason, "no sink");
  EXPECT_EQ(output.task->slots(), 2u);
}

TEST(Output, RefusesDeviceMemory) {
  const TDesc device({1, 512, 512}, DType::U8, MemLoc::Device);
  try {
    (void)registry(Place::Host).get("Output").infer({&device, 1}, {});
    FAIL() << "accepted";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(
        error.what(),
        "input 0: expected a tensor on Host, got U8 [1, 512, 512] on "
        "Device; add a \"Download\" node before it");
  }
}

}  // namespace holoflow::test
