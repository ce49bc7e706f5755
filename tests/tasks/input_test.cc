// SPDX-License-Identifier: LGPL-2.1-or-later
// Input called as the scheduler and an application call it.
#include "holoflow/tasks/input_output/input_task.hh"

#include <gmock/gmock.h>

#include <numeric>
#include <thread>

#include "holoflow/tasks/task_spec.hh"
#include "tests/tasks/frames.hh"
#include "tests/tasks/slot_harness.hh"

namespace holoflow::test {

using core::DType;
using core::FrameRecord;
using core::MemLoc;
using core::OpResult;
using core::TDesc;
using runtime::InputFrames;
using PushResult = runtime::IFrameInput::PushResult;
using tasks::InputTask;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

// Pushed memory that counts its releases.
struct Pushed {
  std::vector<uint8_t> bytes;
  std::shared_ptr<std::atomic<int>> releases = std::make_shared<std::atomic<int>>(0);

  explicit Pushed(size_t size, int first = 0) : bytes(size) {
    std::iota(bytes.begin(), bytes.end(), static_cast<uint8_t>(first));
  }
  [[nodiscard]] const std::byte *data() const {
    return reinterpret_cast<const std::byte *>(bytes.data());
  }
  [[nodiscard]] InputFrames tensor(const TDesc &desc, std::vector<FrameRecord> records = {}) const {
    InputFrames frames;
    frames.data = data();
    frames.desc = desc;
    frames.records = std::move(records);
    frames.release = [count = releases] { ++*count; };
    return frames;
  }
  [[nodiscard]] InputFrames picture(
      const std::string &format, size_t width, size_t height, size_t stride) const {
    InputFrames frames;
    frames.picture.format = format;
    frames.picture.width = width;
    frames.picture.height = height;
    frames.picture.planes[0] = {data(), stride};
    frames.release = [count = releases] { ++*count; };
    return frames;
  }
};

// An Input with the storage, records and calls of a section around it.
class InputDriver {
public:
  explicit InputDriver(TDesc tensor, bool owner = true)
      : task(tensor, owner, runtime::host_device()), owner_(owner), memory_(tensor.num_bytes()),
        records(tensor.rank() >= 3 ? tensor.shape[0] : 1) {
    task.bind_storage_access(&slots);
    if (!owner)
      slots.output = {MemLoc::Host, memory_.size(), memory_.data()};
    task.begin_run();
  }

  OpResult execute() {
    core::TView view{task.tensor(), &slots.output};
    std::span<FrameRecord> span(records);
    core::SyncCtx ctx{
        .inputs = {}, .outputs = {&view, 1}, .cancelled = &cancelled, .output_records = {&span, 1}};
    const OpResult result = task.execute(ctx);
    if (result == OpResult::Ok) {
      const auto *data = reinterpret_cast<const uint8_t *>(view.data());
      bytes.assign(data, data + task.tensor().num_bytes());
    }
    return result;
  }
  void release() {
    if (owner_)
      task.release_output(0);
  }

  FakeSlots slots;
  InputTask task;
  std::atomic<bool> cancelled = false;
  std::vector<uint8_t> bytes;

private:
  bool owner_;
  std::vector<std::byte> memory_;

public:
  std::vector<FrameRecord> records;
};

}  // namespace

TEST(Input, BorrowsAPackedPictureUntilTheOutputIsReleased) {
  InputDriver input(grey(1));
  const Pushed pushed(6);
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  ASSERT_EQ(input.execute(), OpResult::Ok);
  EXPECT_EQ(input.slots.output.ptr, pushed.data());
  EXPECT_EQ(*pushed.releases, 0);
  input.release();
  EXPECT_EQ(*pushed.releases, 1);
  EXPECT_EQ(input.slots.output.ptr, nullptr);
}

TEST(Input, BorrowsALumaPlaneAndAPackedTensorOfManyFrames) {
  InputDriver one(grey(1)), many(grey(3));
  const Pushed luma(9), tensor(18);
  ASSERT_EQ(one.task.push(luma.picture("NV12", 3, 2, 3)), PushResult::Ok);
  ASSERT_EQ(one.execute(), OpResult::Ok);
  EXPECT_EQ(one.slots.output.ptr, luma.data());
  ASSERT_EQ(
      many.task.push(tensor.tensor(grey(3), {numbered(7), numbered(8), numbered(9)})),
      PushResult::Ok);
  ASSERT_EQ(many.execute(), OpResult::Ok);
  EXPECT_EQ(many.slots.output.ptr, tensor.data());
  EXPECT_THAT(sequences(many.records), ElementsAre(0, 1, 2)) << "numbered by the Input";
  EXPECT_EQ(many.records[2].pts_ns, 360);
}

