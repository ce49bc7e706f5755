// SPDX-License-Identifier: LGPL-2.1-or-later
// Conversion: rounding, saturation, scaling (N22), special values, refusals.
#include <cmath>
#include <limits>

#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using nlohmann::json;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double largest = std::numeric_limits<float>::max();
const double pi = static_cast<float>(std::acos(-1.0));

// atan2f and hypotf of the two libraries may differ in the last two bits.
constexpr Tolerance two_ulps = {0, 2.4e-7};

json to(const char *target, const char *strategy = "Real") {
  return {{"target", target}, {"strategy", strategy}};
}

std::vector<TaskVector> real_vectors() {
  return {
      {"half to even",
       "Conversion",
       to("U8"),
       {f32({7}, {0.5, 1.5, 2.5, 253.5, 254.5, 0.4999, 3.5001})},
       {u8({7}, {0, 2, 2, 254, 254, 0, 4})}},
      {"saturates",
       "Conversion",
       to("U8"),
       {f32({7}, {-1, 255.5, 256, 1e30, inf, -inf, nan})},
       {u8({7}, {0, 255, 255, 255, 255, 0, 0})}},
      {"half to even",
       "Conversion",
       to("U16"),
       {f32({4}, {65533.5, 65534.5, 65535.5, 0.5})},
       {u16({4}, {65534, 65534, 65535, 0})}},
      {"saturates",
       "Conversion",
       to("U16"),
       {f32({5}, {-1, 65536, inf, -inf, nan})},
       {u16({5}, {0, 65535, 65535, 0, 0})}},
      {"bytes to words", "Conversion", to("U16"), {u8({2}, {0, 255})}, {u16({2}, {0, 255})}},
      {"words to bytes",
       "Conversion",
       to("U8"),
       {u16({3}, {255, 256, 65535})},
       {u8({3}, {255, 255, 255})}},
      {"bytes to floats",
       "Conversion",
       {{"target", "F32"}},
       {u8({2, 2}, {0, 1, 128, 255})},
       {f32({2, 2}, {0, 1, 128, 255})}},
      {"a view of bytes",
       "Conversion",
       to("F32"),
       {scattered(u8({3, 5}, iota(15)))},
       {f32({3, 5}, iota(15))}},
      {"words to complex",
       "Conversion",
       to("CF32"),
       {u16({2}, {1, 65535})},
       {cf32({2}, {{1, 0}, {65535, 0}})}},
      {"floats to complex",
       "Conversion",
       to("CF32"),
       {f32({2}, {-1.5, nan})},
       {cf32({2}, {{-1.5, 0}, {nan, 0}})}},
      {"real part",
       "Conversion",
       to("F32"),
       {scattered(cf32({2}, {{-1.5, 7}, {2, nan}}))},
       {f32({2}, {-1.5, 2})}},
      {"real part, rounded",
       "Conversion",
       to("U8"),
       {cf32({3}, {{2.5, 9}, {-3, 9}, {300, 9}})},
       {u8({3}, {2, 0, 255})}},
      {"complex stays complex",
       "Conversion",
       to("CF32"),
       {cf32({3}, {{2, 3}, {-1.5, nan}, {inf, -0.0}})},
       {cf32({3}, {{2, 3}, {-1.5, nan}, {inf, -0.0}})}},
      {"complex stays complex, a view",
       "Conversion",
       to("CF32"),
       {scattered(cf32({2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}}))},
       {cf32({2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}})}},
      {"same type", "Conversion", to("F32"), {f32({3}, {1, nan, -2})}, {f32({3}, {1, nan, -2})}},
      {"same type, a view",
       "Conversion",
       to("U8"),
       {scattered(u8({2, 2}, {1, 2, 3, 4}))},
       {u8({2, 2}, {1, 2, 3, 4})}},
      {"rank 0", "Conversion", to("U8"), {f32({}, {7.4})}, {u8({}, {7})}},
      {"empty", "Conversion", to("U8"), {f32({0}, {})}, {u8({0}, {})}},
      {"a long odd row",
       "Conversion",
       to("U8"),
       {f32({1031}, std::vector<double>(1031, 41.6))},
       {u8({1031}, std::vector<double>(1031, 42))}},
  };
}

