// SPDX-License-Identifier: LGPL-2.1-or-later
// Slice: views by NumPy's rules (N20), records of the frames it shows, annotation, refusals.
#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using nlohmann::json;

json slices(const char *text) {
  return {{"slices", json::parse(text)}};
}

const Array cube = f32({3, 4, 5}, iota(60));

std::vector<TaskVector> vectors() {
  return {
      {"N20",
       "Slice",
       slices(R"([{"start": 1, "stop": 3}, 2, {"step": 2}])"),
       {cube},
       {f32({2, 3}, {30, 32, 34, 50, 52, 54})}},
      {"whole", "Slice", slices("[{}, {}, {}]"), {cube}, {cube}},
      {"from the end", "Slice", slices(R"([-1, -2, {"start": -2}])"), {cube}, {f32({2}, {53, 54})}},
      {"clamped",
       "Slice",
       slices(R"([{"start": -99, "stop": 99}])"),
       {u8({3}, {1, 2, 3})},
       {u8({3}, {1, 2, 3})}},
      {"negative stop",
       "Slice",
       slices(R"([{"stop": -1, "step": 2}])"),
       {u16({5}, {1, 2, 3, 4, 5})},
       {u16({2}, {1, 3})}},
      {"a step beyond the end",
       "Slice",
       slices(R"([{"start": 1, "step": 9223372036854775807}])"),
       {cf32({3}, {{1, 1}, {2, 2}, {3, 3}})},
       {cf32({1}, {{2, 2}})}},
      {"nulls are defaults",
       "Slice",
       slices(R"([{"start": null, "stop": null, "step": null}])"),
       {u8({2}, {1, 2})},
       {u8({2}, {1, 2})}},
      {"of a view",
       "Slice",
       slices(R"([1, {"start": 1}])"),
       {scattered(u8({2, 3}, iota(6)))},
       {u8({2}, {4, 5})}},
      {"to rank 0", "Slice", slices("[1]"), {u8({3}, {7, 8, 9})}, {u8({}, {8})}},
      {"rank 0", "Slice", slices("[]"), {u8({}, {7})}, {u8({}, {7})}},
      {"empty",
       "Slice",
       slices(R"([{"start": 2, "stop": 1}, {}])"),
       {u8({3, 2}, iota(6))},
       {u8({0, 2}, {})}},
      {"behind the end", "Slice", slices(R"([{"start": 3}])"), {u8({3}, iota(3))}, {u8({0}, {})}},
  };
}

TEST(Slice, GivesItsVectorsOnHost) {
  check_vectors(Place::Host, vectors());
}
TEST(Slice, GivesItsVectorsOnCuda) {
  check_vectors(Place::Device, vectors());
}

