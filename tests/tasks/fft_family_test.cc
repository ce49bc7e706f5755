// SPDX-License-Identifier: LGPL-2.1-or-later
// FFT, IFFT and the transforms with half spectra against the textbook and NumPy, on Host and on
// CUDA. FFT2 and IFFT2 have a file of their own.
#include <limits>
#include <numeric>

#include "tests/tasks/reference_dft.hh"
#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using core::DType;
using nlohmann::json;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  std::string type;
  Array input;
  std::vector<size_t> axes;  // what the transform is expected to run along, the halved one last
  json params = json::object();
};

struct Values {
  Complexes elements;
  std::vector<size_t> shape;
};

/// Cuts an axis, or appends zeros to it.
Values resized(const Values &from, size_t axis, size_t length) {
  Values to{{}, from.shape};
  to.shape[axis] = length;
  size_t inner = 1;
  for (size_t i = axis + 1; i < from.shape.size(); ++i)
    inner *= from.shape[i];
  const size_t count =
      std::accumulate(to.shape.begin(), to.shape.end(), size_t{1}, std::multiplies<>());
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i / inner % length;
    const size_t outer = i / inner / length;
    const size_t source = (outer * from.shape[axis] + at) * inner + i % inner;
    to.elements.push_back(at < from.shape[axis] ? from.elements[source] : 0.0);
  }
  return to;
}

/// The whole spectrum that half of one stands for; imaginary parts that a real signal cannot have
/// are left out.
Values mirrored(const Values &half, size_t axis, size_t points) {
  Values whole = resized(half, axis, points);
  size_t inner = 1;
  for (size_t i = axis + 1; i < whole.shape.size(); ++i)
    inner *= whole.shape[i];
  for (size_t i = 0; i < whole.elements.size(); ++i) {
    const size_t k = i / inner % points;
    const size_t opposite = (points - k) % points;
    std::complex<double> &element = whole.elements[i];
    if (k == opposite) {
      element = element.real();
    } else if (k > opposite) {
      element = std::conj(whole.elements[i - (k - opposite) * inner]);
    }
  }
  return whole;
}

bool is_inverse(const Case &test) {
  return test.type.starts_with("I");
}
bool is_half(const Case &test) {
  return test.type.find("RFFT") != std::string::npos;
}

size_t points_of(const Case &test) {
  for (const char *param : {"n", "width"})
    if (test.params.contains(param) && !test.params[param].is_null())
      return test.params[param];
  const size_t extent = test.input.shape[test.axes.back()];
  return is_half(test) && is_inverse(test) ? 2 * (extent - 1) : extent;
}

double norm_factor(const Case &test) {
  auto points = static_cast<double>(points_of(test));
  for (size_t i = 0; i + 1 < test.axes.size(); ++i)
    points *= static_cast<double>(test.input.shape[test.axes[i]]);
  const std::string norm = test.params.value("norm", "backward");
  if (norm == "ortho")
    return 1 / std::sqrt(points);
  return (norm == "forward") == !is_inverse(test) ? 1 / points : 1;
}

Values reference(const Case &test) {
  const size_t last = test.axes.back();
  const size_t points = points_of(test);
  const bool inverse = is_inverse(test);
  const bool half_in = is_half(test) && inverse;
  Values values{complexes(test.input), test.input.shape};
  values = resized(values, last, half_in ? points / 2 + 1 : points);
  for (size_t i = 0; i + 1 < test.axes.size(); ++i)
    values.elements = reference_dft(values.elements, values.shape, test.axes[i], !inverse);
  if (half_in)
    values = mirrored(values, last, points);
  values.elements = reference_dft(values.elements, values.shape, last, !inverse);
  if (is_half(test) && !inverse)
    values = resized(values, last, points / 2 + 1);
  for (std::complex<double> &element : values.elements)
    element *= norm_factor(test);
  return values;
}

std::string shape_text(const Array &array) {
  std::string text(to_string(array.dtype));
  for (const size_t extent : array.shape)
    text += " " + std::to_string(extent);
  return text + (array.strides ? " strided" : "");
}

TaskVector vector_of(const Case &test) {
  const Values values = reference(test);
  Array want = cf32(values.shape, values.elements);
  if (is_half(test) && is_inverse(test)) {
    std::vector<double> parts;
    for (const std::complex<double> &element : values.elements)
      parts.push_back(element.real());
    want = f32(values.shape, parts);
  }
  const double error = transform_error * euclidean_norm(test.input) * norm_factor(test);
  return {shape_text(test.input), test.type, test.params,
          {test.input},           {want},    {.absolute = 2 * error}};
}

