// SPDX-License-Identifier: LGPL-2.1-or-later
// DualReaderBatchQueue: the current frame, the one half a window before it, and when both count.
#include "holoflow/tasks/dual_reader/dual_reader_task.hh"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "tests/tasks/slot_harness.hh"

namespace holoflow::test {

using core::DType;
using core::OpResult;
using core::TDesc;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

// Frames of three U16 pixels that are the frame's number plus 1, so that zeros are no frame.
class Reader {
public:
  Reader(Place place, size_t window, size_t capacity = 4)
      : device_(device_at(place)), scope_(device_), stream_(device_),
        frame_({1, 1, 3}, DType::U16, loc_at(place)) {
    const core::IAsyncTaskFactory &factory = registry(place).get_async("DualReaderBatchQueue");
    const nlohmann::json params{{"window_size", window}, {"target_capacity", capacity}};
    infer = factory.infer({&frame_, 1}, params);
    core::AsyncCreateCtx ctx;
    ctx.device = device_.index();
    ctx.producer_stream = ctx.consumer_stream = stream_.get();
    task = factory.create({&frame_, 1}, params, ctx);
    add(frame_);
    for (const TDesc &desc : infer.output_descs)
      add(desc);
    task->begin_run();
  }

  bool push() {
    const std::vector<uint16_t> pixels(3, static_cast<uint16_t>(pushed_ + 1));
    std::vector<std::byte> bytes(6);
    std::memcpy(bytes.data(), pixels.data(), bytes.size());
    device_.copy(
        storages_[0].ptr, frame_.mem_loc, bytes.data(), core::MemLoc::Host, bytes.size(),
        stream_.get());
    device_.synchronize(stream_.get());
    core::TView view{frame_, storages_.data()};
    core::FrameRecord record{.sequence = pushed_};
    std::span<core::FrameRecord> span(&record, 1);
    core::AsyncPushCtx ctx{.inputs = {&view, 1}, .input_records = {&span, 1}};
    if (task->try_push(ctx) != OpResult::Ok)
      return false;
    ++pushed_;
    return true;
  }

  OpResult pop() {
    std::vector<core::TView> views;
    for (size_t i = 0; i < 3; ++i)
      views.push_back({infer.output_descs[i], &storages_[i + 1]});
    std::vector<std::span<core::FrameRecord>> spans;
    for (core::FrameRecord &record : records)
      spans.emplace_back(&record, 1);
    core::AsyncPopCtx ctx{.outputs = views, .output_records = spans};
    const OpResult result = task->try_pop(ctx);
    if (result != OpResult::Ok)
      return result;
    current = frame_in(views[0]);
    delayed = frame_in(views[1]);
    valid = read(views[2])[0];
    return result;
  }

  core::InferResult infer;
  std::unique_ptr<core::IAsyncTask> task;
  std::array<core::FrameRecord, 3> records;
  int current = 0, delayed = 0, valid = 0;  // frames by number, −1 = zeros, −2 = torn

private:
  void add(const TDesc &desc) {
    blocks_.emplace_back(device_, desc.mem_loc, desc.num_bytes());
    storages_.push_back({desc.mem_loc, desc.num_bytes(), blocks_.back().get()});
  }
  std::vector<uint8_t> read(const core::TView &view) {
    std::vector<uint8_t> bytes(view.desc.num_bytes());
    device_.copy(
        reinterpret_cast<std::byte *>(bytes.data()), core::MemLoc::Host, view.data(),
        view.desc.mem_loc, bytes.size(), stream_.get());
    device_.synchronize(stream_.get());
    return bytes;
  }
  int frame_in(const core::TView &view) {
    const std::vector<uint8_t> bytes = read(view);
    std::array<uint16_t, 3> pixels;
    std::memcpy(pixels.data(), bytes.data(), sizeof(pixels));
    return pixels[0] == pixels[1] && pixels[1] == pixels[2] ? pixels[0] - 1 : -2;
  }

  runtime::Device &device_;
  runtime::DeviceScope scope_;
  runtime::Stream stream_;
  TDesc frame_;
  std::vector<runtime::MemoryBlock> blocks_;
  std::vector<core::Storage> storages_;
  uint64_t pushed_ = 0;
};

void check(Place place) {
  for (const size_t window : {1u, 2u, 3u, 4u, 5u, 8u})
    for (const size_t capacity : {1u, 2u, 5u}) {
      Reader reader(place, window, capacity);
      const int delay = static_cast<int>((window - 1) / 2);
      int popped = 0;
      for (int round = 0; round < 12; ++round) {
        while (reader.push()) {
        }
        for (int i = 0; i <= round % 2 && reader.pop() == OpResult::Ok; ++i, ++popped) {
          EXPECT_EQ(reader.current, popped) << window << " " << capacity;
          EXPECT_EQ(reader.delayed, std::max(popped - delay, -1)) << window << " " << capacity;
          EXPECT_EQ(reader.valid, popped + 1 >= static_cast<int>(window) ? 1 : 0) << window;
          EXPECT_EQ(reader.records[0].sequence, static_cast<uint64_t>(popped));
          EXPECT_EQ(
              reader.records[1].sequence,
              static_cast<uint64_t>(popped < delay ? popped : popped - delay));
          EXPECT_EQ(reader.records[2].sequence, static_cast<uint64_t>(popped));
        }
      }
      EXPECT_GT(popped, 10);
    }
}

}  // namespace