std::vector<TaskVector> scaled_vectors() {
  const auto u8_of = [](std::vector<double> in, std::vector<double> out) -> TaskVector {
    const size_t count = in.size();
    return {"N22", "Conversion", to("U8", "Scaled"), {f32({count}, in)}, {u8({count}, out)}};
  };
  const auto ramp = iota(256 * 33, -100);
  std::vector<double> levels;
  for (size_t i = 0; i < ramp.size(); ++i)
    levels.push_back(std::trunc(static_cast<double>(i) * 255 / (256 * 33 - 1) + 0.5));
  return {
      u8_of({0, 1, 2}, {0, 128, 255}),
      u8_of({-1, 0, 3}, {0, 64, 255}),
      u8_of({0, .25, .5, .75, 1}, {0, 64, 128, 191, 255}),
      u8_of({7, 7, 7}, {0, 0, 0}),
      {"N22",
       "Conversion",
       to("U16", "Scaled"),
       {f32({3}, {0, 1, 2})},
       {u16({3}, {0, 32768, 65535})}},
      {"bytes",
       "Conversion",
       to("U8", "Scaled"),
       {u8({4}, {10, 12, 11, 10})},
       {u8({4}, {0, 255, 128, 0})}},
      {"words in a view",
       "Conversion",
       to("U16", "Scaled"),
       {scattered(u16({2, 2}, {5, 9, 7, 6}))},
       {u16({2, 2}, {0, 65535, 32768, 16384})}},
      {"real part",
       "Conversion",
       to("U8", "Scaled"),
       {cf32({3}, {{0, 9}, {1, -99}, {2, nan}})},
       {u8({3}, {0, 128, 255})}},
      {"whole tensor, not frames",
       "Conversion",
       to("U8", "Scaled"),
       {f32({2, 1, 2}, {0, 1, 2, 4})},
       {u8({2, 1, 2}, {0, 64, 128, 255})}},
      u8_of({nan, 0, 1, nan, 2}, {0, 0, 128, 0, 255}),
      u8_of({inf, 0, 1, -inf, 2}, {255, 0, 128, 0, 255}),
      u8_of({5, inf, nan, -inf}, {0, 255, 0, 0}),
      u8_of({nan, inf, -inf}, {0, 0, 0}),
      u8_of({-largest, 0, largest}, {0, 128, 255}),
      u8_of({1e-44, 0, 2e-44}, {128, 0, 255}),
      u8_of({0, 1e-10, 2e-10}, {0, 128, 255}),
      {"the whole range of F32",
       "Conversion",
       to("U16", "Scaled"),
       {f32({3}, {-3e38, 3e38, 0})},
       {u16({3}, {0, 65535, 32768})}},
      {"one element", "Conversion", to("U8", "Scaled"), {f32({}, {3})}, {u8({}, {0})}},
      {"a ramp over many blocks",
       "Conversion",
       to("U8", "Scaled"),
       {f32({33, 256}, ramp)},
       {u8({33, 256}, levels)}},
      {"a transposed ramp",
       "Conversion",
       to("U8", "Scaled"),
       {f32({256, 33}, iota(256 * 33)).strided({4, 1024})},
       {}},
  };
}

std::vector<TaskVector> polar_vectors() {
  const Array numbers = cf32({5}, {{3, 4}, {0, -2}, {-1, 0}, {-1, -0.0}, {inf, nan}});
  return {
      {"modulus",
       "Conversion",
       to("F32", "Modulus"),
       {numbers},
       {f32({5}, {5, 2, 1, 1, inf})},
       two_ulps},
      {"modulus, rounded",
       "Conversion",
       to("U8", "Modulus"),
       {scattered(numbers)},
       {u8({5}, {5, 2, 1, 1, 255})}},
      {"modulus of reals",
       "Conversion",
       to("F32", "Modulus"),
       {f32({3}, {-2.5, 3, nan})},
       {f32({3}, {2.5, 3, nan})}},
      {"modulus of bytes",
       "Conversion",
       to("U8", "Modulus"),
       {u8({2}, {1, 255})},
       {u8({2}, {1, 255})}},
      {"modulus as complex",
       "Conversion",
       to("CF32", "Modulus"),
       {cf32({1}, {{3, -4}})},
       {cf32({1}, {{5, 0}})},
       two_ulps},
      {"argument",
       "Conversion",
       to("F32", "Argument"),
       {cf32({5}, {{1, 1}, {0, -2}, {-1, 0}, {-1, -0.0}, {0, 0}})},
       {f32({5}, {pi / 4, -pi / 2, pi, -pi, 0})},
       two_ulps},
      {"argument of reals",
       "Conversion",
       to("F32", "Argument"),
       {f32({5}, {2, -2, 0, -0.0, nan})},
       {f32({5}, {0, pi, 0, pi, nan})}},
      {"argument of bytes",
       "Conversion",
       to("F32", "Argument"),
       {u8({2}, {0, 255})},
       {f32({2}, {0, 0})}},
      {"argument, rounded and saturated",
       "Conversion",
       to("U16", "Argument"),
       {cf32({3}, {{-1, 0}, {0, -1}, {0, 1}})},
       {u16({3}, {3, 0, 2})}},
  };
}

