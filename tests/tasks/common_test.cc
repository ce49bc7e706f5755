// SPDX-License-Identifier: LGPL-2.1-or-later
// Axes and strided loops.
#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/index.hh"
#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using namespace holoflow::tasks;
using nlohmann::json;

core::TDesc packed(std::vector<size_t> shape, std::optional<int> channel_axis = {}) {
  core::TDesc desc(std::move(shape), core::DType::U8, core::MemLoc::Host);
  if (channel_axis)
    desc.media.emplace().channel_axis = channel_axis;
  return desc;
}

using Axes = std::vector<size_t>;

TEST(Axes, CountFromTheEndWhenNegative) {
  EXPECT_EQ(normalise_axes({-1, 0}, 3), (Axes{2, 0}));
  EXPECT_EQ(normalise_axes(-2, 3), (Axes{1}));
  EXPECT_EQ(normalise_axes(nullptr, 3), (Axes{0, 1, 2}));
  EXPECT_EQ(normalise_axes(json::array(), 3), Axes{});
  EXPECT_EQ(other_axes({1, 3}, 4), (Axes{0, 2}));
}

TEST(SpatialAxes, AreTheLastTwoBeforeTheChannelAxis) {
  EXPECT_EQ(spatial_axes(packed({2, 3, 4}), nullptr), (Axes{1, 2}));
  EXPECT_EQ(spatial_axes(packed({5, 2, 3, 4}, 3), nullptr), (Axes{1, 2}));
  EXPECT_EQ(spatial_axes(packed({5, 2, 3, 4}), nullptr), (Axes{2, 3}));
  EXPECT_EQ(spatial_axes(packed({4, 2, 3}, 0), nullptr), (Axes{1, 2}));
  EXPECT_EQ(spatial_axes(packed({7}), nullptr), (Axes{0}));
  EXPECT_EQ(spatial_axes(packed({7, 3}, 1), nullptr), (Axes{0}));
  EXPECT_EQ(spatial_axes(packed({}), nullptr), Axes{});
  EXPECT_EQ(spatial_axes(packed({2, 3, 4}, 2), {0, 1}), (Axes{0, 1}));
}

TEST(SpatialAxes, ObeyWhoNamesTheChannelAxis) {
  EXPECT_EQ(spatial_axes(packed({1, 4, 5, 3}, -1), {-2, -1}), (Axes{2, 3}));
  EXPECT_EQ(spatial_axes(packed({1, 4, 5, 3}, 3), {3}), (Axes{3}));
}

TEST(AxisOrLast, IsTheChannelAxisOnlyWhereThatIsNamed) {
  EXPECT_EQ(axis_or_last(packed({1, 4, 5, 3}, 3), 3), 3u);
  EXPECT_EQ(axis_or_last(packed({1, 4, 5, 3}, 3), -1), 3u);
  EXPECT_EQ(axis_or_last(packed({1, 4, 5, 3}), nullptr), 3u);
  EXPECT_EQ(axis_or_last(packed({3, 4, 5}, 0), nullptr), 2u);
  try {
    (void)axis_or_last(packed({1, 4, 5, 3}, -1), nullptr);
    ADD_FAILURE() << "not refused";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(
        error.what(),
        "param \"axis\": expected an axis of the picture by default, got the channel axis 3 of U8 "
        "[1, 4, 5, 3] on Host; set \"as\": \"GRAY\" on Input, or name the axis");
  }
}

TEST(StridedLoop, MergesAxesThatAllTensorsRunThroughEvenly) {
  const auto whole = make_loop<2>({2, 3, 4}, {Axes{12, 4, 1}, Axes{48, 16, 4}});
  EXPECT_EQ(whole.rank, 1u);
  EXPECT_EQ(whole.count, 24u);
  EXPECT_TRUE(runs_packed(whole, 0, 1));
  EXPECT_TRUE(runs_packed(whole, 1, 4));
  const auto rows = make_loop<2>({2, 3, 4}, {Axes{30, 10, 1}, Axes{48, 16, 4}});
  EXPECT_EQ(rows.rank, 2u);
  EXPECT_FALSE(runs_packed(rows, 0, 1));
  EXPECT_EQ(make_loop<1>({1, 1}, {Axes{99, 7}}).rank, 0u);
}

TEST(StridedLoop, GivesTheSameOffsetsByRowAndByIndex) {
  const auto loop = make_loop<2>({2, 3, 4, 2}, {Axes{100, 0, 7, 3}, Axes{24, 8, 2, 1}});
  std::vector<std::byte> memory(400);
  std::vector<std::pair<uint64_t, uint64_t>> by_row, by_index;
  for_each_row<2>(loop, {memory.data(), memory.data()}, [&](auto at, auto steps, size_t count) {
    for (size_t i = 0; i < count; ++i)
      by_row.emplace_back(
          at[0] + i * steps[0] - memory.data(), at[1] + i * steps[1] - memory.data());
  });
  for (uint32_t i = 0; i < loop.count; ++i) {
    uint64_t at[2];
    loop.offsets(i, at);
    by_index.emplace_back(at[0], at[1]);
  }
  EXPECT_EQ(by_row.size(), 48u);
  EXPECT_EQ(by_row, by_index);
  EXPECT_EQ(by_row.back(), (std::pair<uint64_t, uint64_t>{100 + 21 + 3, 47}));
}

}  // namespace
}  // namespace holoflow::test