TEST(Input, CopiesStridedPicturesAndGivesThemBackAtOnce) {
  InputDriver input(grey(1));
  const Pushed pushed(8);
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 4)), PushResult::Ok);
  ASSERT_EQ(input.execute(), OpResult::Ok);
  EXPECT_EQ(*pushed.releases, 1);
  EXPECT_THAT(input.bytes, ElementsAre(0, 1, 2, 4, 5, 6));
  EXPECT_NE(input.slots.output.ptr, nullptr);
  input.release();
  EXPECT_EQ(*pushed.releases, 1);
}

TEST(Input, CopiesStridedTensorsAndMisalignedOnes) {
  InputDriver rows(grey(1));
  const Pushed pushed(12);
  ASSERT_EQ(
      rows.task.push(pushed.tensor(TDesc({1, 2, 3}, DType::U8, MemLoc::Host, {12, 6, 2}))),
      PushResult::Ok);
  ASSERT_EQ(rows.execute(), OpResult::Ok);
  EXPECT_THAT(rows.bytes, ElementsAre(0, 2, 4, 6, 8, 10));

  const TDesc floats({1, 1, 2}, DType::F32, MemLoc::Host);
  InputDriver aligned(floats);
  std::vector<std::byte> memory(16);
  InputFrames frames;
  frames.data = memory.data() + 1;
  frames.desc = floats;
  ASSERT_EQ(aligned.task.push(std::move(frames)), PushResult::Ok);
  ASSERT_EQ(aligned.execute(), OpResult::Ok);
  EXPECT_NE(aligned.slots.output.ptr, memory.data() + 1);
}

TEST(Input, WritesIntoTheOwnersMemoryWhereItYielded) {
  InputDriver input(grey(1), false);
  std::byte *memory = input.slots.output.ptr;
  const Pushed pushed(6, 10);
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  ASSERT_EQ(input.execute(), OpResult::Ok);
  EXPECT_EQ(input.slots.output.ptr, memory);
  EXPECT_THAT(input.bytes, ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_EQ(*pushed.releases, 1);
  EXPECT_THROW(input.task.release_output(0), std::out_of_range);
}

TEST(Input, FillsBatchesAndPadsTheLast) {
  InputDriver input(grey(3, 1, 2));
  const Pushed a(2, 0), b(2, 10), c(4, 20), d(2, 30);
  ASSERT_EQ(input.task.push(a.picture("GRAY8", 2, 1, 2)), PushResult::Ok);
  ASSERT_EQ(input.task.push(c.tensor(grey(2, 1, 2), {numbered(5), numbered(6)})), PushResult::Ok);
  ASSERT_EQ(input.execute(), OpResult::Ok);
  EXPECT_THAT(input.bytes, ElementsAre(0, 1, 20, 21, 22, 23));
  EXPECT_THAT(sequences(input.records), ElementsAre(0, 1, 2));
  EXPECT_EQ(*a.releases + *c.releases, 2);
  input.release();

  ASSERT_EQ(input.task.push(b.picture("GRAY8", 2, 1, 2)), PushResult::Ok);
  ASSERT_EQ(input.task.push(d.picture("GRAY8", 2, 1, 2)), PushResult::Ok);
  input.task.end();
  ASSERT_EQ(input.execute(), OpResult::Ok);
  EXPECT_THAT(input.bytes, ElementsAre(10, 11, 30, 31, 30, 31));
  EXPECT_THAT(sequences(input.records), ElementsAre(3, 4, 4));
  EXPECT_EQ(input.records[1].flags, FrameRecord::None);
  EXPECT_EQ(input.records[2].flags, FrameRecord::Padding);
  input.release();
  EXPECT_EQ(input.execute(), OpResult::Eof);
  EXPECT_EQ(input.task.frames_entered(), 5u);
  EXPECT_EQ(input.task.ledger_view().left, 5u);
}

TEST(Input, SplitsAPushThatIsLongerThanABatch) {
  InputDriver input(grey(2, 1, 1));
  const Pushed pushed(5);
  ASSERT_EQ(input.task.push(pushed.tensor(grey(5, 1, 1))), PushResult::Ok);
  input.task.end();
  std::vector<uint8_t> seen;
  while (input.execute() == OpResult::Ok) {
    seen.insert(seen.end(), input.bytes.begin(), input.bytes.end());
    input.release();
  }
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 4));
  EXPECT_EQ(*pushed.releases, 1);
}

