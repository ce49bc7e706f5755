// SPDX-License-Identifier: LGPL-2.1-or-later
// Filter2D: the mask's values, and filtering against the textbook's transform.
#include "holoflow/tasks/filter2d/filter2d.hh"

#include <algorithm>

#include "tests/tasks/reference_dft.hh"
#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using core::DType;
using core::MemLoc;
using nlohmann::json;
using tasks::band_mask;
using tasks::BandFilter;

constexpr double six_digits = 1e-6;  // what N9 is written with

BandFilter ring(double r_inner, double r_outer, double s_inner, double s_outer) {
  return {.r_outer = r_outer, .s_outer = s_outer, .r_inner = r_inner, .s_inner = s_inner};
}

void expect_row(const std::vector<float> &mask, size_t row, const std::vector<double> &want) {
  for (size_t j = 0; j < want.size(); ++j)
    EXPECT_NEAR(mask[row * want.size() + j], want[j], six_digits) << "[" << row << ", " << j << "]";
}

TEST(BandMask, FallsOverTheOuterEdge) {
  const std::vector<float> mask = band_mask(ring(0, 1, 0, 1), 4, 4, 4);
  expect_row(mask, 0, {1, 1, 0, 1});
  EXPECT_NEAR(mask[1 * 4 + 1], .7956932, six_digits);
  expect_row(mask, 2, {0, 0, 0, 0});
}

TEST(BandMask, StepsAtAnInnerRadiusWithoutEdge) {
  const std::vector<float> mask = band_mask(ring(1, 1, 0, 2), 4, 4, 4);
  expect_row(mask, 0, {0, 1, .7071068, 1});
  EXPECT_NEAR(mask[1 * 4 + 1], .9475477, six_digits);
  EXPECT_NEAR(mask[2 * 4 + 2], .1343456, six_digits);
}

TEST(BandMask, RisesOverTheInnerEdge) {
  const std::vector<float> mask = band_mask(ring(1, 3, 1, 0), 4, 4, 4);
  EXPECT_NEAR(mask[0 * 4 + 1], 0, six_digits);
  EXPECT_NEAR(mask[1 * 4 + 1], .2043068, six_digits);
  expect_row(mask, 2, {1, 1, 1, 1});
}

TEST(BandMask, DependsOnTheDistanceFromTheZeroFrequencyOnly) {
  const BandFilter filter = ring(1.5, 3, 1, 2.5);
  for (const auto &[height, width] : {std::pair<size_t, size_t>{7, 10}, {8, 5}, {1, 6}, {9, 1}}) {
    const std::vector<float> mask = band_mask(filter, height, width, width, 3);
    ASSERT_EQ(mask.size(), height * width);
    for (size_t i = 0; i < height; ++i)
      for (size_t j = 0; j < width; ++j) {
        const double distance = std::hypot(std::min(i, height - i), std::min(j, width - j));
        EXPECT_NEAR(mask[i * width + j], 3 * tasks::band_value(filter, distance), six_digits);
      }
    const size_t half = width / 2 + 1;
    const std::vector<float> half_mask = band_mask(filter, height, width, half, 3);
    for (size_t i = 0; i < height; ++i)
      for (size_t j = 0; j < half; ++j)
        EXPECT_EQ(half_mask[i * half + j], mask[i * width + j]);
  }
}

/// Filters along two axes by the definition: transform, mask, transform back, divide by the points.
Array filtered(const Array &input, size_t row_axis, size_t column_axis, const BandFilter &filter) {
  Complexes values = complexes(input);
  const size_t height = input.shape[row_axis];
  const size_t width = input.shape[column_axis];
  for (const size_t axis : {row_axis, column_axis})
    values = reference_dft(values, input.shape, axis, true);
  for (size_t i = 0; i < values.size(); ++i) {
    size_t rest = i, row = 0, column = 0;
    for (size_t axis = input.shape.size(); axis-- > 0;) {
      if (axis == row_axis)
        row = rest % input.shape[axis];
      if (axis == column_axis)
        column = rest % input.shape[axis];
      rest /= input.shape[axis];
    }
    values[i] *= tasks::band_value(
        filter, std::hypot(std::min(row, height - row), std::min(column, width - column)));
  }
  for (const size_t axis : {row_axis, column_axis})
    values = reference_dft(values, input.shape, axis, false);

  Array output{input.shape, input.dtype, {}};
  const double points = static_cast<double>(height * width);
  for (const std::complex<double> &value : values) {
    output.values.push_back(value.real() / points);
    if (input.dtype == DType::CF32)
      output.values.push_back(value.imag() / points);
  }
  return output;
}

