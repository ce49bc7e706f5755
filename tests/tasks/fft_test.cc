// SPDX-License-Identifier: LGPL-2.1-or-later
// FFT2 and IFFT2 against the textbook's transform, on Host and on CUDA.
#include "holoflow/tasks/fft/transform_order.hh"
#include "tests/tasks/reference_dft.hh"
#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using core::DType;
using nlohmann::json;

struct Case {
  std::string type;
  Array input;
  std::vector<size_t> axes;  // what the transform is expected to run along
  json params = json::object();
};

double norm_factor(const Case &test) {
  double points = 1;
  for (const size_t axis : test.axes)
    points *= static_cast<double>(test.input.shape[axis]);
  const std::string norm = test.params.value("norm", "backward");
  if (norm == "ortho")
    return 1 / std::sqrt(points);
  return (norm == "forward") == (test.type == "FFT2") ? 1 / points : 1;
}

std::string shape_text(const Array &array) {
  std::string text(to_string(array.dtype));
  for (const size_t extent : array.shape)
    text += " " + std::to_string(extent);
  return text + (array.strides ? " strided" : "");
}

TaskVector vector_of(const Case &test) {
  Complexes values = complexes(test.input);
  for (const size_t axis : test.axes)
    values = reference_dft(values, test.input.shape, axis, test.type == "FFT2");
  const double factor = norm_factor(test);
  for (std::complex<double> &value : values)
    value *= factor;
  const double error = transform_error * euclidean_norm(test.input) * factor;
  return {shape_text(test.input),           test.type,          test.params, {test.input},
          {cf32(test.input.shape, values)}, {.absolute = error}};
}

/// Sizes of every sort: one, powers of two, odd, prime, beyond the primes with kernels of their
/// own.
std::vector<Case> size_cases() {
  std::vector<Case> cases;
  const std::vector<std::vector<size_t>> shapes = {{1, 1},   {1, 7},   {7, 1},   {1, 2},   {2, 1},
                                                   {2, 2},   {3, 3},   {4, 4},   {5, 8},   {13, 17},
                                                   {16, 30}, {131, 2}, {2, 131}, {137, 5}, {127, 3},
                                                   {64, 48}, {1, 997}, {997, 1}, {45, 131}};
  for (const std::vector<size_t> &shape : shapes)
    for (const DType dtype : {DType::F32, DType::CF32})
      for (const char *type : {"FFT2", "IFFT2"})
        cases.push_back({type, noise(dtype, shape), {0, 1}});
  return cases;
}

std::vector<Case> norm_cases() {
  std::vector<Case> cases;
  for (const char *norm : {"backward", "ortho", "forward"})
    for (const DType dtype : {DType::F32, DType::CF32})
      for (const char *type : {"FFT2", "IFFT2"}) {
        cases.push_back({type, noise(dtype, {2, 6, 5}), {1, 2}, {{"norm", norm}}});
        cases.push_back(
            {type, noise(dtype, {6, 2, 5}), {0, 2}, {{"norm", norm}, {"axes", {0, 2}}}});
      }
  return cases;
}

