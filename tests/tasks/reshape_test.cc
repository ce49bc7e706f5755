// SPDX-License-Identifier: LGPL-2.1-or-later
// Reshape: views and copies by NumPy's rules, records, annotation, refusals.
#include "holoflow/tasks/reshape/reshape.hh"

#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using core::DType;
using nlohmann::json;

json shape(const char *text) {
  return {{"shape", json::parse(text)}};
}

std::vector<TaskVector> vectors() {
  const Array table = f32({2, 6}, iota(12));
  const Array columns = f32({3, 2}, {0, 3, 1, 4, 2, 5}).strided({4, 12});
  return {
      {"packed", "Reshape", shape("[3, 4]"), {table}, {f32({3, 4}, iota(12))}},
      {"what is left", "Reshape", shape("[2, -1, 3]"), {table}, {f32({2, 2, 3}, iota(12))}},
      {"flat", "Reshape", shape("[-1]"), {u8({2, 2}, iota(4))}, {u8({4}, iota(4))}},
      {"at an offset",
       "Reshape",
       shape("[3, 2]"),
       {u16({2, 3}, iota(6)).strided({6, 2}, 10)},
       {u16({3, 2}, iota(6))}},
      {"split axes of a view",
       "Reshape",
       shape("[2, 2, 3, 1]"),
       {f32({2, 6}, iota(12)).strided({100, 8}, 4)},
       {f32({2, 2, 3, 1}, iota(12))}},
      {"joined axes of a view",
       "Reshape",
       shape("[2, 6]"),
       {u8({2, 2, 3}, iota(12)).strided({50, 12, 4}, 1)},
       {u8({2, 6}, iota(12))}},
      {"a copy", "Reshape", shape("[6]"), {columns}, {f32({6}, {0, 3, 1, 4, 2, 5})}},
      {"a copy of bytes",
       "Reshape",
       shape("[6]"),
       {scattered(u8({2, 3}, iota(6)))},
       {u8({6}, iota(6))}},
      {"a copy of complex numbers",
       "Reshape",
       shape("[4]"),
       {scattered(cf32({2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}}))},
       {cf32({4}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}})}},
      {"one row for two",
       "Reshape",
       shape("[4]"),
       {u8({2, 2}, {1, 2, 1, 2}).strided({0, 1})},
       {u8({4}, {1, 2, 1, 2})}},
      {"to rank 0", "Reshape", shape("[]"), {u8({1, 1}, {5})}, {u8({}, {5})}},
      {"from rank 0", "Reshape", shape("[1, -1]"), {u8({}, {5})}, {u8({1, 1}, {5})}},
      {"axes of one element",
       "Reshape",
       shape("[1, 2, 1, 2, 1]"),
       {u8({2, 1, 2}, iota(4)).strided({9, 77, 3})},
       {u8({1, 2, 1, 2, 1}, iota(4))}},
      {"nothing", "Reshape", shape("[-1, 3]"), {u8({0, 6}, {})}, {u8({0, 3}, {})}},
      {"nothing, in another order", "Reshape", shape("[5, 0]"), {u8({0, 2}, {})}, {u8({5, 0}, {})}},
  };
}

TEST(Reshape, GivesItsVectorsOnHost) {
  check_vectors(Place::Host, vectors());
}
TEST(Reshape, GivesItsVectorsOnCuda) {
  check_vectors(Place::Device, vectors());
}

core::InferResult reshape(const Array &array, const char *to) {
  return infer_task("Reshape", shape(to), {array});
}

TEST(Reshape, IsAViewWhereStridesAllow) {
  const core::InferResult packed = reshape(f32({2, 6}, iota(12)), "[3, 4]");
  ASSERT_EQ(packed.in_place.size(), 1u);
  EXPECT_FALSE(packed.in_place[0].required);
  EXPECT_FALSE(packed.in_place[0].writes);
  EXPECT_TRUE(packed.capturable);

  const Array view = f32({2, 6}, iota(12)).strided({100, 8}, 4);
  const core::InferResult split = reshape(view, "[2, 2, 3]");
  ASSERT_EQ(split.in_place.size(), 1u);
  EXPECT_TRUE(split.in_place[0].required);
  EXPECT_FALSE(split.in_place[0].writes);
  EXPECT_EQ(split.output_descs[0].strides, (std::vector<size_t>{100, 24, 8}));
  EXPECT_EQ(split.output_descs[0].offset, 4u);

  const core::InferResult copy = reshape(view, "[12]");
  EXPECT_TRUE(copy.in_place.empty());
  EXPECT_TRUE(is_packed(copy.output_descs[0]));
  EXPECT_EQ(copy.output_descs[0].offset, 0u);
}