json params_of(const BandFilter &filter) {
  return {
      {"r_outer", filter.r_outer},
      {"r_inner", filter.r_inner},
      {"s_inner", filter.s_inner},
      {"s_outer", filter.s_outer}};
}

// Two transforms of values up to 1, divided by the number of points.
constexpr Tolerance filter_error{.absolute = 2 * transform_error};

/// Filters that keep much, little, only the middle of the spectrum, everything and nothing.
std::vector<TaskVector> textbook_vectors() {
  std::vector<TaskVector> vectors;
  const auto add = [&](const Array &input, size_t row_axis, size_t column_axis) {
    for (const BandFilter &filter :
         {ring(0, 2, 0, 0), ring(1, 4, 1, 2.5), ring(0.5, 1, 0, 0), ring(3, 1000, 2, 0),
          ring(0, 1000, 0, 0), ring(0, 0, 0, 0), ring(0, 0, 0, 3)}) {
      const Array output = filtered(input, row_axis, column_axis, filter);
      for (const Array &layout : {input, scattered(input)})
        vectors.push_back({"", "Filter2D", params_of(filter), {layout}, {output}, filter_error});
    }
  };
  for (const DType dtype : {DType::F32, DType::CF32}) {
    for (const std::vector<size_t> &shape : std::vector<std::vector<size_t>>{
             {1, 1},
             {1, 2},
             {2, 1},
             {2, 2},
             {1, 9},
             {9, 1},
             {3, 3},
             {8, 8},
             {13, 17},
             {12, 30},
             {37, 6}})
      add(noise(dtype, shape), 0, 1);
    add(noise(dtype, {3, 5, 5}), 1, 2);
    // Packed, but at an address that cuFFT refuses for real pictures.
    add(noise(dtype, {4, 6}).strided(core::packed_strides({4, 6}, dtype), size_of(dtype)), 0, 1);
    add(noise(dtype, {2, 3, 6, 1}), 2, 3);
    add(noise(dtype, {2, 6, 7, 3}).with_channel_axis(3), 1, 2);
    add(noise(dtype, {6, 7, 3}).with_channel_axis(2), 0, 1);
  }
  for (TaskVector &vector : vectors)
    vector.name = to_string(vector.inputs[0].desc(Place::Host));
  return vectors;
}

std::vector<TaskVector> simple_vectors() {
  const Array picture = noise(DType::F32, {2, 48, 63});
  const Array field = noise(DType::CF32, {2, 48, 63});
  const Array flat = f32({1, 16, 24}, std::vector<double>(16 * 24, 5));
  const Array black = f32({1, 16, 24}, std::vector<double>(16 * 24, 0));
  return {
      {"all pass", "Filter2D", {{"r_outer", 1e9}}, {picture}, {picture}, filter_error},
      {"all pass", "Filter2D", {{"r_outer", 1e9}}, {field}, {field}, filter_error},
      {"low pass of a constant", "Filter2D", {{"r_outer", 3}}, {flat}, {flat}, filter_error},
      {"high pass of a constant",
       "Filter2D",
       {{"r_outer", 99}, {"r_inner", 2}},
       {flat},
       {black},
       {.absolute = 5 * 2 * transform_error}},
  };
}

const std::vector<TaskVector> &all_textbook_vectors() {
  static const std::vector<TaskVector> vectors = textbook_vectors();
  return vectors;
}

TEST(Filter2D, EqualsTheTextbookOnHost) {
  check_vectors(Place::Host, all_textbook_vectors());
}
TEST(Filter2D, EqualsTheTextbookOnCuda) {
  check_vectors(Place::Device, all_textbook_vectors());
}
TEST(Filter2D, PassesAndRemovesWhatItSaysOnHost) {
  check_vectors(Place::Host, simple_vectors());
}
TEST(Filter2D, PassesAndRemovesWhatItSaysOnCuda) {
  check_vectors(Place::Device, simple_vectors());
}