std::vector<DType> dtypes_of(const std::string &type) {
  if (type == "RFFT" || type == "RFFT2")
    return {DType::F32};
  if (type == "IRFFT" || type == "IRFFT2")
    return {DType::CF32};
  return {DType::F32, DType::CF32};
}

const std::vector<std::string> line_types = {"FFT", "IFFT", "RFFT", "IRFFT"};
const std::vector<std::string> plane_types = {"RFFT2", "IRFFT2"};

/// Adds the case for each of the types and element types, packed and, for short ones, in a view.
void add(
    std::vector<Case> &cases, const std::vector<std::string> &types,
    const std::vector<size_t> &shape, const std::vector<size_t> &axes, const json &params) {
  constexpr size_t short_length = 20;
  for (const std::string &type : types)
    for (const DType dtype : dtypes_of(type)) {
      const bool empty = type.starts_with("IRFFT") && shape[axes.back()] == 1 &&
          !params.contains("n") && !params.contains("width");
      if (empty)
        continue;
      cases.push_back({type, noise(dtype, shape), axes, params});
      if (shape[axes.back()] < short_length)
        cases.push_back({type, scattered(noise(dtype, shape)), axes, params});
    }
}

/// Lengths of every sort along every axis: one, powers of two, odd, prime.
std::vector<Case> length_cases() {
  std::vector<Case> cases;
  for (const size_t length : {1, 2, 3, 4, 5, 8, 13, 17, 30, 64, 127, 131, 499}) {
    add(cases, line_types, {length}, {0}, json::object());
    add(cases, line_types, {length, 3}, {0}, {{"axis", 0}});
    if (length > 200)
      continue;  // the textbook's transform takes its time
    add(cases, line_types, {3, length}, {1}, {{"axis", 1}});
    add(cases, line_types, {2, length, 3}, {1}, {{"axis", -2}});
    add(cases, line_types, {length, 1, 2, 3}, {0}, {{"axis", -4}});
  }
  const std::vector<std::vector<size_t>> planes = {{1, 1},   {1, 7},   {7, 1},   {1, 2},  {2, 1},
                                                   {2, 2},   {3, 3},   {4, 4},   {5, 8},  {8, 5},
                                                   {13, 17}, {131, 2}, {2, 131}, {16, 30}};
  for (const std::vector<size_t> &plane : planes)
    add(cases, plane_types, plane, {0, 1}, json::object());
  for (const std::string &type : line_types)  // the colours of a picture, named
    for (const DType dtype : dtypes_of(type))
      cases.push_back({type, noise(dtype, {1, 2, 4, 3}).with_channel_axis(3), {3}, {{"axis", 3}}});
  return cases;
}

/// Cut, as it is, and extended by zeros.
std::vector<Case> resize_cases() {
  std::vector<Case> cases;
  for (const size_t n : {1, 2, 5, 6, 7, 9, 12}) {
    add(cases, line_types, {6}, {0}, {{"n", n}});
    add(cases, line_types, {2, 6, 3}, {1}, {{"n", n}, {"axis", 1}});
    add(cases, line_types, {6, 2, 3}, {0}, {{"n", n}, {"axis", 0}, {"norm", "ortho"}});
    add(cases, line_types, {3, 1}, {1}, {{"n", n}});
    add(cases, {"IRFFT2"}, {2, 5, 4}, {1, 2}, {{"width", n}});
    add(cases, {"IRFFT2"}, {5, 4, 2}, {0, 1}, {{"width", n}, {"axes", {0, 1}}});
    add(cases, {"IRFFT2"}, {5, 2, 4}, {2, 0}, {{"width", n}, {"axes", {2, 0}}});
  }
  return cases;
}