TEST(Input, IsReadyWhenItsTensorIsComplete) {
  InputDriver input(grey(2, 1, 1));
  EXPECT_FALSE(input.task.ready());
  const Pushed pushed(1);
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 1, 1, 1)), PushResult::Ok);
  EXPECT_FALSE(input.task.ready()) << "execute would wait for the second frame";
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 1, 1, 1)), PushResult::Ok);
  EXPECT_TRUE(input.task.ready());
}

TEST(Input, PushWaitsForRoomAndPassesEverythingInOrder) {
  InputDriver input(grey(1, 1, 1));
  constexpr int count = 3000;
  std::atomic<int> released = 0;
  std::vector<uint8_t> bytes(count);
  for (int i = 0; i < count; ++i)
    bytes[i] = static_cast<uint8_t>(i % 251);
  std::thread application([&] {
    for (int i = 0; i < count; ++i) {
      InputFrames frames;
      frames.data = reinterpret_cast<const std::byte *>(&bytes[i]);
      frames.desc = grey(1, 1, 1);
      frames.release = [&released] { ++released; };
      EXPECT_EQ(input.task.push(std::move(frames)), PushResult::Ok);
    }
    input.task.end();
  });
  int seen = 0, wrong = 0;
  while (input.execute() == OpResult::Ok) {
    wrong += input.bytes[0] != bytes[seen];
    wrong += input.records[0].sequence != static_cast<uint64_t>(seen);
    ++seen;
    input.release();
  }
  application.join();
  EXPECT_EQ(seen, count);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(released, count);
}

TEST(Input, InterruptEndsAWaitingPushAndAWaitingExecute) {
  const Pushed pushed(6);
  {
    InputDriver input(grey(1));
    std::thread section([&input] { EXPECT_EQ(input.execute(), OpResult::Cancelled); });
    input.cancelled = true;
    input.task.interrupt();
    section.join();
  }
  InputDriver input(grey(1));
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  std::thread application(
      [&] { EXPECT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Stopped); });
  input.task.interrupt();
  application.join();
  EXPECT_EQ(*pushed.releases, 1) << "released unread";
  input.task.end_of_section(false);
  EXPECT_EQ(*pushed.releases, 3);
  const runtime::NodeLedgerView ledger = input.task.ledger_view();
  EXPECT_EQ(ledger.entered, 2u);
  EXPECT_EQ(ledger.dropped, 2u);
  EXPECT_EQ(ledger.dropped_reason, "stopped");
}

