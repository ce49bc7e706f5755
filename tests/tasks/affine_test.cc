// SPDX-License-Identifier: LGPL-2.1-or-later
// Affine: numbers and arrays along an axis, every element type, refusals.
#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using nlohmann::json;

json params(const char *text) {
  return json::parse(text);
}

std::vector<TaskVector> vectors() {
  const Array table = f32({2, 3}, {0, 1, 2, 3, 4, 5});
  return {
      {"identity by default", "Affine", {}, {table}, {table}},
      {"numbers",
       "Affine",
       params(R"({"scale": 2, "offset": -0.5})"),
       {table},
       {f32({2, 3}, {-0.5, 1.5, 3.5, 5.5, 7.5, 9.5})}},
      {"bytes",
       "Affine",
       params(R"({"scale": 0.5, "offset": 1})"),
       {u8({3}, {0, 1, 255})},
       {f32({3}, {1, 1.5, 128.5})}},
      {"words in a view",
       "Affine",
       params(R"({"scale": -1})"),
       {scattered(u16({2, 2}, {0, 1, 256, 65535}))},
       {f32({2, 2}, {0, -1, -256, -65535})}},
      {"complex: the offset is real",
       "Affine",
       params(R"({"scale": 2, "offset": 1})"),
       {cf32({2}, {{1, 2}, {0, -1}})},
       {cf32({2}, {{3, 4}, {1, -2}})}},
      {"arrays along the last axis",
       "Affine",
       params(R"({"scale": [1, 10, 100], "offset": [0, 1, 2]})"),
       {table},
       {f32({2, 3}, {0, 11, 202, 3, 41, 502})}},
      {"array along the first axis",
       "Affine",
       params(R"({"scale": [1, 2], "axis": 0})"),
       {table},
       {f32({2, 3}, {0, 1, 2, 6, 8, 10})}},
      {"number and array",
       "Affine",
       params(R"({"scale": 2, "offset": [5, 6], "axis": -2})"),
       {scattered(table)},
       {f32({2, 3}, {5, 7, 9, 12, 14, 16})}},
      {"array on complex",
       "Affine",
       params(R"({"scale": [2, 3]})"),
       {cf32({2}, {{1, 1}, {1, 1}})},
       {cf32({2}, {{2, 2}, {3, 3}})}},
      {"channels of bytes",
       "Affine",
       params(R"({"scale": [1, 0, 2]})"),
       {u8({1, 2, 3}, iota(6))},
       {f32({1, 2, 3}, {0, 0, 4, 3, 0, 10})}},
      {"rank 0", "Affine", params(R"({"scale": 3})"), {f32({}, {2})}, {f32({}, {6})}},
      {"empty",
       "Affine",
       params(R"({"scale": [], "axis": 1})"),
       {f32({2, 0}, {})},
       {f32({2, 0}, {})}},
      // 1 + 2^-23 squared minus 1 − 2^-22: a fused multiply-add would leave 2^-46.
      {"two roundings",
       "Affine",
       params(R"({"scale": 1.00000011920928955, "offset": -1.0000002384185791})"),
       {f32({1}, {1.00000011920928955})},
       {f32({1}, {0})}},
  };
}

TEST(Affine, GivesItsVectorsOnHost) {
  check_vectors(Place::Host, vectors());
}
TEST(Affine, GivesItsVectorsOnCuda) {
  check_vectors(Place::Device, vectors());
}

TEST(Affine, RefusesArraysThatDoNotFitTheAxis) {
  const Array table = f32({2, 3}, iota(6));
  EXPECT_EQ(
      refusal("Affine", params(R"({"scale": [1, 2]})"), {table}),
      "param \"scale\": expected 3 numbers, one per element of axis 1 of F32 [2, 3] on Host, "
      "got 2");
  EXPECT_EQ(
      refusal("Affine", params(R"({"offset": [1, 2], "axis": 2})"), {table}),
      "param \"axis\": expected an axis from -2 to 1, got 2");
  EXPECT_EQ(
      refusal("Affine", params(R"({"offset": [1]})"), {f32({}, {1})}),
      "param \"axis\": expected no axis, as the tensor has rank 0, got -1");
}

TEST(Affine, RefusesParamsOfTheWrongKind) {
  const Array one = f32({1}, {1});
  EXPECT_EQ(
      refusal("Affine", params(R"({"scale": "2"})"), {one}),
      "param \"scale\": expected a number or an array of numbers, got \"2\"");
  EXPECT_EQ(
      refusal("Affine", params(R"({"axis": 0.0})"), {one}),
      "param \"axis\": expected an integer, got 0.0; write 0");
  EXPECT_EQ(
      refusal("Affine", params(R"({"offset": 1e300})"), {one}),
      "param \"offset\": expected numbers that fit F32, got 1e+300");
  EXPECT_EQ(
      refusal("Affine", params(R"({"scal": 1})"), {one}),
      "unknown param \"scal\"; did you mean \"scale\"?; expected one of \"scale\", \"offset\", "
      "\"axis\"");
}

TEST(Affine, CountsTheTableThatItKeepsOnADevice) {
  const Array table = f32({2, 3}, iota(6));
  EXPECT_TRUE(infer_task("Affine", params(R"({"scale": [1, 2, 3]})"), {table}).own_memory.empty());
  const auto infer =
      infer_task("Affine", params(R"({"scale": [1, 2, 3]})"), {table}, Place::Device);
  ASSERT_EQ(infer.own_memory.size(), 1u);
  EXPECT_EQ(infer.own_memory[0].bytes, 24u);
}

}  // namespace
}  // namespace holoflow::test