std::vector<Case> layout_cases() {
  std::vector<Case> cases;
  for (const char *norm : {"backward", "ortho", "forward"}) {
    add(cases, line_types, {2, 6, 5}, {1}, {{"norm", norm}, {"axis", 1}});
    add(cases, line_types, {7, 2, 5}, {0}, {{"norm", norm}, {"axis", 0}});
    add(cases, plane_types, {2, 6, 5}, {1, 2}, {{"norm", norm}});
    add(cases, plane_types, {6, 5, 2}, {0, 1}, {{"norm", norm}, {"axes", {0, 1}}});
  }
  add(cases, plane_types, {3, 5, 8}, {1, 2}, {{"axes", nullptr}});
  add(cases, plane_types, {3, 5, 8}, {2, 1}, {{"axes", {-1, -2}}});
  add(cases, plane_types, {4, 3, 5}, {1, 0}, {{"axes", {1, 0}}});
  add(cases, plane_types, {4, 3, 5}, {2, 0}, {{"axes", {-1, 0}}});
  add(cases, plane_types, {4, 3, 5}, {0, 2}, {{"axes", {0, 2}}});
  add(cases, plane_types, {2, 3, 4, 5}, {3, 1}, {{"axes", {3, 1}}});
  add(cases, line_types, {1, 2, 1, 2, 1, 2, 3, 4}, {6}, {{"axis", 6}});
  // Transposed, every second column, an odd first element, one row that stands for four.
  cases.push_back({"RFFT", noise(DType::F32, {6, 9}).strided({4, 24}), {1}});
  cases.push_back({"RFFT", noise(DType::F32, {6, 9}).strided({4, 24}), {0}, {{"axis", 0}}});
  cases.push_back({"IRFFT", noise(DType::CF32, {2, 4, 5}).strided({320, 80, 16}, 8), {2}});
  cases.push_back({"RFFT2", noise(DType::F32, {2, 4, 6}).strided({96, 24, 4}, 4), {1, 2}});
  const Array rows = f32({4, 3}, {1, 5, 2, 1, 5, 2, 1, 5, 2, 1, 5, 2});
  cases.push_back({"RFFT", rows.strided({0, 4}), {0}, {{"axis", 0}}});
  return cases;
}

std::vector<TaskVector> vectors_of(const std::vector<Case> &cases) {
  std::vector<TaskVector> vectors;
  for (const Case &test : cases)
    vectors.push_back(vector_of(test));
  return vectors;
}