/// The transposed ramp has the levels of the packed one, in its own order.
std::vector<TaskVector> complete(std::vector<TaskVector> vectors) {
  TaskVector &last = vectors.back();
  std::vector<double> levels;
  for (const double value : last.inputs[0].values)
    levels.push_back(std::trunc(value * 255 / (256 * 33 - 1) + 0.5));
  last.outputs = {u8({256, 33}, levels)};
  return vectors;
}

TEST(Conversion, RoundsAndSaturatesOnHost) {
  check_vectors(Place::Host, real_vectors());
}
TEST(Conversion, RoundsAndSaturatesOnCuda) {
  check_vectors(Place::Device, real_vectors());
}
TEST(Conversion, ScalesTheFiniteValuesOnHost) {
  check_vectors(Place::Host, complete(scaled_vectors()));
}
TEST(Conversion, ScalesTheFiniteValuesOnCuda) {
  check_vectors(Place::Device, complete(scaled_vectors()));
}
TEST(Conversion, GivesModulusAndArgumentOnHost) {
  check_vectors(Place::Host, polar_vectors());
}
TEST(Conversion, GivesModulusAndArgumentOnCuda) {
  check_vectors(Place::Device, polar_vectors());
}

TEST(Conversion, NeverWritesASharedTensorThatStaysAsItIs) {
  const Array row = f32({2}, {-1, 2});
  EXPECT_FALSE(infer_task("Conversion", to("F32"), {row}).in_place.at(0).writes);
  EXPECT_TRUE(infer_task("Conversion", to("F32", "Modulus"), {row}).in_place.at(0).writes);
  const Array numbers = cf32({2}, {{-1, 2}, {3, 4}});
  EXPECT_FALSE(infer_task("Conversion", to("CF32"), {numbers}).in_place.at(0).writes);
  EXPECT_TRUE(infer_task("Conversion", to("CF32", "Modulus"), {numbers}).in_place.at(0).writes);
  EXPECT_TRUE(infer_task("Conversion", to("U8"), {row}).in_place.empty());
}

TEST(Conversion, CountsWhatScaledKeepsOnADevice) {
  const Array row = f32({2}, {-1, 2});
  EXPECT_TRUE(infer_task("Conversion", to("U8", "Scaled"), {row}).own_memory.empty());
  const auto infer = infer_task("Conversion", to("U8", "Scaled"), {row}, Place::Device);
  ASSERT_EQ(infer.own_memory.size(), 1u);
  EXPECT_EQ(infer.own_memory[0].mem_loc, core::MemLoc::Device);
  EXPECT_GT(infer.own_memory[0].bytes, 0u);
  EXPECT_TRUE(infer.capturable);
}

TEST(Conversion, RefusesWhatItCannotConvert) {
  const Array row = f32({2}, {1, 2});
  EXPECT_EQ(
      refusal("Conversion", {}, {row}),
      "param \"target\" is required: expected a string (element type of the output)");
  EXPECT_EQ(
      refusal("Conversion", to("f32"), {row}),
      "param \"target\": expected U8, U16, F32 or CF32, got \"f32\"; did you mean \"F32\"?");
  EXPECT_EQ(
      refusal("Conversion", to("U8", "scaled"), {row}),
      "param \"strategy\": expected Real, Scaled, Modulus or Argument, got \"scaled\"; did you "
      "mean \"Scaled\"?");
  EXPECT_EQ(
      refusal("Conversion", to("F32", "Scaled"), {row}),
      "param \"strategy\": expected Real, Modulus or Argument for target F32, got \"Scaled\"; "
      "set target U8 or U16, or use \"Normalize\"");
  EXPECT_EQ(
      refusal("Conversion", to("U8", "Scaled"), {f32({0, 2}, {})}),
      "input 0: expected at least one element to find the range for strategy Scaled, got F32 "
      "[0, 2] on Host; use strategy Real");
}

}  // namespace
}  // namespace holoflow::test