/// Axes pairs, batches, colour pictures and views, each in a packed and a strided layout.
std::vector<Case> layout_cases() {
  std::vector<Case> cases;
  const auto add = [&](const Array &array, std::vector<size_t> axes, const json &params) {
    for (const char *type : {"FFT2", "IFFT2"}) {
      cases.push_back({type, array, axes, params});
      cases.push_back({type, scattered(array), axes, params});
    }
  };
  for (const DType dtype : {DType::F32, DType::CF32}) {
    add(noise(dtype, {3, 5, 8}), {1, 2}, json::object());
    add(noise(dtype, {3, 5, 8}), {1, 2}, {{"axes", nullptr}});
    add(noise(dtype, {3, 5, 8}), {1, 2}, {{"axes", {-1, -2}}});
    add(noise(dtype, {4, 3, 5}), {0, 1}, {{"axes", {0, 1}}});
    add(noise(dtype, {4, 3, 5}), {0, 2}, {{"axes", {-1, 0}}});
    add(noise(dtype, {7, 1, 5}), {0, 1}, {{"axes", {1, 0}}});
    add(noise(dtype, {2, 3, 4, 5}), {1, 3}, {{"axes", {3, 1}}});
    add(noise(dtype, {2, 3, 4, 5}), {0, 1}, {{"axes", {0, -3}}});
    add(noise(dtype, {2, 4, 6, 3}).with_channel_axis(3), {1, 2}, json::object());
    add(noise(dtype, {2, 4, 6, 3}).with_channel_axis(3), {2, 3}, {{"axes", {-1, 2}}});
    add(noise(dtype, {1, 2, 1, 2, 1, 2, 3, 4}), {6, 7}, json::object());
  }
  // A transposed view, every second column, and one row that stands for four.
  cases.push_back({"FFT2", noise(DType::F32, {6, 9}).strided({4, 24}), {0, 1}});
  cases.push_back({"FFT2", noise(DType::CF32, {2, 4, 5}).strided({320, 80, 16}, 8), {1, 2}});
  Array rows = f32({4, 3}, {1, 5, 2, 1, 5, 2, 1, 5, 2, 1, 5, 2});
  cases.push_back({"FFT2", rows.strided({0, 4}), {0, 1}});
  return cases;
}

std::vector<TaskVector> vectors_of(const std::vector<Case> &cases) {
  std::vector<TaskVector> vectors;
  for (const Case &test : cases)
    vectors.push_back(vector_of(test));
  return vectors;
}

const std::vector<TaskVector> &all_vectors() {
  static const std::vector<TaskVector> vectors = [] {
    std::vector<TaskVector> all = vectors_of(size_cases());
    for (const auto &cases : {norm_cases(), layout_cases()})
      for (TaskVector &vector : vectors_of(cases))
        all.push_back(std::move(vector));
    all.push_back({"no frames", "FFT2", {}, {f32({0, 4, 4}, {})}, {cf32({0, 4, 4}, {})}});
    return all;
  }();
  return vectors;
}

/// N3's row of one signal, as a picture of one row. NumPy's values are exact.
std::vector<TaskVector> norm_vectors() {
  const Array signal = f32({1, 4}, {1, 2, 3, 4});
  const Tolerance rounding{.absolute = 1e-6};
  return {
      {"backward",
       "FFT2",
       {{"norm", "backward"}},
       {signal},
       {cf32({1, 4}, {10, {-2, 2}, -2, {-2, -2}})},
       rounding},
      {"ortho",
       "FFT2",
       {{"norm", "ortho"}},
       {signal},
       {cf32({1, 4}, {5, {-1, 1}, -1, {-1, -1}})},
       rounding},
      {"forward",
       "FFT2",
       {{"norm", "forward"}},
       {signal},
       {cf32({1, 4}, {2.5, {-.5, .5}, -.5, {-.5, -.5}})},
       rounding},
  };
}

void check_round_trip(Place place, const Array &input, const json &params) {
  SCOPED_TRACE(shape_text(input) + " " + params.dump());
  const TaskRun forward = run_task(place, "FFT2", params, {input});
  const TaskRun back = run_task(place, "IFFT2", params, forward.outputs);
  // Two transforms' rounding, brought back to the input's scale.
  const double error = 2 * transform_error;
  expect_equal(back.outputs[0], cf32(input.shape, complexes(input)), {.absolute = error});
}

void check_round_trips(Place place) {
  if (place == Place::Device && !have_gpu())
    GTEST_SKIP() << "no GPU";
  for (const char *norm : {"backward", "ortho", "forward"})
    for (const DType dtype : {DType::F32, DType::CF32}) {
      check_round_trip(place, noise(dtype, {2, 31, 44}), {{"norm", norm}});
      check_round_trip(place, noise(dtype, {12, 3, 7}), {{"norm", norm}, {"axes", {0, 1}}});
      check_round_trip(place, noise(dtype, {131, 139}), {{"norm", norm}});
    }
}