TEST(Filter2D, PackedInputMayBeOverwritten) {
  const Array picture = noise(DType::F32, {2, 6, 8});
  const core::InferResult packed = infer_task("Filter2D", {{"r_outer", 3}}, {picture});
  ASSERT_EQ(packed.in_place.size(), 1U);
  EXPECT_FALSE(packed.in_place[0].required);
  EXPECT_TRUE(packed.capturable);
  const core::InferResult view = infer_task("Filter2D", {{"r_outer", 3}}, {scattered(picture)});
  EXPECT_TRUE(view.in_place.empty());
  EXPECT_EQ(view.output_descs[0], core::TDesc({2, 6, 8}, DType::F32, MemLoc::Host));
}

TEST(Filter2D, NamesTheMemoryItTakes) {
  const auto bytes_of = [](const Array &input, Place place) {
    size_t bytes = 0;
    for (const core::MemoryNeed &need :
         infer_task("Filter2D", {{"r_outer", 3}}, {input}, place).own_memory)
      bytes += need.bytes;
    return bytes;
  };
  const size_t half = 6 * (8 / 2 + 1);  // of one picture's spectrum
  EXPECT_EQ(bytes_of(noise(DType::F32, {2, 6, 8}), Place::Host), half * (4 + 8));
  EXPECT_EQ(
      bytes_of(noise(DType::F32, {2, 6, 8}), Place::Device),
      half * 4 + 2 * half * 8 + 2 * 6 * 8 * 4);
  EXPECT_EQ(bytes_of(noise(DType::CF32, {2, 6, 8}), Place::Device), 6U * 8 * 4);
  EXPECT_EQ(
      bytes_of(noise(DType::CF32, {6, 8, 2}).with_channel_axis(2), Place::Device),
      6U * 8 * 4 + 2 * 6 * 8 * 8);
}

TEST(Filter2D, RefusesWhatItCannotFilter) {
  const json params = {{"r_outer", 3}};
  EXPECT_EQ(
      refusal("Filter2D", params, {u8({1, 2, 2}, {1, 2, 3, 4})}),
      "input 0: expected F32 or CF32, got U8 [1, 2, 2] on Host; add a \"Conversion\" node "
      "(target F32) before it");
  EXPECT_EQ(
      refusal("Filter2D", params, {f32({3}, {1, 2, 3})}),
      "input 0: expected rank 2 or more, got F32 [3] on Host; a two-dimensional transform "
      "needs two axes");
  EXPECT_EQ(
      refusal("Filter2D", params, {f32({0, 2, 3}, {})}),
      "input 0: expected at least one element, got F32 [0, 2, 3] on Host; an empty picture "
      "has no frequencies");
  EXPECT_EQ(
      refusal("Filter2D", params, {f32({2, 3}, iota(6)).with_channel_axis(1)}),
      "input 0: expected two axes beside the channel axis, got F32 [2, 3] on Host; set "
      "\"as\": \"GRAY\" on Input, or name axes that miss the channel axis");
}

TEST(Filter2D, RefusesWrongParams) {
  const Array picture = f32({1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(
      refusal("Filter2D", {}, {picture}),
      "param \"r_outer\" is required: expected a number (radius below which frequencies pass, "
      "in periods per picture)");
  EXPECT_EQ(
      refusal("Filter2D", {{"r_outer", -1}}, {picture}), "param \"r_outer\": expected ≥ 0, got -1");
  EXPECT_EQ(
      refusal("Filter2D", {{"r_outer", 1}, {"s_inner", "wide"}}, {picture}),
      "param \"s_inner\": expected a number, got \"wide\"");
  EXPECT_EQ(
      refusal("Filter2D", {{"r_outer", 1}, {"r_iner", 1}}, {picture}),
      "unknown param \"r_iner\"; did you mean \"r_inner\"?; expected one of \"r_outer\", "
      "\"r_inner\", \"s_inner\", \"s_outer\"");
}

}  // namespace
}  // namespace holoflow::test
