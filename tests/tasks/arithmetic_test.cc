// SPDX-License-Identifier: LGPL-2.1-or-later
// Add, Subtract, Multiply, Divide: promotion, wrap, broadcast, refusals.
#include <limits>

#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<TaskVector> integer_vectors() {
  return {
      {"U8 wraps",
       "Add",
       {},
       {u8({3}, {200, 255, 1}), u8({3}, {100, 1, 2})},
       {u8({3}, {44, 0, 3})}},
      {"U8 wraps", "Subtract", {}, {u8({2}, {1, 0}), u8({2}, {2, 255})}, {u8({2}, {255, 1})}},
      {"U8 · U8 stays U8",
       "Multiply",
       {},
       {u8({2}, {16, 15}), u8({2}, {16, 17})},
       {u8({2}, {0, 255})}},
      {"U16 wraps without overflow of int",
       "Multiply",
       {},
       {u16({2}, {65535, 256}), u16({2}, {65535, 256})},
       {u16({2}, {1, 0})}},
      {"U16 wraps", "Subtract", {}, {u16({1}, {0}), u16({1}, {1})}, {u16({1}, {65535})}},
      {"cut, and 0 for division by 0",
       "Divide",
       {},
       {u8({4}, {7, 255, 0, 9}), u8({4}, {2, 0, 0, 10})},
       {u8({4}, {3, 0, 0, 0})}},
      {"cut, and 0 for division by 0",
       "Divide",
       {},
       {u16({2}, {65535, 5}), u16({2}, {2, 0})},
       {u16({2}, {32767, 0})}},
      {"U8 with U16", "Add", {}, {u8({2}, {255, 1}), u16({2}, {1, 65535})}, {u16({2}, {256, 0})}},
      {"U16 with U8", "Subtract", {}, {u16({1}, {1}), u8({1}, {2})}, {u16({1}, {65535})}},
      {"a long odd row",
       "Add",
       {},
       {u8({1031}, std::vector<double>(1031, 250)), u8({1031}, std::vector<double>(1031, 10))},
       {u8({1031}, std::vector<double>(1031, 4))}},
  };
}

std::vector<TaskVector> real_vectors() {
  return {
      {"floats",
       "Add",
       {},
       {f32({3}, {1, inf, nan}), f32({3}, {2, -inf, 1})},
       {f32({3}, {3, nan, nan})}},
      {"floats",
       "Divide",
       {},
       {f32({4}, {1, -1, 0, 6}), f32({4}, {0, 0, 0, 4})},
       {f32({4}, {inf, -inf, nan, 1.5})}},
      {"U8 with F32",
       "Multiply",
       {},
       {u8({2}, {200, 3}), f32({2}, {2, -0.5})},
       {f32({2}, {400, -1.5})}},
      {"F32 with U16",
       "Subtract",
       {},
       {f32({2}, {0.5, 1}), u16({2}, {65535, 1})},
       {f32({2}, {-65534.5, 0})}},
      {"complex",
       "Multiply",
       {},
       {cf32({2}, {{1, 2}, {0, 1}}), cf32({2}, {{3, -1}, {0, 1}})},
       {cf32({2}, {{5, 5}, {-1, 0}})}},
      {"complex",
       "Divide",
       {},
       {cf32({3}, {{5, 5}, {1, 0}, {4, 2}}), cf32({3}, {{3, -1}, {0, 2}, {2, 0}})},
       {cf32({3}, {{1, 2}, {0, -0.5}, {2, 1}})},
       {1e-6, 0}},
      {"complex without overflow",
       "Divide",
       {},
       {cf32({1}, {{3e38, 3e38}}), cf32({1}, {{3e38, 3e38}})},
       {cf32({1}, {{1, 0}})},
       {1e-6, 0}},
      {"complex by infinity",
       "Divide",
       {},
       {cf32({2}, {{1, 2}, {1, 2}}), cf32({2}, {{inf, 1}, {1, -inf}})},
       {cf32({2}, {{0, 0}, {0, 0}})}},
      {"complex by 0",
       "Divide",
       {},
       {cf32({1}, {{1, -1}}), cf32({1}, {{0, 0}})},
       {cf32({1}, {{inf, -inf}})}},
      {"U8 with CF32", "Add", {}, {u8({1}, {3}), cf32({1}, {{1, 2}})}, {cf32({1}, {{4, 2}})}},
      {"CF32 with F32",
       "Subtract",
       {},
       {cf32({1}, {{1, 2}}), f32({1}, {3})},
       {cf32({1}, {{-2, 2}})}},
  };
}

