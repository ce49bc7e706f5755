// SPDX-License-Identifier: LGPL-2.1-or-later
// SlidingAverage and CausalSlidingAverage: which frames a mean has, and that none leaves a trace.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/tasks/slot_harness.hh"

namespace holoflow::test {

using core::DType;
using core::OpResult;
using core::TDesc;
using ::testing::HasSubstr;

namespace {

using Values = std::vector<float>;

// Pushes tensors of frames one after the other and collects every mean.
class Averager {
public:
  Averager(
      Place place, const std::string &type, const nlohmann::json &params, const TDesc &frames,
      size_t flags = 0)
      : device_(device_at(place)), scope_(device_), stream_(device_) {
    inputs_.push_back(frames);
    if (flags > 0)
      inputs_.push_back(TDesc({flags}, DType::U8, frames.mem_loc));
    core::Registry &tasks = registry(place);
    if (type == "SlidingAverage") {
      const core::IAsyncTaskFactory &factory = tasks.get_async(type);
      infer = factory.infer(inputs_, params);
      core::AsyncCreateCtx ctx;
      ctx.device = device_.index();
      ctx.producer_stream = ctx.consumer_stream = stream_.get();
      async = factory.create(inputs_, params, ctx);
    } else {
      const core::ISyncTaskFactory &factory = tasks.get_sync(type);
      infer = factory.infer(inputs_, params);
      core::SyncCreateCtx ctx;
      ctx.device = device_.index();
      ctx.stream = stream_.get();
      sync_ = factory.create(inputs_, params, ctx);
    }
    for (const TDesc &desc : inputs_)
      add(desc);
    add(infer.output_descs[0]);
    begin_run();
  }

  void begin_run() {
    core::ITask *task = async.get();
    if (task == nullptr)
      task = sync_.get();
    task->begin_run();
    pushed_ = 0;
  }

  // `frames` as the bytes of the input lie; `valid` where there is a second input.
  void push(const Values &frames, const std::vector<uint8_t> &valid = {}) {
    write(0, frames.data(), frames.size() * sizeof(float));
    if (inputs_.size() > 1)
      write(1, valid.data(), valid.size());
    std::vector<core::TView> views;
    for (size_t i = 0; i < inputs_.size(); ++i)
      views.push_back({inputs_[i], &storages_[i]});
    core::TView output{infer.output_descs[0], &storages_.back()};
    if (sync_ != nullptr) {
      core::SyncCtx ctx{.inputs = views, .outputs = {&output, 1}};
      ASSERT_EQ(sync_->execute(ctx), OpResult::Ok);
      collect(output);
      return;
    }
    std::vector<core::FrameRecord> records(inputs_[0].rank() >= 3 ? inputs_[0].shape[0] : 1);
    for (core::FrameRecord &record : records)
      record.sequence = pushed_++;
    std::vector<std::span<core::FrameRecord>> spans(inputs_.size(), records);
    core::AsyncPushCtx ctx{.inputs = views, .input_records = spans};
    ASSERT_EQ(async->try_push(ctx), OpResult::Ok);
    while (pop() == OpResult::Ok) {
    }
  }

  OpResult pop() {
    core::TView output{infer.output_descs[0], &storages_.back()};
    core::FrameRecord record;
    std::span<core::FrameRecord> span(&record, 1);
    core::AsyncPopCtx ctx{.outputs = {&output, 1}, .output_records = {&span, 1}};
    const OpResult result = async->try_pop(ctx);
    if (result == OpResult::Ok) {
      collect(output);
      sequences.push_back(record.sequence);
    }
    return result;
  }

  core::InferResult infer;
  std::unique_ptr<core::IAsyncTask> async;
  Values means;
  std::vector<uint64_t> sequences;

private:
  void add(const TDesc &desc) {
    const size_t bytes = desc.offset + desc.num_bytes();
    blocks_.emplace_back(device_, desc.mem_loc, bytes);
    storages_.push_back({desc.mem_loc, bytes, blocks_.back().get()});
  }
  void write(size_t slot, const void *from, size_t bytes) {
    device_.copy(
        storages_[slot].ptr + inputs_[slot].offset, inputs_[slot].mem_loc,
        static_cast<const std::byte *>(from), core::MemLoc::Host, bytes, stream_.get());
    device_.synchronize(stream_.get());
  }
  void collect(const core::TView &view) {
    Values values(view.desc.num_elements());
    device_.copy(
        reinterpret_cast<std::byte *>(values.data()), core::MemLoc::Host, view.data(),
        view.desc.mem_loc, values.size() * sizeof(float), stream_.get());
    device_.synchronize(stream_.get());
    means.insert(means.end(), values.begin(), values.end());
  }

