// SPDX-License-Identifier: LGPL-2.1-or-later
// Sqrt, Log1p, Abs, AbsSquared: values of NumPy, layouts, refusals.
#include <cmath>
#include <limits>

#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double largest = std::numeric_limits<float>::max();

// log1p and hypot may be off by a bit or two on each side.
constexpr Tolerance two_ulps = {0, 2.4e-7};

std::vector<double> map(std::vector<double> values, double (*function)(double)) {
  for (double &value : values)
    value = static_cast<float>(function(value));
  return values;
}

/// More elements than a block or a vector register takes, and an odd number of them.
TaskVector long_row(const std::string &type, double (*function)(double)) {
  const std::vector<double> values = iota(1031);
  return {"long row", type, {}, {f32({1, 1031}, values)}, {f32({1, 1031}, map(values, function))},
          two_ulps};
}

/// Every magnitude that a float has, and negative numbers down to -1.
TaskVector wide_log1p() {
  std::vector<double> values = {largest, 0x1p-24 - 1, -0.0, 0x1p-149, inf, -inf};
  for (int exponent = -126; exponent < 128; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    for (const double factor : {1.0, 1.25, 1.4142135, 1.75}) {
      values.push_back(static_cast<float>(factor * power));
      if (factor * power < 1)
        values.push_back(static_cast<float>(-factor * power));
    }
  }
  const std::vector<double> want = map(values, [](double x) { return std::log1p(x); });
  const size_t count = values.size();
  return {"every magnitude", "Log1p", {}, {f32({count}, values)}, {f32({count}, want)}, two_ulps};
}

std::vector<TaskVector> vectors() {
  const Array cube = f32({2, 2, 3}, {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121});
  const Array roots = f32({2, 2, 3}, iota(12));
  return {
      {"squares", "Sqrt", {}, {cube}, {roots}},
      {"squares in a view", "Sqrt", {}, {scattered(cube)}, {roots}},
      {"transposed view",
       "Sqrt",
       {},
       {f32({2, 3}, {0, 1, 4, 9, 16, 25}).strided({4, 8})},
       {f32({2, 3}, {0, 1, 2, 3, 4, 5})}},
      {"repeated row",
       "Sqrt",
       {},
       {f32({2, 2}, {4, 9, 4, 9}).strided({0, 4})},
       {f32({2, 2}, {2, 3, 2, 3})}},
      {"rank 0", "Sqrt", {}, {f32({}, {9})}, {f32({}, {3})}},
      {"rank 8",
       "Sqrt",
       {},
       {f32({1, 2, 1, 1, 2, 1, 1, 1}, {1, 4, 9, 16})},
       {f32({1, 2, 1, 1, 2, 1, 1, 1}, {1, 2, 3, 4})}},
      {"empty", "Sqrt", {}, {f32({2, 0, 3}, {})}, {f32({2, 0, 3}, {})}},
      {"edges", "Sqrt", {}, {f32({4}, {-1, nan, inf, -0.0})}, {f32({4}, {nan, nan, inf, -0.0})}},
      {"principal root",
       "Sqrt",
       {},
       {cf32({6}, {{-4, 0}, {-4, -0.0}, {3, 4}, {0, -2}, {0, 0}, {-5, 12}})},
       {cf32({6}, {{0, 2}, {0, -2}, {2, 1}, {1, -1}, {0, 0}, {2, 3}})}},
      {"roots of extremes",
       "Sqrt",
       {},
       {cf32({3}, {{largest, 0}, {inf, 1}, {-inf, -1}})},
       {cf32({3}, {{std::sqrt(largest), 0}, {inf, 0}, {0, -inf}})},
       two_ulps},
      long_row("Sqrt", [](double x) { return std::sqrt(x); }),
      {"log1p",
       "Log1p",
       {},
       {f32({5}, {0, 1e-10, 1.718281828, -1, -2})},
       {f32({5}, {0, 1e-10, 1, -inf, nan})},
       two_ulps},
      {"log1p in a view",
       "Log1p",
       {},
       {scattered(f32({2, 2}, {0, 1, 2, 3}))},
       {f32({2, 2}, map({0, 1, 2, 3}, [](double x) { return std::log1p(x); }))},
       two_ulps},
      long_row("Log1p", [](double x) { return std::log1p(x); }),
      wide_log1p(),
      {"bytes stay", "Abs", {}, {u8({2, 2}, {0, 1, 128, 255})}, {u8({2, 2}, {0, 1, 128, 255})}},
      {"bytes of a view", "Abs", {}, {scattered(u8({3, 5}, iota(15)))}, {u8({3, 5}, iota(15))}},
      {"words stay", "Abs", {}, {u16({3}, {0, 32768, 65535})}, {u16({3}, {0, 32768, 65535})}},
      {"floats",
       "Abs",
       {},
       {f32({5}, {-1.5, 2, -0.0, -inf, nan})},
       {f32({5}, {1.5, 2, 0, inf, nan})}},
      {"modulus",
       "Abs",
       {},
       {scattered(cf32({1, 5}, {{3, -4}, {-0.0, 0}, {3e38, 4e37}, {1e-30, 0}, {nan, inf}}))},
       {f32({1, 5}, {5, 0, std::hypot(3e38, 4e37), 1e-30, inf})},
       two_ulps},
      {"squares",
       "AbsSquared",
       {},
       {f32({4}, {-3, 0.5, inf, nan})},
       {f32({4}, {9, 0.25, inf, nan})}},
      {"squared modulus",
       "AbsSquared",
       {},
       {cf32({2, 1}, {{3, 4}, {-1, 2}})},
       {f32({2, 1}, {25, 5})}},
      long_row("AbsSquared", [](double x) { return x * x; }),
  };
}