TEST(Input, PushAnswersClosedAfterTheEndAndAfterTheSection) {
  const Pushed pushed(6);
  InputDriver ended(grey(1));
  ended.task.end();
  EXPECT_EQ(ended.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Closed);

  InputDriver gone(grey(1));
  ASSERT_EQ(gone.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  ASSERT_EQ(gone.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  std::thread application(
      [&] { EXPECT_EQ(gone.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Closed); });
  gone.task.end_of_section(true);
  application.join();
  EXPECT_EQ(*pushed.releases, 4);
}

TEST(Input, GivesBackABorrowWhoseIterationDidNotComplete) {
  InputDriver input(grey(1));
  const Pushed pushed(6);
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  ASSERT_EQ(input.execute(), OpResult::Ok);
  input.task.end_of_section(false);
  EXPECT_EQ(*pushed.releases, 1);
  EXPECT_EQ(input.slots.output.ptr, nullptr);
}

TEST(Input, FramesOfATensorThatWasNeverFilledAreDropped) {
  InputDriver input(grey(3));
  const Pushed pushed(6);
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  std::jthread stopper([&input, &pushed] {
    while (*pushed.releases == 0)
      std::this_thread::yield();
    input.task.interrupt();
  });
  EXPECT_EQ(input.execute(), OpResult::Cancelled);
  input.task.end_of_section(false);
  const auto ledger = input.task.ledger_view();
  EXPECT_EQ(ledger.entered, 1u);
  EXPECT_EQ(ledger.left, 0u);
  EXPECT_EQ(ledger.dropped, 1u);
  EXPECT_EQ(ledger.held, 0u);
}

TEST(Input, StartsANewRunWithSequenceZero) {
  InputDriver input(grey(1));
  const Pushed pushed(6);
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  ASSERT_EQ(input.execute(), OpResult::Ok);
  input.release();
  input.task.end();
  ASSERT_EQ(input.execute(), OpResult::Eof);
  input.task.end_of_section(true);
  input.task.begin_run();
  ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  ASSERT_EQ(input.execute(), OpResult::Ok);
  EXPECT_EQ(input.records[0].sequence, 0u);
  input.release();
}

TEST(Input, TakesFramesBeforeTheFirstRun) {
  InputTask task(grey(1), true, runtime::host_device());
  FakeSlots slots;
  task.bind_storage_access(&slots);
  const Pushed pushed(6);
  ASSERT_EQ(task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
  task.end();
  task.begin_run();
  core::TView view{grey(1), &slots.output};
  core::SyncCtx ctx{.inputs = {}, .outputs = {&view, 1}};
  EXPECT_EQ(task.execute(ctx), OpResult::Ok);
  task.release_output(0);
  EXPECT_EQ(task.execute(ctx), OpResult::Eof);
}

TEST(Input, RefusesFramesThatDoNotFitAndGivesThemBack) {
  InputDriver input(grey(1));
  const Pushed pushed(12);
  const auto refused = [&](InputFrames frames) {
    try {
      (void)input.task.push(std::move(frames));
    } catch (const std::invalid_argument &error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(
      refused(pushed.tensor(grey(1, 2, 4))),
      "push: expected one or more frames of U8 [1, 2, 3] on Host, got U8 [1, 2, 4] on Host");
  EXPECT_EQ(refused(pushed.picture("GRAY8", 4, 2, 4)), "expected a picture of 3x2, got GRAY8 4x2");
  InputFrames nothing;
  nothing.desc = grey(1);
  EXPECT_THAT(refused(std::move(nothing)), HasSubstr("got a null pointer"));
  EXPECT_EQ(
      refused(pushed.tensor(grey(2), std::vector<FrameRecord>(3))),
      "push: expected at most one record for each frame, 2 in all, got 3");
  InputFrames picture = pushed.picture("GRAY8", 3, 2, 3);
  picture.records.resize(2);
  EXPECT_THAT(refused(std::move(picture)), HasSubstr("1 in all, got 2"));
  EXPECT_EQ(*pushed.releases, 4);
  EXPECT_EQ(refused(pushed.tensor(grey(2), std::vector<FrameRecord>(1))), "accepted");
}

TEST(Input, GivesBackEverythingWhenItDies) {
  const Pushed pushed(6);
  {
    InputDriver input(grey(1));
    for (int i = 0; i < 2; ++i)
      ASSERT_EQ(input.task.push(pushed.picture("GRAY8", 3, 2, 3)), PushResult::Ok);
    ASSERT_EQ(input.execute(), OpResult::Ok);
  }
  EXPECT_EQ(*pushed.releases, 2);
}

TEST(Input, InferenceNeedsTheTensorThatOnePushBrings) {
  EXPECT_THAT(
      refusal("Input", {}, {}),
      HasSubstr("got none; holoflowbin takes it from its caps, a program sets "
                "Config::inputs"));
}

namespace {

core::InferResult infer_input(const TDesc &tensor, const nlohmann::json &params) {
  const auto &factory =
      dynamic_cast<const tasks::IContextualFactory &>(registry(Place::Host).get("Input"));
  const std::map<std::string, TDesc> inputs{{"cam", tensor}};
  tasks::InferContext context;
  context.node_name = "cam";
  context.graph_inputs = &inputs;
  return factory.infer_in(context, {}, params);
}

std::string input_refusal(const TDesc &tensor, const nlohmann::json &params) {
  try {
    (void)infer_input(tensor, params);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST(Input, TakesItsTensorFromTheContextAndMultipliesItByBatch) {
  EXPECT_EQ(infer_input(grey(1), {}).output_descs[0], grey(1));
  EXPECT_EQ(infer_input(grey(1), {{"batch", 4}}).output_descs[0], grey(4));
  EXPECT_EQ(infer_input(grey(2), {{"batch", 4}}).output_descs[0], grey(8));
  const core::InferResult infer = infer_input(grey(1), {{"as", "GRAY"}});
  EXPECT_TRUE(infer.yields_ownership);
  EXPECT_EQ(infer.owned_outputs, std::vector<bool>{true});
  EXPECT_EQ(infer.const_outputs, std::vector<bool>{true});
  EXPECT_EQ(infer.writes_records, std::vector<bool>{true});
}

TEST(Input, FramesOfThreeOrFourValuesPerPixelAreColour) {
  const auto channel_axis = [](const TDesc &tensor) -> std::optional<int> {
    const auto media = infer_input(tensor, {}).output_descs[0].media;
    return media ? media->channel_axis : std::nullopt;
  };
  const auto host = [](std::vector<size_t> shape) {
    return TDesc(std::move(shape), DType::U8, MemLoc::Host);
  };
  EXPECT_EQ(channel_axis(host({1, 8, 8, 3})), 3);
  EXPECT_EQ(channel_axis(host({2, 8, 8, 4})), 3);
  EXPECT_EQ(channel_axis(host({1, 8, 8, 5})), std::nullopt);
  EXPECT_EQ(channel_axis(host({1, 8, 3})), std::nullopt) << "a picture three pixels wide";
  TDesc told = host({1, 8, 8, 3});
  told.media = core::MediaInfo{.channel_axis = 1};
  EXPECT_EQ(channel_axis(told), 1);
}

TEST(Input, CallsFloatsAPictureOnlyWhereTheyAreSaidToBeOne) {
  const auto channel_axis = [](const TDesc &tensor, const nlohmann::json &as) {
    const auto media = infer_input(tensor, {{"as", as}}).output_descs[0].media;
    return media ? media->channel_axis : std::nullopt;
  };
  for (const DType dtype : {DType::F32, DType::CF32}) {
    TDesc tensor({2, 5, 6, 4}, dtype, MemLoc::Host);
    EXPECT_EQ(channel_axis(tensor, nullptr), std::nullopt);
    EXPECT_EQ(channel_axis(tensor, "RGBA"), 3);
    tensor.media = core::MediaInfo{.channel_axis = 3};
    EXPECT_EQ(channel_axis(tensor, nullptr), 3) << "a TIFF file's colours";
  }
}

TEST(Input, MakesNoPictureOfWhatIsCalledATensor) {
  for (const DType dtype : {DType::U8, DType::U16}) {
    const TDesc tensor({1, 5, 6, 3}, dtype, MemLoc::Host);
    EXPECT_EQ(infer_input(tensor, {{"as", "TENSOR"}}).output_descs[0].media, std::nullopt);
  }
  TDesc picture({1, 5, 6, 3}, DType::U8, MemLoc::Host);
  picture.media = core::MediaInfo{.pixel_format = "BGR", .channel_axis = 3, .records = 1};
  const auto media = infer_input(picture, {{"as", "TENSOR"}}).output_descs[0].media;
  ASSERT_TRUE(media.has_value());
  EXPECT_EQ(media->channel_axis, std::nullopt);
  EXPECT_EQ(media->pixel_format, "");
  EXPECT_EQ(media->records, 1u);
}

TEST(Input, RefusesWhatDoesNotFitItsParams) {
  const TDesc colour({1, 2, 3, 4}, DType::U8, MemLoc::Host);
  EXPECT_THAT(
      input_refusal(colour, {{"as", "GRAY"}}),
      HasSubstr("expected [N, H, W] for \"as\": \"GRAY\", got U8 [1, 2, 3, 4] on Host"));
  EXPECT_THAT(input_refusal(grey(1), {{"as", "RGB"}}), HasSubstr("expected [N, H, W, 3]"));
  EXPECT_THAT(input_refusal(grey(1), {{"as", "YUV"}}), HasSubstr("not available yet"));
  EXPECT_THAT(
      input_refusal(TDesc({2, 3}, DType::U8, MemLoc::Host), {{"batch", 2}}),
      HasSubstr("expected frames of rank 3 or more for \"batch\": 2, got U8 [2, 3]"));
  EXPECT_THAT(
      input_refusal(TDesc({1, 2, 3}, DType::U8, MemLoc::Device), {}),
      HasSubstr("expected a tensor on Host, got U8 [1, 2, 3] on Device"));
  EXPECT_THAT(
      input_refusal(TDesc({1, 0, 3}, DType::U8, MemLoc::Host), {}),
      HasSubstr("expected a tensor of at least one element, got U8 [1, 0, 3] on Host"));
}

}  // namespace holoflow::test