std::vector<TaskVector> broadcast_vectors() {
  const Array table = f32({2, 3}, {0, 1, 2, 3, 4, 5});
  return {
      {"row", "Add", {}, {table, f32({3}, {10, 20, 30})}, {f32({2, 3}, {10, 21, 32, 13, 24, 35})}},
      {"column",
       "Add",
       {},
       {table, f32({2, 1}, {10, 20})},
       {f32({2, 3}, {10, 11, 12, 23, 24, 25})}},
      {"both",
       "Subtract",
       {},
       {f32({2, 1}, {10, 20}), f32({3}, {1, 2, 3})},
       {f32({2, 3}, {9, 8, 7, 19, 18, 17})}},
      {"scalar right", "Multiply", {}, {table, f32({}, {2})}, {f32({2, 3}, {0, 2, 4, 6, 8, 10})}},
      {"scalar left",
       "Subtract",
       {},
       {f32({1}, {1}), table},
       {f32({2, 3}, {1, 0, -1, -2, -3, -4})}},
      {"two scalars", "Add", {}, {f32({}, {1}), f32({}, {2})}, {f32({}, {3})}},
      {"middle axis",
       "Add",
       {},
       {u8({2, 2, 2}, iota(8)), u8({2, 1, 2}, {10, 20, 30, 40})},
       {u8({2, 2, 2}, {10, 21, 12, 23, 34, 45, 36, 47})}},
      {"views",
       "Subtract",
       {},
       {scattered(table), f32({2, 3}, {0, 2, 4, 1, 3, 5}).strided({4, 8}, 8)},
       {f32({2, 3}, {0, -1, -2, 2, 1, 0})}},
      {"empty with 1", "Add", {}, {f32({0, 3}, {}), f32({1, 3}, {1, 2, 3})}, {f32({0, 3}, {})}},
      {"frames with a background",
       "Subtract",
       {},
       {u16({2, 2, 2}, {10, 20, 30, 40, 11, 21, 31, 41}), u16({2, 2}, {1, 2, 3, 4})},
       {u16({2, 2, 2}, {9, 18, 27, 36, 10, 19, 28, 37})}},
  };
}

TEST(Arithmetic, GivesItsIntegerVectorsOnHost) {
  check_vectors(Place::Host, integer_vectors());
}
TEST(Arithmetic, GivesItsIntegerVectorsOnCuda) {
  check_vectors(Place::Device, integer_vectors());
}
TEST(Arithmetic, GivesItsRealVectorsOnHost) {
  check_vectors(Place::Host, real_vectors());
}
TEST(Arithmetic, GivesItsRealVectorsOnCuda) {
  check_vectors(Place::Device, real_vectors());
}
TEST(Arithmetic, BroadcastsAsNumPyOnHost) {
  check_vectors(Place::Host, broadcast_vectors());
}
TEST(Arithmetic, BroadcastsAsNumPyOnCuda) {
  check_vectors(Place::Device, broadcast_vectors());
}

TEST(Arithmetic, SharesTheInputThatHasTheOutputsShapeAndType) {
  const Array row = f32({3}, {1, 2, 3});
  const Array table = f32({2, 3}, iota(6));
  EXPECT_EQ(infer_task("Add", {}, {table, row}).in_place.at(0).in_idx, 0);
  EXPECT_EQ(infer_task("Add", {}, {row, table}).in_place.at(0).in_idx, 1);
  EXPECT_TRUE(infer_task("Add", {}, {row, f32({2, 1}, {1, 2})}).in_place.empty());
  EXPECT_TRUE(infer_task("Add", {}, {u8({1}, {1}), u16({}, {1})}).in_place.empty());
}

TEST(Arithmetic, TakesTheAnnotationOfTheInputWithItsShape) {
  const Array row = f32({3}, {1, 2, 3});
  const Array picture = f32({1, 2, 3}, iota(6)).with_channel_axis(2);
  EXPECT_EQ(infer_task("Add", {}, {picture, row}).output_descs[0].media->channel_axis, 2);
  EXPECT_EQ(infer_task("Add", {}, {row, picture}).output_descs[0].media->channel_axis, 2);
  EXPECT_FALSE(infer_task("Add", {}, {row, row}).output_descs[0].media);
}

TEST(Arithmetic, RefusesShapesThatDoNotBroadcast) {
  EXPECT_EQ(
      refusal("Add", {}, {f32({2, 3}, iota(6)), f32({2, 4}, iota(8))}),
      "input 1 (\"b\"): expected a shape that broadcasts with input 0 (F32 [2, 3] on Host), "
      "got F32 [2, 4] on Host: axis -1 has 3 and 4 elements; make them equal, or one of them "
      "1");
  const std::string text = refusal("Divide", {}, {u8({3, 1, 2}, iota(6)), u8({2, 5, 2}, iota(20))});
  EXPECT_NE(text.find("axis -3 has 3 and 2 elements"), std::string::npos) << text;
}

TEST(Arithmetic, RefusesInputsInDifferentPlaces) {
  const core::TDesc descs[] = {
      core::TDesc({2}, core::DType::U8, core::MemLoc::Device),
      core::TDesc({2}, core::DType::U8, core::MemLoc::Host)};
  try {
    (void)registry(Place::Host).get("Add").infer(descs, {});
    ADD_FAILURE() << "not refused";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(
        error.what(),
        "input 1: expected a tensor on Device like input 0, got U8 [2] on Host; add an "
        "\"Upload\" node before it");
  }
}

TEST(Arithmetic, NamesTheMissingInput) {
  EXPECT_EQ(
      refusal("Add", {}, {u8({1}, {1})}),
      "expected 2 inputs, got 1; connect a node to input 1 (\"b\")");
}

}  // namespace
}  // namespace holoflow::test