TEST(Elementwise, GivesItsVectorsOnHost) {
  check_vectors(Place::Host, vectors());
}
TEST(Elementwise, GivesItsVectorsOnCuda) {
  check_vectors(Place::Device, vectors());
}

TEST(Elementwise, SharesMemoryOnlyWherePackedAndOfEqualSize) {
  EXPECT_EQ(infer_task("Sqrt", {}, {f32({2}, {1, 2})}).in_place.size(), 1u);
  EXPECT_FALSE(infer_task("Sqrt", {}, {f32({2}, {1, 2})}).in_place[0].required);
  EXPECT_TRUE(infer_task("Sqrt", {}, {f32({2}, {1, 2})}).in_place[0].writes);
  EXPECT_FALSE(infer_task("Abs", {}, {u8({2}, {1, 2})}).in_place[0].writes);
  EXPECT_TRUE(infer_task("Sqrt", {}, {f32({2}, {1, 2}).strided({8})}).in_place.empty());
  EXPECT_TRUE(infer_task("Sqrt", {}, {f32({2}, {1, 2}).strided({4}, 4)}).in_place.empty());
  EXPECT_TRUE(infer_task("Abs", {}, {cf32({1}, {{1, 2}})}).in_place.empty());
}

TEST(Elementwise, GivesAPackedOutputThatKeepsTheAnnotation) {
  const Array picture = scattered(f32({1, 2, 3}, iota(6))).with_channel_axis(2);
  const core::InferResult infer = infer_task("Sqrt", {}, {picture}, Place::Device);
  EXPECT_EQ(infer.output_descs[0], core::TDesc({1, 2, 3}, core::DType::F32, core::MemLoc::Device));
  ASSERT_TRUE(infer.output_descs[0].media);
  EXPECT_EQ(infer.output_descs[0].media->channel_axis, 2);
  EXPECT_TRUE(infer.capturable);
}

TEST(Elementwise, NamesWhatItExpectedAndGot) {
  EXPECT_EQ(
      refusal("Sqrt", {}, {u8({1, 4}, iota(4))}),
      "input 0: expected F32 or CF32, got U8 [1, 4] on Host; add a \"Conversion\" node "
      "(target F32) before it");
  EXPECT_EQ(
      refusal("Log1p", {}, {cf32({1}, {{1, 2}})}),
      "input 0: expected F32, got CF32 [1] on Host; add a \"Conversion\" node (target F32) "
      "before it");
  EXPECT_EQ(refusal("Abs", {}, {}), "expected 1 input, got 0; connect a node to input 0");
  EXPECT_EQ(
      refusal("Abs", {}, {u8({1}, {1}), u8({1}, {1})}),
      "expected 1 input, got 2; remove the edge to input 1");
  EXPECT_EQ(
      refusal("Abs", {{"axis", 1}}, {u8({1}, {1})}), "unknown param \"axis\"; Abs takes no params");
}

TEST(Elementwise, RefusesTensorsItCannotIndex) {
  EXPECT_EQ(
      refusal("Sqrt", {}, {f32({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1})}),
      "input 0: expected at most 8 axes, got F32 [1, 1, 1, 1, 1, 1, 1, 1, 1] on Host; join "
      "axes before it (\"Reshape\")");
  const std::string text = refusal("Sqrt", {}, {f32({2}, {1, 2}).strided({6})});
  EXPECT_NE(
      text.find("expected strides and an offset that are multiples of 4 bytes"), std::string::npos)
      << text;
  EXPECT_NE(text.find("add a \"Copy\" node before it"), std::string::npos) << text;
}

}  // namespace
}  // namespace holoflow::test