  runtime::Device &device_;
  runtime::DeviceScope scope_;
  runtime::Stream stream_;
  std::vector<TDesc> inputs_;
  std::vector<runtime::MemoryBlock> blocks_;
  std::vector<core::Storage> storages_;
  std::unique_ptr<core::ISyncTask> sync_;
  uint64_t pushed_ = 0;
};

struct Case {
  std::string name;
  std::string type;
  nlohmann::json params;
  std::vector<size_t> shape;
  std::vector<Values> pushes;
  Values means;
  std::vector<std::vector<uint8_t>> valid = {};
};

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();
const char *const full = "SlidingAverage";
const char *const causal = "CausalSlidingAverage";

const std::vector<Case> cases = {
    {"full windows only", full, {{"window_size", 3}}, {1, 1, 1}, {{1}, {2}, {6}, {4}}, {3, 4}},
    {"one frame", full, {{"window_size", 1}}, {1, 1, 1}, {{1}, {2}}, {1, 2}},
    {"several frames a push",
     full,
     {{"window_size", 3}},
     {2, 1, 1},
     {{1, 2}, {6, 4}, {2, 0}},
     {3, 4, 4, 2}},
    {"element by element", full, {{"window_size", 2}}, {1, 1, 2}, {{1, 10}, {3, 30}}, {2, 20}},
    {"a matrix is one frame", full, {{"window_size", 2}}, {1, 2}, {{1, 10}, {3, 30}}, {2, 20}},
    {"never full", full, {{"window_size", 3}}, {1, 1, 1}, {{1}, {2}}, {}},
    {"discards the first",
     full,
     {{"window_size", 2}, {"discard_first", 1}},
     {1, 1, 1},
     {{100}, {2}, {4}},
     {3}},
    {"leaves invalid frames out",
     full,
     {{"window_size", 2}},
     {1, 1, 1},
     {{1}, {100}, {3}, {5}},
     {2, 4},
     {{1}, {0}, {1}, {7}}},
    {"discards valid frames",
     full,
     {{"window_size", 2}, {"discard_first", 1}},
     {2, 1, 1},
     {{100, 1}, {3, 200}, {5, 7}},
     {4, 6},
     {{0, 1}, {1, 0}, {1, 1}}},
    {"a NaN leaves with its frame",
     full,
     {{"window_size", 2}},
     {1, 1, 1},
     {{1}, {nan}, {3}, {5}, {inf}, {1}, {2}},
     {nan, nan, 4, inf, inf, 1.5}},
    {"no drift", full, {{"window_size", 2}}, {1, 1, 1}, {{1e30F}, {1}, {1}}, {5e29F, 1}},
    {"fewer at the beginning",
     causal,
     {{"window_size", 3}},
     {1, 1, 1},
     {{1}, {3}, {5}, {7}, {0}},
     {1, 2, 3, 5, 4}},
    {"several frames a tensor",
     causal,
     {{"window_size", 3}},
     {2, 1, 1},
     {{1, 3}, {5, 7}},
     {1, 2, 3, 5}},
    {"more frames than the window",
     causal,
     {{"window_size", 2}},
     {4, 1, 1},
     {{1, 3, 5, 7}},
     {1, 2, 4, 6}},
    {"a causal NaN leaves with its frame",
     causal,
     {{"window_size", 2}},
     {1, 1, 1},
     {{nan}, {1}, {3}},
     {nan, nan, 2}},
    {"no causal drift",
     causal,
     {{"window_size", 2}},
     {1, 1, 1},
     {{1e30F}, {1}, {1}},
     {1e30F, 5e29F, 1}},
    {"a causal matrix", causal, {{"window_size", 2}}, {1, 2}, {{1, 10}, {3, 30}}, {1, 10, 2, 20}},
};

void check(Place place) {
  for (const Case &test : cases) {
    SCOPED_TRACE(test.name);
    Averager averager(
        place, test.type, test.params, TDesc(test.shape, DType::F32, loc_at(place)),
        test.valid.empty() ? 0 : test.valid[0].size());
    for (int run = 0; run < 2; ++run) {  // the second begins anew
      averager.means.clear();
      for (size_t i = 0; i < test.pushes.size(); ++i)
        averager.push(test.pushes[i], test.valid.empty() ? std::vector<uint8_t>() : test.valid[i]);
      if (averager.async != nullptr) {
        averager.async->end_of_input();
        EXPECT_EQ(averager.pop(), OpResult::Eof);
        const auto ledger = dynamic_cast<runtime::ILedgerSource &>(*averager.async).ledger_view();
        EXPECT_EQ(ledger.entered, ledger.left + ledger.skipped + ledger.dropped);
        EXPECT_EQ(ledger.entered, test.pushes.size() * (test.shape.size() < 3 ? 1 : test.shape[0]));
      }
      ASSERT_EQ(averager.means.size(), test.means.size());
      for (size_t i = 0; i < test.means.size(); ++i) {
        if (std::isnan(test.means[i])) {
          EXPECT_TRUE(std::isnan(averager.means[i])) << i;
        } else {
          EXPECT_EQ(averager.means[i], test.means[i]) << i;
        }
      }
      averager.begin_run();
    }
  }
}

}  // namespace

TEST(Sliding, AveragesTheFramesThatItSaysOnHost) {
  check(Place::Host);
}

TEST(Sliding, AveragesTheFramesThatItSaysOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  check(Place::Device);
}

// More elements than a block has threads, or the Host loop sums at once; a view with gaps.
TEST(Sliding, AveragesLargeFramesAndViews) {
  for (const Place place : {Place::Host, Place::Device}) {
    if (place == Place::Device && !have_gpu())
      continue;
    for (const char *type : {full, causal}) {
      constexpr size_t pixels = 3001;
      const TDesc view({2, 1, pixels}, DType::F32, loc_at(place), {8 * pixels, 8 * pixels, 8}, 4);
      Averager averager(place, type, {{"window_size", 2}}, view);
      Values memory(view.num_bytes() / sizeof(float));
      for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<float>(i % 2 == 0 ? i / 2 : 1000000);
      averager.push(memory);
      ASSERT_EQ(averager.means.size(), (type == full ? 1 : 2) * pixels);
      const size_t last = averager.means.size() - pixels;
      for (size_t i = 0; i < pixels; ++i)
        ASSERT_EQ(averager.means[last + i], static_cast<float>(2 * i + pixels) / 2) << i;
    }
  }
}

TEST(Sliding, GivesAMeanTheNewestRecord) {
  Averager averager(
      Place::Host, full, {{"window_size", 3}}, TDesc({2, 1, 1}, DType::F32, core::MemLoc::Host));
  averager.push({1, 2});
  averager.push({3, 4});
  EXPECT_EQ(averager.sequences, (std::vector<uint64_t>{2, 3}));
}

TEST(Sliding, TellsItsWindowAndMemory) {
  const core::InferResult infer = infer_task(full, {{"window_size", 5}}, {f32({2, 1, 3}, iota(6))});
  ASSERT_TRUE(infer.window.has_value());
  EXPECT_EQ(infer.window->frames_in, 2u);
  EXPECT_EQ(infer.window->size, 5u);
  EXPECT_EQ(infer.window->stride, 1u);
  EXPECT_EQ(infer.own_memory[0].bytes, infer.window->capacity * 3 * sizeof(float));
  EXPECT_EQ(infer.output_descs[0], TDesc({1, 1, 3}, DType::F32, core::MemLoc::Host));
  EXPECT_FALSE(infer.window->drops);
  EXPECT_EQ(
      infer_task(causal, {{"window_size", 5}}, {f32({2, 1, 3}, iota(6))}).own_memory[0].bytes,
      5u * 3 * sizeof(float));
}

TEST(Sliding, RefusesWhatItCannotAverage) {
  const Array frames = f32({2, 1, 1}, {0, 1});
  for (const char *type : {full, causal}) {
    EXPECT_THAT(refusal(type, nlohmann::json::object(), {frames}), HasSubstr("window_size"));
    EXPECT_THAT(refusal(type, {{"window_size", 0}}, {frames}), HasSubstr("window_size"));
    EXPECT_THAT(refusal(type, {{"window_size", 2}}, {u8({1, 1, 1}, {0})}), HasSubstr("F32"));
    EXPECT_THAT(
        refusal(type, {{"window_size", 2}}, {f32({0, 1, 1}, {})}),
        HasSubstr("input 0: expected at least one frame"));
    EXPECT_THAT(
        refusal(type, {{"window_size", 1LL << 40}}, {frames}),
        HasSubstr("expected at most 1073741824 frames, got 1099511627776"));
  }
  EXPECT_THAT(
      refusal(full, {{"window_size", 2}}, {frames, u8({3}, {1, 1, 1})}),
      HasSubstr("input 1: expected one packed flag or 2, one per frame of input 0, got U8 [3]"));
}

}  // namespace holoflow::test