TEST(Reshape, FindsStridesForRunsOfAxes) {
  using Sizes = std::vector<size_t>;
  const auto strides = [](const core::TDesc &in, const Sizes &to) {
    return tasks::reshaped_strides(in, to);
  };
  const core::TDesc rows({4, 3, 2}, DType::U8, core::MemLoc::Host, Sizes{20, 6, 2});
  EXPECT_EQ(strides(rows, {4, 6}), std::nullopt);
  EXPECT_EQ(strides(rows, {2, 2, 3, 2}), (Sizes{40, 20, 6, 2}));
  EXPECT_EQ(strides(rows, {12, 2}), std::nullopt);
  const core::TDesc runs({4, 3, 2}, DType::U8, core::MemLoc::Host, Sizes{50, 10, 5});
  EXPECT_EQ(strides(runs, {4, 6}), (Sizes{50, 5}));
  EXPECT_EQ(strides(runs, {2, 2, 2, 3}), (Sizes{100, 50, 15, 5}));
  EXPECT_EQ(strides(runs, {8, 3}), std::nullopt);
}

std::optional<size_t> records(const Array &array, const char *to) {
  const auto media = reshape(array, to).output_descs[0].media;
  return media ? media->records : std::nullopt;
}

TEST(Reshape, KeepsRecordsOnlyWithTheFrames) {
  const Array frames = u8({4, 2, 2}, iota(16));
  EXPECT_EQ(records(frames, "[4, 1, 4]"), std::nullopt);
  EXPECT_EQ(records(frames, "[2, 2, 2, 2]"), 1u);
  EXPECT_EQ(records(frames, "[4, 4]"), 1u);
  const Array picture = u8({4, 4}, iota(16));
  EXPECT_EQ(records(picture, "[1, 4, 4]"), std::nullopt);
  EXPECT_EQ(records(picture, "[4, 4, 1]"), 1u);
}

TEST(Reshape, KeepsTheAnnotationOfAPictureThatStaysOne) {
  core::MediaInfo info;
  info.pixel_format = "RGB";
  info.channel_axis = 2;
  const Array picture = u8({2, 4, 3}, iota(24)).with_media(info);
  const auto framed = *reshape(picture, "[1, 2, 4, 3]").output_descs[0].media;
  EXPECT_EQ(framed.pixel_format, "RGB");
  EXPECT_EQ(framed.channel_axis, 3);
  const auto wide = *reshape(picture, "[1, 8, 3]").output_descs[0].media;
  EXPECT_EQ(wide.pixel_format, "");
  EXPECT_EQ(wide.channel_axis, std::nullopt);
}

TEST(Reshape, RefusesOtherNumbersOfElements) {
  const Array table = f32({2, 6}, iota(12));
  EXPECT_EQ(
      refusal("Reshape", shape("[5]"), {table}),
      "param \"shape\": expected a shape of 12 elements as F32 [2, 6] on Host has, got [5]");
  EXPECT_EQ(
      refusal("Reshape", shape("[5, -1]"), {table}),
      "param \"shape\": expected lengths whose product divides the 12 elements as F32 [2, 6] on "
      "Host has, got [5,-1]");
  EXPECT_EQ(
      refusal("Reshape", shape("[-1, 0]"), {u8({0}, {})}),
      "param \"shape\": expected lengths whose product divides the 0 elements as U8 [0] on Host "
      "has, got [-1,0]");
  EXPECT_EQ(
      refusal("Reshape", shape("[-1, -1]"), {table}),
      "param \"shape\": expected lengths of at least 0 and one -1 at most, got [-1,-1]");
  EXPECT_EQ(
      refusal("Reshape", shape("[-2, 6]"), {table}),
      "param \"shape\": expected lengths of at least 0 and one -1 at most, got [-2,6]");
  EXPECT_EQ(
      refusal("Reshape", shape("[4611686018427387904, 16]"), {table}),
      "param \"shape\": expected a shape of 12 elements as F32 [2, 6] on Host has, got "
      "[4611686018427387904,16]");
  EXPECT_EQ(
      refusal("Reshape", {}, {table}),
      "param \"shape\" is required: expected an array of integers (lengths of the axes; one of "
      "them may be -1: what is left)");
}

}  // namespace
}  // namespace holoflow::test
