// SPDX-License-Identifier: LGPL-2.1-or-later
// FFTShift and IFFTShift: NumPy's values, every element type, odd lengths and views.
#include <algorithm>

#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using core::DType;
using nlohmann::json;

Array of(DType dtype, std::vector<size_t> shape, const std::vector<double> &values) {
  Array array{std::move(shape), dtype, {}};
  for (const double value : values) {
    array.values.push_back(value);
    if (dtype == DType::CF32)
      array.values.push_back(-value);
  }
  return array;
}

constexpr DType all_dtypes[] = {DType::U8, DType::U16, DType::F32, DType::CF32};

/// N1 and N2, for each element type, packed and strided.
std::vector<TaskVector> numpy_vectors() {
  std::vector<TaskVector> vectors;
  const auto add = [&](const std::string &name, const std::string &type, const json &params,
                       const Array &input, const Array &output) {
    vectors.push_back({name, type, params, {input}, {output}});
    vectors.push_back({name + ", strided", type, params, {scattered(input)}, {output}});
  };
  const std::vector<double> both = {10, 11, 8, 9, 2, 3, 0, 1, 6, 7, 4, 5};
  for (const DType dtype : all_dtypes) {
    const Array odd = of(dtype, {5}, iota(5));
    add("N1", "FFTShift", {}, odd, of(dtype, {5}, {3, 4, 0, 1, 2}));
    add("N1", "IFFTShift", {}, odd, of(dtype, {5}, {2, 3, 4, 0, 1}));
    const Array picture = of(dtype, {3, 4}, iota(12));
    add("N2", "FFTShift", {}, picture, of(dtype, {3, 4}, both));
    add("N2", "FFTShift", {{"axes", {0, 1}}}, picture, of(dtype, {3, 4}, both));
    add("N2", "FFTShift", {{"axes", {-2}}}, picture,
        of(dtype, {3, 4}, {8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7}));
    add("axes that name nothing", "FFTShift", {{"axes", json::array()}}, picture, picture);
  }
  return vectors;
}

/// What the definition says: output i reads the input at (i + start) mod n along the shifted axes.
Array shifted(const Array &input, const std::vector<size_t> &axes, bool to_centre) {
  const size_t parts = input.dtype == DType::CF32 ? 2 : 1;
  Array output{input.shape, input.dtype, {}};
  for (size_t i = 0; i < input.values.size() / parts; ++i) {
    size_t rest = i, from = 0, step = 1;
    for (size_t axis = input.shape.size(); axis-- > 0;) {
      const size_t n = input.shape[axis];
      const bool named = std::find(axes.begin(), axes.end(), axis) != axes.end();
      const size_t start = !named ? 0 : to_centre ? (n + 1) / 2 : n / 2;
      from += (rest % n + start) % n * step;
      rest /= n;
      step *= n;
    }
    for (size_t part = 0; part < parts; ++part)
      output.values.push_back(input.values[from * parts + part]);
  }
  return output;
}

std::vector<TaskVector> axes_vectors() {
  std::vector<TaskVector> vectors;
  const auto add = [&](const Array &input, const json &params, const std::vector<size_t> &axes) {
    for (const bool to_centre : {true, false}) {
      const std::string type = to_centre ? "FFTShift" : "IFFTShift";
      vectors.push_back({"axes", type, params, {input}, {shifted(input, axes, to_centre)}});
      vectors.push_back(
          {"axes of a view", type, params, {scattered(input)}, {shifted(input, axes, to_centre)}});
    }
  };
  for (const DType dtype : all_dtypes) {
    const Array batch = of(dtype, {2, 3, 5}, iota(30));
    add(batch, json::object(), {1, 2});
    add(batch, {{"axes", {0}}}, {0});
    add(batch, {{"axes", {-1, 0}}}, {0, 2});
    add(batch, {{"axes", {0, 1, 2}}}, {0, 1, 2});
    add(of(dtype, {1, 4, 3, 3}, iota(36)).with_channel_axis(3), json::object(), {1, 2});
    add(of(dtype, {1, 1}, {7}), json::object(), {0, 1});
  }
  add(of(DType::F32, {6, 5}, iota(30)).strided({4, 24}), json::object(), {0, 1});  // transposed
  add(of(DType::F32, {1, 2, 2, 3, 1, 2, 3, 2}, iota(144)), {{"axes", {1, 3, 6}}}, {1, 3, 6});
  vectors.push_back({"no rows", "FFTShift", {}, {f32({2, 0, 3}, {})}, {f32({2, 0, 3}, {})}});
  return vectors;
}