/// N3 and what NumPy 2.4 gives for other rules of its own.
std::vector<TaskVector> numpy_vectors() {
  const Array signal = f32({4}, {1, 2, 3, 4});
  const Array five = f32({5}, {1, 2, 3, 4, 5});
  const Array half = cf32({3}, {{1, 9}, {2, 1}, {3, 5}});
  const Array plane = cf32({3, 2}, {{1, 2}, {3, -1}, {2, 4}, {-1, 1}, {.5, -3}, {2, 2}});
  const Tolerance rounding{.absolute = 2e-6};
  return {
      {"N3, backward", "FFT", {}, {signal}, {cf32({4}, {10, {-2, 2}, -2, {-2, -2}})}, rounding},
      {"N3, ortho",
       "FFT",
       {{"norm", "ortho"}},
       {signal},
       {cf32({4}, {5, {-1, 1}, -1, {-1, -1}})},
       rounding},
      {"N3, forward",
       "FFT",
       {{"norm", "forward"}},
       {signal},
       {cf32({4}, {2.5, {-.5, .5}, -.5, {-.5, -.5}})},
       rounding},
      {"N3, half",
       "RFFT",
       {},
       {five},
       {cf32({3}, {15, {-2.5, 3.4409548}, {-2.5, 0.8122992}})},
       rounding},
      {"cut", "RFFT", {{"n", 3}}, {five}, {cf32({2}, {6, {-1.5, .8660254}})}, rounding},
      {"extended",
       "RFFT",
       {{"n", 7}},
       {five},
       {cf32(
           {4},
           {15,
            {-6.529303009, -4.054562962},
            {3.463459745, -1.430036089},
            {-.934156736, 2.452654881}})},
       {.absolute = 4e-6}},
      {"extended",
       "FFT",
       {{"n", 6}},
       {signal},
       {cf32(
           {6},
           {10,
            {-3.5, -4.330127019},
            {2.5, .866025404},
            -2,
            {2.5, -.866025404},
            {-3.5, 4.330127019}})},
       rounding},
      {"complex",
       "IFFT",
       {},
       {cf32({3}, {1, {0, 2}, 3})},
       {cf32(
           {3}, {{1.333333333, .666666667}, {-.744016936, -1.199358737}, {.410683603, .53269207}})},
       rounding},
      {"ignored imaginary parts", "IRFFT", {}, {half}, {f32({4}, {2, -1, 0, 0})}, rounding},
      {"ignored though no numbers",
       "IRFFT",
       {},
       {cf32({3}, {{1, nan}, {2, 1}, {3, inf}})},
       {f32({4}, {2, -1, 0, 0})},
       rounding},
      {"an odd length has none at its end",
       "IRFFT",
       {{"n", 5}},
       {half},
       {f32({5}, {2.2, -2.079599909, 1.590605729, -1.743392134, 1.032386313})},
       rounding},
      {"cut", "IRFFT", {{"n", 2}}, {half}, {f32({2}, {1.5, -.5})}, rounding},
      {"cut to a point", "IRFFT", {{"n", 1}}, {half}, {f32({1}, {1})}, rounding},
      {"extended",
       "IRFFT",
       {{"n", 8}},
       {half},
       {f32({8}, {1.375, -.948223305, -.875, .844669914, .375, -1.301776695, -.375, 1.905330086})},
       rounding},
      {"rows halved",
       "RFFT2",
       {},
       {f32({2, 3}, iota(6))},
       {cf32({2, 2}, {15, {-3, 1.732050808}, -9, 0})},
       {.absolute = 4e-6}},
      {"columns halved",
       "RFFT2",
       {{"axes", {1, 0}}},
       {f32({2, 3}, iota(6))},
       {cf32({2, 3}, {15, {-3, 1.732050808}, {-3, -1.732050808}, -9, 0, 0})},
       {.absolute = 4e-6}},
      {"no spectrum of real numbers",
       "IRFFT2",
       {},
       {plane},
       {f32({3, 2}, {1.25, -.083333333, -.491025404, -1.613033872, 1.241025404, .696367205})},
       rounding},
      {"an odd width",
       "IRFFT2",
       {{"width", 3}},
       {plane},
       {f32(
           {3, 3},
           {1.277777778, -.440455735, .329344624, .046652553, -.09423069, -2.056481139, 1.008903002,
            .445370028, .483119579})},
       rounding},
      {"columns halved",
       "IRFFT2",
       {{"axes", {1, 0}}},
       {plane},
       {f32({4, 2}, {1.0625, .3125, -1.0625, -.8125, .5625, -1.1875, 1.4375, .6875})},
       rounding},
      {"a width of one",
       "IRFFT2",
       {{"width", 1}},
       {plane},
       {f32({3, 1}, {1.166666667, -2.104059275, 1.937392609})},
       rounding},
      {"no rows", "FFT", {}, {f32({0, 4}, {})}, {cf32({0, 4}, {})}},
      {"no rows", "RFFT", {}, {f32({0, 4}, {})}, {cf32({0, 3}, {})}},
      {"no rows", "IRFFT", {}, {cf32({0, 4}, {})}, {f32({0, 6}, {})}},
      {"no frames", "RFFT2", {}, {f32({0, 4, 5}, {})}, {cf32({0, 4, 3}, {})}},
      {"no frames", "IRFFT2", {}, {cf32({0, 4, 5}, {})}, {f32({0, 4, 8}, {})}},
      {"zeros for no elements",
       "RFFT",
       {{"n", 4}},
       {f32({2, 0}, {})},
       {cf32({2, 3}, {0, 0, 0, 0, 0, 0})}},
      {"zeros for no elements", "IRFFT", {{"n", 2}}, {cf32({1, 0}, {})}, {f32({1, 2}, {0, 0})}},
  };
}

const std::vector<TaskVector> &layout_vectors() {
  static const std::vector<TaskVector> vectors = vectors_of(layout_cases());
  return vectors;
}

const std::vector<TaskVector> &length_vectors() {
  static const std::vector<TaskVector> vectors = [] {
    std::vector<TaskVector> all = vectors_of(length_cases());
    for (TaskVector &vector : vectors_of(resize_cases()))
      all.push_back(std::move(vector));
    return all;
  }();
  return vectors;
}

void check_round_trip(
    Place place, const std::string &forward, const std::string &inverse, const Array &input,
    json params, json back) {
  SCOPED_TRACE(forward + " " + shape_text(input) + " " + params.dump());
  const TaskRun there = run_task(place, forward, params, {input});
  back.update(params);
  const TaskRun again = run_task(place, inverse, back, there.outputs);
  // Two transforms' rounding, brought back to the input's scale.
  expect_equal(again.outputs[0], input, {.absolute = 2 * transform_error});
}

