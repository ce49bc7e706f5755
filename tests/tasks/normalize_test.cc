// SPDX-License-Identifier: LGPL-2.1-or-later
// Normalize: N22, groups along axes, special values, refusals.
#include <cfloat>
#include <cmath>
#include <limits>

#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using nlohmann::json;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

constexpr double largest = std::numeric_limits<float>::max();
constexpr double smallest = std::numeric_limits<float>::denorm_min();

// The values wanted are rounded to F32 once, as the task does after double arithmetic.
constexpr Tolerance rounding = {0, 6e-8};

json params(const char *text) {
  return json::parse(text);
}

std::vector<TaskVector> vectors() {
  const Array frames = f32({2, 2, 2}, {0, 1, 2, 4, 10, 20, 30, 50});
  const Array per_frame = f32({2, 2, 2}, {0, .25, .5, 1, 0, .25, .5, 1});
  return {
      {"N22", "Normalize", {}, {f32({3}, {2, 4, 6})}, {f32({3}, {0, .5, 1})}},
      {"N22, constant", "Normalize", {}, {f32({2}, {5, 5})}, {f32({2}, {0, 0})}},
      {"N22, from -1",
       "Normalize",
       params(R"({"lo": -1})"),
       {f32({3}, {2, 4, 6})},
       {f32({3}, {-1, 0, 1})}},
      {"to 10 … 20",
       "Normalize",
       params(R"({"lo": 10, "hi": 20})"),
       {u8({3}, {0, 51, 255})},
       {f32({3}, {10, 12, 20})},
       rounding},
      {"falling",
       "Normalize",
       params(R"({"lo": 1, "hi": 0})"),
       {u16({3}, {0, 16384, 65536 - 1})},
       {f32({3}, {1, 1 - 16384.0 / 65535, 0})},
       rounding},
      {"frames", "Normalize", params(R"({"axes": [-2, -1]})"), {frames}, {per_frame}, rounding},
      {"frames, axes in another order",
       "Normalize",
       params(R"({"axes": [2, 1]})"),
       {frames},
       {per_frame},
       rounding},
      {"frames in a view",
       "Normalize",
       params(R"({"axes": [1, 2]})"),
       {scattered(frames)},
       {per_frame},
       rounding},
      {"rows of bytes",
       "Normalize",
       params(R"({"axes": [1]})"),
       {u8({2, 3}, {1, 2, 3, 0, 100, 50})},
       {f32({2, 3}, {0, .5, 1, 0, 1, .5})},
       rounding},
      {"columns",
       "Normalize",
       params(R"({"axes": [0]})"),
       {f32({3, 2}, {0, 9, 1, 8, 2, 7})},
       {f32({3, 2}, {0, 1, .5, .5, 1, 0})},
       rounding},
      {"first and last axis",
       "Normalize",
       params(R"({"axes": [0, -1]})"),
       {frames},
       {f32({2, 2, 2}, {0, .05, 0, 2.0 / 48, .5, 1, 28.0 / 48, 1})},
       rounding},
      {"every element its own group",
       "Normalize",
       params(R"({"axes": [], "lo": 3})"),
       {f32({2}, {1, 2})},
       {f32({2}, {3, 3})}},
      {"NaN and infinities stay",
       "Normalize",
       {},
       {f32({5}, {nan, 0, inf, 2, -inf})},
       {f32({5}, {nan, 0, inf, 1, -inf})},
       rounding},
      {"only in their group",
       "Normalize",
       params(R"({"axes": [1]})"),
       {f32({2, 2}, {nan, nan, 0, 4})},
       {f32({2, 2}, {nan, nan, 0, 1})},
       rounding},
      {"rank 0", "Normalize", {}, {f32({}, {3})}, {f32({}, {0})}},
      {"no groups", "Normalize", params(R"({"axes": [1]})"), {f32({0, 3}, {})}, {f32({0, 3}, {})}},
  };
}

/// Ranges that overflow, vanish or hide in F32; no tolerance where the ends are concerned.
std::vector<TaskVector> range_vectors() {
  const auto of = [](std::vector<double> in, std::vector<double> out, json settings = {}) {
    const size_t count = in.size();
    return TaskVector{
        "range", "Normalize", std::move(settings), {f32({count}, in)}, {f32({count}, out)}};
  };
  return {
      of({-3e38, 0, 3e38}, {0, .5, 1}),
      of({-largest, 0, largest}, {-largest, 0, largest},
         {{"lo", -static_cast<double>(FLT_MAX)}, {"hi", static_cast<double>(FLT_MAX)}}),
      of({-largest, largest, 1}, {-2, 6, 2}, {{"lo", -2}, {"hi", 6}}),
      of({0, 1e-10, 2e-10}, {0, .5, 1}),
      of({0, smallest, 2 * smallest}, {0, .5, 1}),
      of({16777214, 16777215, 16777216}, {0, .5, 1}),
      of({1, 4}, {static_cast<float>(-1e30), 1}, {{"lo", -1e30}, {"hi", 1}}),
      of({0, .1, .3},
         {static_cast<float>(.1), static_cast<float>(.1 + .6 * (.1f / double(.3f))),
          static_cast<float>(.7)},
         {{"lo", .1}, {"hi", .7}}),
      of({-3e38, -3e38}, {7, 7}, {{"lo", 7}, {"hi", 9}}),
      of({4, inf, 4, -inf, nan}, {2, -inf, 2, inf, nan}, {{"lo", 2}, {"hi", 0}}),
      of({inf, -inf, nan}, {nan, nan, nan}),
      of({0, 2}, {0, .5}, {{"eps", 2}}),
      of({3, 3}, {1, 1}, {{"lo", 1}, {"hi", 4}, {"eps", 1e-7}}),
  };
}