void check_undoes(Place place) {
  if (place == Place::Device && !have_gpu())
    GTEST_SKIP() << "no GPU";
  const Array input = of(DType::U16, {3, 5, 7}, iota(105));
  for (const json &params : {json::object(), json{{"axes", {0, 1, 2}}}}) {
    const TaskRun there = run_task(place, "FFTShift", params, {input});
    EXPECT_NE(there.outputs[0].values, input.values);
    expect_equal(run_task(place, "IFFTShift", params, there.outputs).outputs[0], input);
  }
}

TEST(FftShift, GivesNumpysValuesOnHost) {
  check_vectors(Place::Host, numpy_vectors());
}
TEST(FftShift, GivesNumpysValuesOnCuda) {
  check_vectors(Place::Device, numpy_vectors());
}
TEST(FftShift, RotatesTheNamedAxesOnHost) {
  check_vectors(Place::Host, axes_vectors());
}
TEST(FftShift, RotatesTheNamedAxesOnCuda) {
  check_vectors(Place::Device, axes_vectors());
}
TEST(FftShift, IsUndoneByItsInverseForOddLengthsOnHost) {
  check_undoes(Place::Host);
}
TEST(FftShift, IsUndoneByItsInverseForOddLengthsOnCuda) {
  check_undoes(Place::Device);
}

TEST(FftShift, OutputIsPackedAndNeverInPlace) {
  const core::InferResult infer =
      infer_task("FFTShift", {}, {u8({3, 4}, iota(12)).strided({9, 2})});
  EXPECT_EQ(infer.output_descs[0], core::TDesc({3, 4}, DType::U8, core::MemLoc::Host));
  EXPECT_TRUE(infer.in_place.empty());
  EXPECT_TRUE(infer.capturable);
}

TEST(FftShift, RotatesColoursWhereTheirAxisIsNamed) {
  Array pixels = u8({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}).with_channel_axis(3);
  pixels.media->pixel_format = "BGR";
  check_vectors(
      Place::Host,
      {{"colours",
        "FFTShift",
        {{"axes", {2, 3}}},
        {pixels},
        {u8({1, 1, 2, 3}, {6, 4, 5, 3, 1, 2})}}});
  const auto format_after = [&](const json &axes) {
    return infer_task("FFTShift", {{"axes", axes}}, {pixels}).output_descs[0].media->pixel_format;
  };
  EXPECT_EQ(format_after({3}), "") << "the order of the colours is another one";
  EXPECT_EQ(format_after({1, 2}), "BGR");
  EXPECT_EQ(format_after(nullptr), "BGR");
}

TEST(FftShift, RefusesWrongAxes) {
  const Array picture = u8({1, 2, 2, 3}, iota(12)).with_channel_axis(3);
  EXPECT_EQ(
      refusal("FFTShift", {{"axes", {4}}}, {picture}),
      "param \"axes\": expected an axis from -4 to 3, got 4");
  EXPECT_EQ(
      refusal("FFTShift", {{"axes", {2, -2}}}, {picture}),
      "param \"axes\": expected different axes, got axis 2 twice");
  EXPECT_EQ(
      refusal("IFFTShift", {{"axes", 1}}, {picture}),
      "param \"axes\": expected an array of integers or null, got 1");
}

}  // namespace
}  // namespace holoflow::test