TEST(Fft2, EqualsTheTextbookOnHost) {
  check_vectors(Place::Host, all_vectors());
}
TEST(Fft2, EqualsTheTextbookOnCuda) {
  check_vectors(Place::Device, all_vectors());
}
TEST(Fft2, ScalesByNormOnHost) {
  check_vectors(Place::Host, norm_vectors());
}
TEST(Fft2, ScalesByNormOnCuda) {
  check_vectors(Place::Device, norm_vectors());
}
TEST(Fft2, RoundTripGivesTheInputOnHost) {
  check_round_trips(Place::Host);
}
TEST(Fft2, RoundTripGivesTheInputOnCuda) {
  check_round_trips(Place::Device);
}

TEST(Fft2, OutputIsPackedAndMeansWhatTheInputMeans) {
  const Array picture = scattered(noise(DType::F32, {2, 4, 6, 3})).with_channel_axis(3);
  const core::InferResult infer = infer_task("FFT2", {}, {picture});
  EXPECT_EQ(infer.output_descs[0], core::TDesc({2, 4, 6, 3}, DType::CF32, core::MemLoc::Host));
  EXPECT_EQ(infer.output_descs[0].media->channel_axis, 3);
  EXPECT_TRUE(infer.in_place.empty());
  EXPECT_TRUE(infer.capturable);
}

TEST(Fft2, OnlyAxesWithOthersBetweenThemTakeStagingMemoryOnTheDevice) {
  const Array batch = noise(DType::F32, {4, 3, 5});
  EXPECT_TRUE(infer_task("FFT2", {}, {batch}, Place::Device).own_memory.empty());
  EXPECT_TRUE(infer_task("FFT2", {{"axes", {0, 1}}}, {batch}, Place::Device).own_memory.empty());
  const core::InferResult infer = infer_task("FFT2", {{"axes", {0, 2}}}, {batch}, Place::Device);
  ASSERT_EQ(infer.own_memory.size(), 1U);
  EXPECT_EQ(infer.own_memory[0].mem_loc, core::MemLoc::Device);
  EXPECT_EQ(infer.own_memory[0].bytes, 4U * 3 * 5 * 8);
  EXPECT_TRUE(infer_task("FFT2", {{"axes", {0, 2}}}, {batch}).own_memory.empty());
}

TEST(Fft2, RefusesWhatItCannotTransform) {
  EXPECT_EQ(
      refusal("FFT2", {}, {u8({1, 2, 2}, {1, 2, 3, 4})}),
      "input 0: expected F32 or CF32, got U8 [1, 2, 2] on Host; add a \"Conversion\" node "
      "(target F32) before it");
  EXPECT_EQ(
      refusal("FFT2", {}, {f32({3}, {1, 2, 3})}),
      "input 0: expected rank 2 or more, got F32 [3] on Host; a two-dimensional transform "
      "needs two axes");
  EXPECT_EQ(
      refusal("IFFT2", {}, {f32({2, 0, 3}, {})}),
      "input 0: expected at least one element along axis 1, got F32 [2, 0, 3] on Host; a "
      "transform of no points has no result");
  EXPECT_EQ(
      refusal("FFT2", {}, {f32({2, 3}, iota(6)).with_channel_axis(1)}),
      "input 0: expected two axes beside the channel axis, got F32 [2, 3] on Host; set "
      "\"as\": \"GRAY\" on Input, or name axes that miss the channel axis");
}