void check_round_trips(Place place) {
  if (place == Place::Device && !have_gpu())
    GTEST_SKIP() << "no GPU";
  for (const char *norm : {"backward", "ortho", "forward"})
    for (const size_t length : {1, 31, 44, 131}) {
      const json n{{"n", length}}, width{{"width", length}};
      const Array complex = noise(DType::CF32, {2, length, 5});
      const Array real = noise(DType::F32, {2, length, 5});
      check_round_trip(place, "FFT", "IFFT", complex, {{"norm", norm}, {"axis", 1}}, n);
      check_round_trip(place, "RFFT", "IRFFT", real, {{"norm", norm}, {"axis", 1}}, n);
      check_round_trip(place, "RFFT2", "IRFFT2", real, {{"norm", norm}, {"axes", {0, 1}}}, width);
      const Array frames = noise(DType::F32, {length, 4, 6});
      check_round_trip(place, "RFFT", "IRFFT", frames, {{"norm", norm}, {"axis", 0}}, n);
      check_round_trip(place, "RFFT2", "IRFFT2", frames, {{"norm", norm}, {"axes", {2, 0}}}, width);
    }
}

TEST(FftFamily, LayoutsEqualTheTextbookOnHost) {
  check_vectors(Place::Host, layout_vectors());
}
TEST(FftFamily, LayoutsEqualTheTextbookOnCuda) {
  check_vectors(Place::Device, layout_vectors());
}
// Too many plans for a sanitizer, which leaves out what is called long.
TEST(FftFamily, LongTableOfLengthsEqualsTheTextbookOnHost) {
  check_vectors(Place::Host, length_vectors());
}
TEST(FftFamily, LongTableOfLengthsEqualsTheTextbookOnCuda) {
  check_vectors(Place::Device, length_vectors());
}
TEST(FftFamily, GivesNumPysValuesOnHost) {
  check_vectors(Place::Host, numpy_vectors());
}
TEST(FftFamily, GivesNumPysValuesOnCuda) {
  check_vectors(Place::Device, numpy_vectors());
}
TEST(FftFamily, RoundTripsGiveTheInputOnHost) {
  check_round_trips(Place::Host);
}
TEST(FftFamily, RoundTripsGiveTheInputOnCuda) {
  check_round_trips(Place::Device);
}

/// N3: the sum of squares of a spectrum is the signal's times the number of points.
TEST(FftFamily, KeepsTheSumOfSquares) {
  const TaskRun run = run_task(Place::Host, "FFT", {}, {f32({4}, {1, 2, 3, 4})});
  EXPECT_NEAR(std::pow(euclidean_norm(run.outputs[0]), 2), 120, 1e-4);
}

TEST(FftFamily, TransformsAlongFramesHaveOneRecord) {
  const Array frames = f32({4, 1, 2}, iota(8));
  const auto records = [&](const char *type, const json &params) {
    const core::InferResult infer = infer_task(type, params, {frames});
    const auto &media = infer.output_descs[0].media;
    return media ? media->records : std::nullopt;
  };
  EXPECT_EQ(records("RFFT", {{"axis", 0}}), 1u);
  EXPECT_EQ(records("FFT", {{"axis", 0}}), 1u);
  EXPECT_EQ(records("FFT2", {{"axes", {0, 2}}}), 1u);
  EXPECT_EQ(records("RFFT", {}), std::nullopt);
  EXPECT_EQ(records("FFT2", {}), std::nullopt);
}

TEST(FftFamily, HalfSpectraKeepTheChannelAxis) {
  const Array picture = f32({1, 2, 4, 3}, iota(24)).with_channel_axis(3);
  const core::InferResult infer = infer_task("RFFT2", {}, {picture});
  EXPECT_EQ(infer.output_descs[0], core::TDesc({1, 2, 3, 3}, DType::CF32, core::MemLoc::Host));
  EXPECT_EQ(infer.output_descs[0].media->channel_axis, 3);
  EXPECT_TRUE(infer.capturable);
}

std::vector<size_t> device_memory(const char *type, const json &params, const Array &input) {
  std::vector<size_t> bytes;
  for (const core::MemoryNeed &need : infer_task(type, params, {input}, Place::Device).own_memory)
    bytes.push_back(need.bytes);
  return bytes;
}