TEST(DualReader, GivesTheFrameAndTheOneHalfAWindowBeforeOnHost) {
  check(Place::Host);
}

TEST(DualReader, GivesTheFrameAndTheOneHalfAWindowBeforeOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  check(Place::Device);
}

TEST(DualReader, GivesItsDocumentedExample) {
  Reader reader(Place::Host, 4);
  std::vector<std::array<int, 3>> seen;
  for (int frame = 0; frame < 4; ++frame) {
    ASSERT_TRUE(reader.push());
    ASSERT_EQ(reader.pop(), OpResult::Ok);
    seen.push_back({reader.current, reader.delayed, reader.valid});
    const bool gap = (reader.records[1].flags & core::FrameRecord::Gap) != 0;
    EXPECT_EQ(gap, frame == 0) << "zeros stand for a frame that never was";
  }
  using Seen = std::array<int, 3>;
  EXPECT_THAT(seen, ElementsAre(Seen{0, -1, 0}, Seen{1, 0, 0}, Seen{2, 1, 0}, Seen{3, 2, 1}));
}

TEST(DualReader, PassesFramesBetweenTwoThreads) {
  Reader reader(Place::Host, 5, 2);
  // One storage for input and outputs each: the sides share nothing but the task.
  constexpr int count = 3000;
  std::thread producer([&reader] {
    for (int i = 0; i < count; ++i)
      while (!reader.push())
        std::this_thread::yield();
    reader.task->end_of_input();
  });
  int popped = 0, wrong = 0;
  for (OpResult result = OpResult::Ok; result != OpResult::Eof;) {
    result = reader.pop();
    if (result == OpResult::NotReady)
      std::this_thread::yield();
    if (result != OpResult::Ok)
      continue;
    wrong += reader.current != popped || reader.delayed != std::max(popped - 2, -1);
    ++popped;
  }
  producer.join();
  EXPECT_EQ(popped, count);
  EXPECT_EQ(wrong, 0);
  const auto ledger = dynamic_cast<runtime::ILedgerSource &>(*reader.task).ledger_view();
  EXPECT_EQ(ledger.entered, static_cast<uint64_t>(count));
  EXPECT_EQ(ledger.left, static_cast<uint64_t>(count));
}

TEST(DualReader, StartsANewRunEmpty) {
  Reader reader(Place::Host, 3, 2);
  ASSERT_TRUE(reader.push());
  ASSERT_TRUE(reader.push());
  ASSERT_EQ(reader.pop(), OpResult::Ok);
  reader.task->end_of_input();
  reader.task->begin_run();
  EXPECT_EQ(reader.pop(), OpResult::NotReady);
  ASSERT_TRUE(reader.push());
  ASSERT_EQ(reader.pop(), OpResult::Ok);
  EXPECT_EQ(reader.delayed, -1) << "nothing of the run before";
}

TEST(DualReader, TellsItsOutputsAndMemory) {
  const core::InferResult infer =
      infer_task("DualReaderBatchQueue", {{"window_size", 4}}, {u8({1, 2, 2}, iota(4))});
  EXPECT_EQ(infer.optional_outputs, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(infer.output_descs[2], TDesc({1}, DType::U8, core::MemLoc::Host));
  EXPECT_EQ(infer.own_memory[0].bytes, (4u + 1 + 1) * 4) << "four, the delay, zeros";
  EXPECT_EQ(infer.window->capacity, 4u);
}

TEST(DualReader, RefusesSeveralFramesAtOnce) {
  EXPECT_EQ(
      refusal("DualReaderBatchQueue", {{"window_size", 4}}, {u8({2, 1, 1}, {0, 1})}),
      "input 0: expected one frame, [1, …], got U8 [2, 1, 1] on Host; add a \"BatchQueue\" node "
      "before it, which gives one at a time");
  EXPECT_THAT(
      refusal("DualReaderBatchQueue", nlohmann::json::object(), {u8({1, 1, 1}, {0})}),
      HasSubstr("window_size"));
}

}  // namespace holoflow::test