TEST(Fft2, RefusesWrongParams) {
  const Array picture = f32({1, 2, 2, 3}, iota(12)).with_channel_axis(3);
  EXPECT_EQ(
      refusal("FFT2", {{"axes", {1}}}, {picture}), "param \"axes\": expected two axes, got [1]");
  EXPECT_EQ(
      refusal("FFT2", {{"axes", {1, -3}}}, {picture}),
      "param \"axes\": expected different axes, got axis 1 twice");
  EXPECT_EQ(
      refusal("FFT2", {{"axes", {1, 4}}}, {picture}),
      "param \"axes\": expected an axis from -4 to 3, got 4");
  EXPECT_EQ(
      refusal("IFFT2", {{"norm", "orto"}}, {picture}),
      "param \"norm\": expected backward, ortho or forward, got \"orto\"; did you mean "
      "\"ortho\"?");
  EXPECT_EQ(
      refusal("IFFT2", {{"axis", 1}}, {picture}),
      "unknown param \"axis\"; did you mean \"axes\"?; expected one of \"axes\", \"norm\"");
}

/// Walks a device task's copies on the host: into cuFFT's order and back gives the input, and in
/// that order every transformed row lies in one run.
void check_order(const Array &array, const std::vector<size_t> &axes) {
  const core::TDesc input = array.desc(Place::Host);
  const core::TDesc output(array.shape, array.dtype, core::MemLoc::Host);
  const tasks::TransformOrder order = tasks::make_transform_order(input, output, axes);
  const size_t size = size_of(array.dtype);
  const size_t count = order.from_input.count;
  ASSERT_EQ(count, output.num_elements());
  ASSERT_EQ(order.to_output.count, count);

  const size_t row_axis = axes.back();
  const size_t row = array.shape[row_axis];
  std::vector<uint64_t> at(count);  // where in the input each element of the packed array lies
  for (size_t i = 0; i < count; ++i) {
    uint64_t offset[1];
    order.from_input.offsets(i, offset);
    at[i] = offset[0];
    if (i % row == 0)
      continue;
    EXPECT_EQ(at[i], at[i - 1] + input.strides[row_axis]);
  }
  for (size_t i = 0; i < count; ++i) {
    uint64_t offset[1];
    order.to_output.offsets(i, offset);
    size_t rest = i;
    size_t want = 0;
    for (size_t axis = array.shape.size(); axis-- > 0;) {
      want += rest % array.shape[axis] * input.strides[axis];
      rest /= array.shape[axis];
    }
    EXPECT_EQ(at[offset[0] / size], want) << "element " << i;
  }
}

TEST(TransformOrder, BringsAxesToTheEndAndBack) {
  check_order(noise(DType::F32, {4, 3, 5}), {1, 2});
  check_order(noise(DType::F32, {4, 3, 5}), {0, 1});
  check_order(scattered(noise(DType::CF32, {4, 3, 5})), {0, 2});
  check_order(scattered(noise(DType::CF32, {2, 3, 4, 5})), {3, 1});
  check_order(noise(DType::F32, {6, 9}).strided({4, 24}), {0, 1});
}

TEST(TransformOrder, SeesWhereNothingHasToBeMoved) {
  const core::TDesc packed({2, 4, 1, 6}, DType::F32, core::MemLoc::Host);
  const auto order_of = [&](const core::TDesc &input, const std::vector<size_t> &axes) {
    return tasks::make_transform_order(input, packed, axes);
  };
  EXPECT_TRUE(order_of(packed, {2, 3}).input_is_in_order);
  EXPECT_TRUE(order_of(packed, {1, 3}).output_is_in_order);  // axis 2 has one element
  EXPECT_FALSE(order_of(packed, {0, 3}).input_is_in_order);
  EXPECT_FALSE(order_of(packed, {0, 3}).output_is_in_order);
  const core::TDesc strided({2, 4, 1, 6}, DType::F32, core::MemLoc::Host, {192, 48, 48, 8});
  EXPECT_FALSE(order_of(strided, {1, 3}).input_is_in_order);
  EXPECT_TRUE(order_of(strided, {1, 3}).output_is_in_order);
  EXPECT_EQ(order_of(packed, {1, 3}).lengths, (std::vector<size_t>{4, 6}));
  EXPECT_EQ(order_of(packed, {1, 3}).batch, 2U);
}

}  // namespace
}  // namespace holoflow::test