TEST(FftFamily, CountsWhatItKeepsOnADevice) {
  const Array frames = noise(DType::F32, {4, 3, 6});
  const Array spectra = noise(DType::CF32, {4, 3, 6});
  using Bytes = std::vector<size_t>;
  EXPECT_EQ(device_memory("FFT", {}, spectra), Bytes{});
  EXPECT_EQ(device_memory("FFT", {{"axis", 0}}, spectra), Bytes{});
  EXPECT_EQ(device_memory("FFT", {{"axis", 1}}, spectra), Bytes{4 * 3 * 6 * 8});
  EXPECT_EQ(device_memory("RFFT", {}, frames), Bytes{});
  EXPECT_EQ(device_memory("RFFT", {{"axis", 0}}, frames), Bytes{});
  EXPECT_EQ(device_memory("RFFT", {{"axis", 1}}, frames), (Bytes{4 * 3 * 6 * 4, 4 * 2 * 6 * 8}));
  EXPECT_EQ(device_memory("RFFT", {}, scattered(frames)), Bytes{4 * 3 * 6 * 4});
  EXPECT_EQ(device_memory("RFFT", {}, noise(DType::F32, {2, 5})), Bytes{2 * 5 * 4});
  EXPECT_EQ(device_memory("RFFT", {{"n", 8}}, frames), Bytes{4 * 3 * 8 * 4});
  EXPECT_EQ(device_memory("IRFFT", {}, spectra), Bytes{4 * 3 * 6 * 8});
  EXPECT_EQ(device_memory("IRFFT", {{"n", 9}}, spectra), (Bytes{4 * 3 * 5 * 8, 4 * 3 * 9 * 4}));
}

TEST(FftFamily, CountsWhatItKeepsOnTheHost) {
  const Array spectra = noise(DType::CF32, {4, 3, 6});
  const auto bytes = [&](const char *type, const json &params) {
    const core::InferResult infer = infer_task(type, params, {spectra});
    return infer.own_memory.empty() ? 0 : infer.own_memory[0].bytes;
  };
  EXPECT_EQ(bytes("IRFFT", {}), 0u);
  EXPECT_EQ(bytes("IRFFT", {{"n", 14}}), 4u * 3 * 8 * 8);
  EXPECT_EQ(bytes("IRFFT2", {}), 4u * 3 * 6 * 8);
  EXPECT_EQ(bytes("IFFT", {{"n", 7}}), 4u * 3 * 7 * 8);
}

TEST(FftFamily, RefusesWhatItCannotTransform) {
  EXPECT_EQ(
      refusal("RFFT", {}, {cf32({2}, {1, 2})}),
      "input 0: expected F32, got CF32 [2] on Host; add a \"Conversion\" node (target F32) before "
      "it");
  EXPECT_EQ(
      refusal("IRFFT", {}, {f32({2}, {1, 2})}),
      "input 0: expected CF32, got F32 [2] on Host; add a \"Conversion\" node (target CF32) before "
      "it");
  EXPECT_EQ(
      refusal("FFT", {}, {f32({2, 0}, {})}),
      "input 0: expected at least one element along axis 1, got F32 [2, 0] on Host; a transform of "
      "no points has no result");
  EXPECT_EQ(
      refusal("IRFFT", {}, {cf32({2, 1}, {1, 2})}),
      "input 0: expected at least two elements along axis 1, got CF32 [2, 1] on Host; half the "
      "spectrum of one point needs \"n\": 1");
  EXPECT_EQ(
      refusal("IRFFT2", {}, {cf32({2, 1}, {1, 2})}),
      "input 0: expected at least two elements along axis 1, got CF32 [2, 1] on Host; half the "
      "spectrum of one point needs \"width\": 1");
  EXPECT_EQ(
      refusal("FFT", {}, {f32({}, {1})}),
      "param \"axis\": expected no axis, as the tensor has rank 0, got -1");
}

TEST(FftFamily, RefusesWrongParams) {
  const Array picture = f32({1, 2, 2, 3}, iota(12)).with_channel_axis(3);
  EXPECT_EQ(
      refusal("RFFT", {}, {picture}),
      "param \"axis\": expected an axis of the picture by default, got the channel axis 3 of F32 "
      "[1, 2, 2, 3] on Host; set \"as\": \"GRAY\" on Input, or name the axis");
  EXPECT_EQ(
      refusal("FFT", {{"axis", 4}}, {picture}),
      "param \"axis\": expected an axis from -4 to 3, got 4");
  EXPECT_EQ(refusal("FFT", {{"n", 0}}, {picture}), "param \"n\": expected ≥ 1, got 0");
  EXPECT_EQ(
      refusal("RFFT2", {{"axes", {1}}}, {picture}), "param \"axes\": expected two axes, got [1]");
  EXPECT_EQ(
      refusal("RFFT2", {{"width", 4}}, {picture}),
      "unknown param \"width\"; expected one of \"axes\", \"norm\"");
  EXPECT_EQ(
      refusal("FFT", {{"norm", "orto"}}, {picture}),
      "param \"norm\": expected backward, ortho or forward, got \"orto\"; did you mean "
      "\"ortho\"?");
}

}  // namespace
}  // namespace holoflow::test
