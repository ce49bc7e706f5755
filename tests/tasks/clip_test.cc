// SPDX-License-Identifier: LGPL-2.1-or-later
// Clip: values of NumPy, integers and their bounds, layouts, refusals.
#include <algorithm>
#include <limits>

#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using nlohmann::json;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

json bounds(double lo, double hi) {
  return {{"lo", lo}, {"hi", hi}};
}

/// More elements than a block or a vector register takes, and an odd number of them.
TaskVector long_row() {
  const std::vector<double> values = iota(1031, -500);
  std::vector<double> want;
  for (const double value : values)
    want.push_back(std::min(std::max(value, -2.5), 300.25));
  return {"long row", "Clip", bounds(-2.5, 300.25), {f32({1031}, values)}, {f32({1031}, want)}};
}

std::vector<TaskVector> vectors() {
  return {
      {"defaults", "Clip", {}, {f32({5}, {-1, 0, .5, 1, 2})}, {f32({5}, {0, 0, .5, 1, 1})}},
      {"NaN stays, infinities do not",
       "Clip",
       bounds(-2, 2),
       {f32({3}, {nan, inf, -inf})},
       {f32({3}, {nan, 2, -2})}},
      {"lo above hi", "Clip", bounds(3, 1), {f32({3}, {0, 2, 4})}, {f32({3}, {1, 1, 1})}},
      {"in a view",
       "Clip",
       bounds(1, 4),
       {scattered(f32({2, 3}, iota(6)))},
       {f32({2, 3}, {1, 1, 2, 3, 4, 4})}},
      {"transposed view",
       "Clip",
       bounds(1, 4),
       {f32({2, 3}, iota(6)).strided({4, 8})},
       {f32({2, 3}, {1, 1, 2, 3, 4, 4})}},
      {"bytes",
       "Clip",
       bounds(10, 200),
       {u8({4}, {0, 10, 200, 255})},
       {u8({4}, {10, 10, 200, 200})}},
      {"bytes stay between fractions",
       "Clip",
       bounds(1.25, 3.75),
       {u8({5}, iota(5))},
       {u8({5}, {2, 2, 2, 3, 3})}},
      {"bounds beyond the type",
       "Clip",
       bounds(-1e300, 1e300),
       {u16({3}, {0, 300, 65535})},
       {u16({3}, {0, 300, 65535})}},
      {"bounds above the type", "Clip", bounds(300, 400), {u8({2}, {0, 9})}, {u8({2}, {255, 255})}},
      {"bounds below the type", "Clip", bounds(-9, -1), {u16({2}, {0, 9})}, {u16({2}, {0, 0})}},
      {"words in a view",
       "Clip",
       bounds(2, 1000),
       {scattered(u16({3, 1}, {1, 2, 5000}))},
       {u16({3, 1}, {2, 2, 1000})}},
      {"rank 0", "Clip", {}, {f32({}, {9})}, {f32({}, {1})}},
      {"empty", "Clip", {}, {u8({2, 0}, {})}, {u8({2, 0}, {})}},
      long_row(),
  };
}

TEST(Clip, GivesItsVectorsOnHost) {
  check_vectors(Place::Host, vectors());
}
TEST(Clip, GivesItsVectorsOnCuda) {
  check_vectors(Place::Device, vectors());
}

TEST(Clip, MayWorkInPlaceAndKeepsTheAnnotation) {
  const core::InferResult infer =
      infer_task("Clip", {}, {u8({1, 2, 3}, iota(6)).with_channel_axis(2)});
  ASSERT_EQ(infer.in_place.size(), 1u);
  EXPECT_FALSE(infer.in_place[0].required);
  EXPECT_TRUE(infer.in_place[0].writes);
  EXPECT_EQ(infer.output_descs[0].media->channel_axis, 2);
  EXPECT_TRUE(infer.capturable);
}

TEST(Clip, RefusesComplexNumbersAndBoundsThatDoNotFit) {
  EXPECT_EQ(
      refusal("Clip", {}, {cf32({1}, {{1, 2}})}),
      "input 0: expected U8, U16 or F32, got CF32 [1] on Host; add a \"Conversion\" node "
      "(target F32) before it");
  EXPECT_EQ(
      refusal("Clip", {{"hi", 1e39}}, {f32({1}, {1})}),
      "param \"hi\": expected a number that fits F32, got 1e+39");
  EXPECT_EQ(
      refusal("Clip", {{"lo", "a"}}, {f32({1}, {1})}),
      "param \"lo\": expected a number, got \"a\"");
}

}  // namespace
}  // namespace holoflow::test
