// SPDX-License-Identifier: LGPL-2.1-or-later
// Transpose: views (N20), records, annotation, refusals.
#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using core::DType;
using nlohmann::json;

json axes(const char *text) {
  return {{"axes", json::parse(text)}};
}

std::vector<TaskVector> vectors() {
  return {
      {"N20",
       "Transpose",
       axes("[1, 0]"),
       {f32({2, 3}, iota(6))},
       {f32({3, 2}, {0, 3, 1, 4, 2, 5})}},
      {"as it is", "Transpose", axes("[0, 1]"), {u8({2, 2}, iota(4))}, {u8({2, 2}, iota(4))}},
      {"from the end",
       "Transpose",
       axes("[-1, 0, -2]"),
       {u16({2, 2, 3}, iota(12))},
       {u16({3, 2, 2}, {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11})}},
      {"of a view",
       "Transpose",
       axes("[1, 0]"),
       {scattered(cf32({1, 2}, {{1, 2}, {3, 4}}))},
       {cf32({2, 1}, {{1, 2}, {3, 4}})}},
      {"rank 0", "Transpose", axes("[]"), {u8({}, {3})}, {u8({}, {3})}},
      {"empty", "Transpose", axes("[1, 0]"), {u8({0, 3}, {})}, {u8({3, 0}, {})}},
  };
}

TEST(Transpose, GivesItsVectorsOnHost) {
  check_vectors(Place::Host, vectors());
}
TEST(Transpose, GivesItsVectorsOnCuda) {
  check_vectors(Place::Device, vectors());
}

TEST(Transpose, DescribesTheViewOfN20InBytes) {
  const core::InferResult infer = infer_task("Transpose", axes("[1, 0]"), {f32({2, 3}, iota(6))});
  const core::TDesc &view = infer.output_descs[0];
  EXPECT_EQ(view.shape, (std::vector<size_t>{3, 2}));
  EXPECT_EQ(view.strides, (std::vector<size_t>{4, 12}));
  EXPECT_EQ(view.offset, 0u);
  EXPECT_EQ(view.num_bytes(), 24u);
}

TEST(Transpose, IsAViewThatIsNeverWrittenThrough) {
  const core::InferResult infer = infer_task("Transpose", axes("[1, 0]"), {u8({2, 3}, iota(6))});
  ASSERT_EQ(infer.in_place.size(), 1u);
  EXPECT_TRUE(infer.in_place[0].required);
  EXPECT_FALSE(infer.in_place[0].writes);
  EXPECT_TRUE(infer.capturable);
}

std::optional<size_t> records(const Array &array, const char *order) {
  const core::InferResult infer = infer_task("Transpose", axes(order), {array});
  const auto &media = infer.output_descs[0].media;
  return media ? media->records : std::nullopt;
}

TEST(Transpose, MixedFramesHaveOneRecord) {
  const Array frames = u8({2, 2, 2}, iota(8));
  EXPECT_EQ(records(frames, "[0, 2, 1]"), std::nullopt);
  EXPECT_EQ(records(frames, "[1, 0, 2]"), 1u);
  EXPECT_EQ(records(u8({2, 2}, iota(4)), "[1, 0]"), std::nullopt);
}

TEST(Transpose, TheChannelAxisMoves) {
  core::MediaInfo info;
  info.pixel_format = "RGB";
  info.channel_axis = 3;
  const Array colour = u8({1, 2, 2, 3}, iota(12)).with_media(info);
  const auto media = [&](const char *order) {
    return *infer_task("Transpose", axes(order), {colour}).output_descs[0].media;
  };
  EXPECT_EQ(media("[0, 2, 1, 3]").channel_axis, 3);
  EXPECT_EQ(media("[0, 2, 1, 3]").pixel_format, "RGB");
  EXPECT_EQ(media("[0, 3, 1, 2]").channel_axis, 1);
  EXPECT_EQ(media("[0, 3, 1, 2]").pixel_format, "");
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  const Array table = u8({2, 3}, iota(6));
  EXPECT_EQ(
      refusal("Transpose", axes("[1]"), {table}),
      "param \"axes\": expected each of the 2 axes of U8 [2, 3] on Host once, got [1]");
  EXPECT_EQ(
      refusal("Transpose", axes("[1, -1]"), {table}),
      "param \"axes\": expected different axes, got axis 1 twice");
  EXPECT_EQ(
      refusal("Transpose", axes("[0, 2]"), {table}),
      "param \"axes\": expected an axis from -2 to 1, got 2");
  EXPECT_EQ(
      refusal("Transpose", {}, {table}),
      "param \"axes\" is required: expected an array of integers (axis of x for each axis of y, "
      "from the end where negative)");
}

}  // namespace
}  // namespace holoflow::test