/// Groups of more elements than one block takes, odd in number, and many groups of few.
std::vector<TaskVector> large_vectors() {
  const size_t size = 3 * 4096 + 5;
  std::vector<double> row = iota(size), want(size);
  for (size_t i = 0; i < size; ++i)
    want[i] = static_cast<double>(i) / static_cast<double>(size - 1);
  std::vector<double> rows = row, wants = want;
  rows.insert(rows.end(), row.rbegin(), row.rend());
  wants.insert(wants.end(), want.rbegin(), want.rend());
  std::vector<double> pairs, pair_wants;
  for (int i = 0; i < 2000; ++i) {
    pairs.insert(pairs.end(), {double(i), double(i + 8)});
    pair_wants.insert(pair_wants.end(), {0, 1});
  }
  return {
      {"a long row", "Normalize", {}, {f32({size}, row)}, {f32({size}, want)}, rounding},
      {"two long rows",
       "Normalize",
       params(R"({"axes": [1]})"),
       {f32({2, size}, rows)},
       {f32({2, size}, wants)},
       rounding},
      {"two long rows in a view",
       "Normalize",
       params(R"({"axes": [1]})"),
       {scattered(f32({2, size}, rows))},
       {f32({2, size}, wants)},
       rounding},
      {"many pairs",
       "Normalize",
       params(R"({"axes": [1]})"),
       {f32({2000, 2}, pairs)},
       {f32({2000, 2}, pair_wants)},
       rounding},
      {"a long column",
       "Normalize",
       params(R"({"axes": [0]})"),
       {f32({size, 1}, row)},
       {f32({size, 1}, want)},
       rounding},
  };
}

TEST(Normalize, GivesItsVectorsOnHost) {
  check_vectors(Place::Host, vectors());
}
TEST(Normalize, GivesItsVectorsOnCuda) {
  check_vectors(Place::Device, vectors());
}
TEST(Normalize, ReachesBothEndsOfEveryRangeOnHost) {
  check_vectors(Place::Host, range_vectors());
}
TEST(Normalize, ReachesBothEndsOfEveryRangeOnCuda) {
  check_vectors(Place::Device, range_vectors());
}
TEST(Normalize, ReducesLargeAndManyGroupsOnHost) {
  check_vectors(Place::Host, large_vectors());
}
TEST(Normalize, ReducesLargeAndManyGroupsOnCuda) {
  check_vectors(Place::Device, large_vectors());
}

TEST(Normalize, CountsWhatItKeepsOnADevice) {
  const Array table = f32({4, 2}, iota(8));
  const auto infer = infer_task("Normalize", params(R"({"axes": [1]})"), {table}, Place::Device);
  ASSERT_EQ(infer.own_memory.size(), 1u);
  EXPECT_EQ(infer.own_memory[0].bytes, 32u);
  EXPECT_TRUE(infer.capturable);
}

TEST(Normalize, RefusesWrongAxesTypesAndEmptyGroups) {
  const Array table = f32({2, 3}, iota(6));
  EXPECT_EQ(
      refusal("Normalize", params(R"({"axes": [2]})"), {table}),
      "param \"axes\": expected an axis from -2 to 1, got 2");
  EXPECT_EQ(
      refusal("Normalize", params(R"({"axes": [1, -1]})"), {table}),
      "param \"axes\": expected different axes, got axis 1 twice");
  EXPECT_EQ(
      refusal("Normalize", params(R"({"axes": [0.5]})"), {table}),
      "param \"axes\": expected an array of integers or null, got [0.5]");
  EXPECT_EQ(
      refusal("Normalize", params(R"({"lo": -1e39})"), {table}),
      "param \"lo\": expected a number that fits F32, got -1e+39");
  EXPECT_EQ(
      refusal("Normalize", params(R"({"eps": -1})"), {table}),
      "param \"eps\": expected ≥ 0, got -1");
  EXPECT_EQ(
      refusal("Normalize", {}, {cf32({1}, {{1, 2}})}),
      "input 0: expected U8, U16 or F32, got CF32 [1] on Host; add a \"Conversion\" node "
      "(target F32) before it");
  EXPECT_EQ(
      refusal("Normalize", {}, {f32({0, 3}, {})}),
      "input 0: expected at least one element along the axes, got F32 [0, 3] on Host; an empty "
      "group has no minimum");
}

}  // namespace
}  // namespace holoflow::test