TEST(Slice, DescribesTheViewOfN20InBytes) {
  const core::InferResult infer =
      infer_task("Slice", slices(R"([{"start": 1, "stop": 3}, 2, {"step": 2}])"), {cube});
  const core::TDesc &view = infer.output_descs[0];
  EXPECT_EQ(view.shape, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(view.strides, (std::vector<size_t>{80, 8}));
  EXPECT_EQ(view.offset, 120u);
  EXPECT_EQ(view.num_bytes(), 100u);
}

TEST(Slice, IsAViewThatIsNeverWrittenThrough) {
  const core::InferResult infer = infer_task("Slice", slices("[{}, 0, {}]"), {cube});
  ASSERT_EQ(infer.in_place.size(), 1u);
  EXPECT_TRUE(infer.in_place[0].required);
  EXPECT_FALSE(infer.in_place[0].writes);
  EXPECT_TRUE(infer.capturable);
}

TEST(Slice, StartsAnEmptyViewInsideItsStorage) {
  const auto infer = infer_task("Slice", slices(R"([0, {"start": 4}, 4])"), {cube});
  EXPECT_EQ(infer.output_descs[0].num_bytes(), 0u);
  EXPECT_EQ(infer.output_descs[0].offset, 0u);
}

std::vector<uint64_t> sequences(const TaskRun &run) {
  std::vector<uint64_t> numbers;
  for (const core::FrameRecord &record : run.output_records.at(0))
    numbers.push_back(record.sequence);
  return numbers;
}

TEST(Slice, PassesOnTheRecordsOfTheFramesItShows) {
  const Array frames = u8({6, 1, 2}, iota(12));
  const TaskRun run =
      run_task(Place::Host, "Slice", slices(R"([{"start": 1, "step": 2}, {}, {}])"), {frames});
  EXPECT_EQ(run.infer.writes_records, std::vector<bool>{true});
  EXPECT_FALSE(run.infer.capturable);
  EXPECT_EQ(sequences(run), (std::vector<uint64_t>{1, 3, 5}));
}

TEST(Slice, MakesOneFrameOfAnIndexedFrameAxis) {
  const Array colour = u8({4, 2, 2, 3}, iota(48)).with_channel_axis(3);
  const TaskRun run = run_task(Place::Host, "Slice", slices("[2, {}, {}, {}]"), {colour});
  ASSERT_TRUE(run.infer.output_descs[0].media);
  EXPECT_EQ(run.infer.output_descs[0].media->records, 1u);
  EXPECT_EQ(run.infer.output_descs[0].media->channel_axis, 2);
  EXPECT_EQ(sequences(run), (std::vector<uint64_t>{2}));
}

TEST(Slice, LeavesRecordsAloneWhereItKeepsAllFrames) {
  const Array frames = u8({2, 2, 2}, iota(8));
  EXPECT_EQ(
      infer_task("Slice", slices(R"([{}, {"stop": 1}, {}])"), {frames}).writes_records,
      std::vector<bool>{false});
  const auto rows = infer_task("Slice", slices("[{}, 0, {}]"), {frames});
  EXPECT_EQ(rows.writes_records, std::vector<bool>{false});
  ASSERT_TRUE(rows.output_descs[0].media);
  EXPECT_EQ(rows.output_descs[0].media->records, 1u);
}

TEST(Slice, DropsThePixelFormatOnlyWhereTheChannelsAreCut) {
  core::MediaInfo info;
  info.pixel_format = "RGB";
  info.channel_axis = 3;
  const Array colour = u8({1, 2, 2, 3}, iota(12)).with_media(info);
  const auto crop = infer_task("Slice", slices(R"([{}, {"stop": 1}, {}, {}])"), {colour});
  EXPECT_EQ(crop.output_descs[0].media->pixel_format, "RGB");
  EXPECT_EQ(crop.output_descs[0].media->channel_axis, 3);
  const auto red = infer_task("Slice", slices("[{}, {}, {}, 0]"), {colour});
  EXPECT_EQ(red.output_descs[0].media->pixel_format, "");
  EXPECT_FALSE(red.output_descs[0].media->channel_axis);
}

TEST(Slice, RefusesEntriesThatDoNotFit) {
  EXPECT_EQ(
      refusal("Slice", {}, {cube}),
      "param \"slices\" is required: expected an array of integers and {\"start\", \"stop\", "
      "\"step\"} objects (one per axis: an index, or {start, stop, step > 0}; {} = whole)");
  EXPECT_EQ(
      refusal("Slice", slices("[0, 1]"), {cube}),
      "param \"slices\": expected 3 entries, one per axis of F32 [3, 4, 5] on Host, got 2; {} "
      "takes a whole axis");
  EXPECT_EQ(
      refusal("Slice", slices("[{}, 4, {}]"), {cube}),
      "param \"slices\"[1]: expected an index from -4 to 3 for axis 1 of F32 [3, 4, 5] on Host, "
      "got 4");
  EXPECT_EQ(
      refusal("Slice", slices(R"([{"step": 0}, 0, 0])"), {cube}),
      "param \"slices\"[0], step: expected an integer > 0, got 0");
  EXPECT_EQ(
      refusal("Slice", slices(R"([{"stpo": 1}, 0, 0])"), {cube}),
      "param \"slices\"[0]: unknown key \"stpo\"; did you mean \"stop\"?; expected start, stop, "
      "step");
  EXPECT_EQ(
      refusal("Slice", slices(R"([0, "a", 0])"), {cube}),
      "param \"slices\"[1]: expected an integer or an object {\"start\", \"stop\", \"step\"}, "
      "got \"a\"");
}

}  // namespace
}  // namespace holoflow::test
