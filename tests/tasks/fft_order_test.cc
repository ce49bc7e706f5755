// SPDX-License-Identifier: LGPL-2.1-or-later
// How the GPU's tasks of the Fourier family lay out their arrays, looked at on the host.
#include "holoflow/tasks/fft/fft.hh"
#include "holoflow/tasks/fft/half_spectrum.hh"
#include "tests/tasks/reference_dft.hh"
#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using core::DType;
using nlohmann::json;

TEST(HalfSpectrum, FindsTheColumnsThatMirrorThemselves) {
  using tasks::BatchPlace;
  const tasks::HalfSpectrumEdges first = tasks::half_spectrum_edges({5, 6}, 3, BatchPlace::First);
  EXPECT_EQ(first.batch, 3u);
  EXPECT_EQ(first.rows, 5u);
  EXPECT_EQ(first.row_stride, 4u);
  EXPECT_EQ(first.batch_stride, 20u);
  EXPECT_EQ(first.last_column, 3u);
  const tasks::HalfSpectrumEdges last = tasks::half_spectrum_edges({5, 6}, 3, BatchPlace::Last);
  EXPECT_EQ(last.row_stride, 12u);
  EXPECT_EQ(last.batch_stride, 1u);
  EXPECT_EQ(last.last_column, 9u);
  const tasks::HalfSpectrumEdges odd = tasks::half_spectrum_edges({7}, 2, BatchPlace::First);
  EXPECT_EQ(odd.rows, 1u);
  EXPECT_EQ(odd.batch_stride, 4u);
  EXPECT_EQ(odd.last_column, 0u);
}

TEST(FftOrder, PutsTransformsSideBySideWhereThatMovesNothing) {
  const auto order_of = [](const char *type, const json &params, const Array &array) {
    for (const tasks::FftType &known : tasks::fft_types)
      if (known.type == std::string(type)) {
        json complete{
            {"axis", -1},
            {"axes", nullptr},
            {"norm", "backward"},
            {"n", nullptr},
            {"width", nullptr}};
        complete.update(params);
        return tasks::fft_order(tasks::make_fft_problem(known, array.desc(Place::Host), complete));
      }
    throw std::logic_error("no such type");
  };
  const Array frames = noise(DType::F32, {6, 3, 5});
  const tasks::TransformOrder along = order_of("RFFT", {{"axis", 0}}, frames);
  EXPECT_EQ(along.batch_place, tasks::BatchPlace::Last);
  EXPECT_TRUE(along.input_is_in_order);
  EXPECT_TRUE(along.output_is_in_order);
  EXPECT_EQ(along.lengths, std::vector<size_t>{6});
  EXPECT_EQ(along.batch, 15u);
  // The first frames of a longer stretch lie in order too.
  EXPECT_TRUE(order_of("RFFT", {{"axis", 0}, {"n", 4}}, frames).input_is_in_order);
  EXPECT_FALSE(order_of("RFFT", {{"axis", 0}, {"n", 8}}, frames).fills_array);
  EXPECT_EQ(order_of("RFFT", json::object(), frames).batch_place, tasks::BatchPlace::First);
  EXPECT_FALSE(order_of("RFFT", {{"axis", 1}}, frames).output_is_in_order);
  EXPECT_EQ(order_of("RFFT2", {{"axes", {0, 1}}}, frames).batch_place, tasks::BatchPlace::Last);
}

/// Walks the copy that appends zeros on the host.
TEST(FftOrder, AppendsZerosBehindTheElements) {
  const core::TDesc input({2, 3}, DType::F32, core::MemLoc::Host);
  const core::TDesc output({2, 5}, DType::CF32, core::MemLoc::Host);
  const tasks::TransformOrder order =
      tasks::make_transform_order(input, output, {1}, {.array_shape = {2, 5}});
  ASSERT_EQ(order.into_array.count, 6u);
  for (size_t i = 0; i < 6; ++i) {
    uint64_t at[2];
    order.into_array.offsets(i, at);
    EXPECT_EQ(at[0], i * 4);
    EXPECT_EQ(at[1], (i / 3 * 5 + i % 3) * 8);
  }
}

}  // namespace
}  // namespace holoflow::test
