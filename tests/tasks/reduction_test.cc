// SPDX-License-Identifier: LGPL-2.1-or-later
// Mean, Max and Min against plain loops, N18, layouts, records, refusals.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "holoflow/tasks/reduction/reduction_plan.hh"
#include "tests/tasks/task_test.hh"

namespace holoflow::test {
namespace {

using core::DType;
using nlohmann::json;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// A mean is rounded to a float once; sums in another order differ in a double's last bits.
constexpr Tolerance one_rounding = {1e-30, 1.2e-7};

json params(const char *text) {
  return json::parse(text);
}

size_t product(const std::vector<size_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

/// Whole numbers of both signs, or of an integer type's range; equal ones among them.
Array mixed(DType dtype, const std::vector<size_t> &shape) {
  std::mt19937 random(7);
  Array array{shape, dtype, {}};
  const size_t count = product(shape) * (dtype == DType::CF32 ? 2 : 1);
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(random() % 256);
    const bool integer = dtype == DType::U8 || dtype == DType::U16;
    array.values.push_back(
        integer ? value * (dtype == DType::U16 ? 257 : 1)
                : (dtype == DType::CF32 ? std::floor(value / 32) : value / 7 - 20));
  }
  for (double &value : array.values)
    value = static_cast<float>(value);
  return array;
}

using Element = std::complex<double>;

bool is_less(Element a, Element b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

/// One group's result, in double.
Element reduced(const std::string &type, const std::vector<Element> &group) {
  if (type == "Mean") {
    const Element sum = std::accumulate(group.begin(), group.end(), Element{});
    return sum / static_cast<double>(group.size());
  }
  return type == "Max" ? *std::max_element(group.begin(), group.end(), is_less)
                       : *std::min_element(group.begin(), group.end(), is_less);
}

Array reference(
    const std::string &type, const Array &in, const std::vector<size_t> &axes, bool keepdims) {
  const bool complex = in.dtype == DType::CF32;
  const auto is_reduced = [&axes](size_t axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  std::vector<size_t> kept;
  Array out;
  out.dtype = type == "Mean" && !complex ? DType::F32 : in.dtype;
  for (size_t axis = 0; axis < in.shape.size(); ++axis) {
    kept.push_back(is_reduced(axis) ? 1 : in.shape[axis]);
    if (keepdims || !is_reduced(axis))
      out.shape.push_back(kept.back());
  }
  std::vector<std::vector<Element>> groups(product(kept));
  for (size_t i = 0; i < product(in.shape); ++i) {
    size_t rest = i, group = 0, step = 1;
    for (size_t axis = in.shape.size(); axis-- > 0;) {
      group += is_reduced(axis) ? 0 : rest % in.shape[axis] * step;
      step *= kept[axis];
      rest /= in.shape[axis];
    }
    groups[group].push_back(
        complex ? Element{in.values[2 * i], in.values[2 * i + 1]} : Element{in.values[i]});
  }
  for (const std::vector<Element> &group : groups) {
    const Element value = reduced(type, group);
    out.values.push_back(value.real());
    if (complex)
      out.values.push_back(value.imag());
  }
  return out;
}

const std::vector<std::string> types = {"Mean", "Max", "Min"};
const std::vector<DType> dtypes = {DType::U8, DType::U16, DType::F32, DType::CF32};

TaskVector vector_of(
    const std::string &type, const Array &in, const std::vector<size_t> &axes, json settings) {
  std::string name(to_string(in.dtype));
  for (const size_t extent : in.shape)
    name += " " + std::to_string(extent);
  const bool keepdims = settings.value("keepdims", false);
  return {name,        type, std::move(settings), {in}, {reference(type, in, axes, keepdims)},
          one_rounding};
}

/// Every set of axes of a small tensor, packed, in a view and transposed.
std::vector<TaskVector> axes_vectors() {
  const std::vector<size_t> shape = {3, 4, 5};
  std::vector<TaskVector> vectors;
  for (const std::string &type : types)
    for (const DType dtype : dtypes)
      for (unsigned set = 0; set < 8; ++set) {
        std::vector<size_t> axes;
        for (size_t axis = 0; axis < 3; ++axis)
          if ((set >> axis & 1) != 0)
            axes.push_back(axis);
        const Array array = mixed(dtype, shape);
        const size_t size = size_of(dtype);
        const Array transposed = array.strided({size, 3 * size, 12 * size});
        for (const bool keepdims : {false, true})
          for (const Array &layout : {array, scattered(array), transposed})
            vectors.push_back(
                vector_of(type, layout, axes, {{"axis", axes}, {"keepdims", keepdims}}));
      }
  return vectors;
}

/// Few large groups, many small ones, leading, middle and last axes: every way in which a GPU
/// shares the work out.
std::vector<TaskVector> make_size_vectors() {
  struct Shape {
    std::vector<size_t> shape;
    std::vector<size_t> axes;
  };
  const std::vector<Shape> shapes = {
      {{13001}, {0}},  // one group in several blocks
      {{1, 9973}, {0, 1}},  // prime
      {{2, 12289}, {1}},  // two groups in parts
      {{64, 37, 5}, {0}},  // frames, side by side
      {{4099, 3}, {0}},  // few groups side by side, in parts
      {{4099, 1}, {0}},  // the same of one
      {{1500, 33}, {1}},  // a warp each
      {{1100, 32}, {1}},  // a warp each, exactly
      {{1031, 8}, {1}},  // a thread each
      {{1031, 2}, {1}},  // pairs
      {{5, 1500}, {1}},  // a block each
      {{3, 257, 7}, {1}},  // the middle axis
      {{7, 300, 4}, {0, 2}},  // the outer ones
      {{30, 20, 3}, {0, 1}},  // channel by channel
      {{1, 1, 1, 1, 1, 1, 3, 2}, {6}},
  };
  std::vector<TaskVector> vectors;
  for (const std::string &type : types)
    for (const DType dtype : dtypes)
      for (const Shape &shape : shapes) {
        const Array array = mixed(dtype, shape.shape);
        vectors.push_back(vector_of(type, array, shape.axes, {{"axis", shape.axes}}));
        vectors.push_back(vector_of(type, scattered(array), shape.axes, {{"axis", shape.axes}}));
      }
  return vectors;
}

std::vector<TaskVector> special_vectors() {
  const Array n18 = f32({3}, {1, nan, 2});
  const Array n18_complex = cf32({3}, {{1, 2}, {1, 3}, {0, 9}});
  const Array table = f32({2, 3}, {1, 2, 3, 4, nan, -inf});
  std::vector<double> drift(100001, 0.1F);
  drift[0] = 1 << 24;
  return {
      {"N18", "Max", {}, {n18}, {f32({}, {nan})}},
      {"N18", "Min", {}, {n18}, {f32({}, {nan})}},
      {"N18, complex", "Max", {}, {n18_complex}, {cf32({}, {{1, 3}})}},
      {"N18, complex", "Min", {}, {n18_complex}, {cf32({}, {{0, 9}})}},
      {"NaN", "Mean", {}, {n18}, {f32({}, {nan})}},
      {"NaN only in its group", "Max", {{"axis", 1}}, {table}, {f32({2}, {3, nan})}},
      {"NaN only in its column", "Min", {{"axis", 0}}, {table}, {f32({3}, {1, nan, -inf})}},
      {"an infinite mean", "Mean", {{"axis", 0}}, {table}, {f32({3}, {2.5, nan, -inf})}},
      {"infinities cancel", "Mean", {}, {f32({2}, {inf, -inf})}, {f32({}, {nan})}},
      {"infinities", "Max", {}, {f32({2}, {-inf, -inf})}, {f32({}, {-inf})}},
      {"infinities", "Min", {}, {f32({2}, {inf, inf})}, {f32({}, {inf})}},
      {"complex NaN", "Max", {}, {cf32({3}, {{9, 0}, {1, nan}, {2, 2}})}, {cf32({}, {{nan, nan}})}},
      {"complex NaN", "Min", {}, {cf32({2}, {{nan, 1}, {0, 0}})}, {cf32({}, {{nan, nan}})}},
      {"negative axis, kept",
       "Max",
       params(R"({"axis": -1, "keepdims": true})"),
       {u8({2, 2}, {1, 2, 4, 3})},
       {u8({2, 1}, {2, 4})}},
      {"no axes", "Mean", params(R"({"axis": []})"), {u8({2}, {1, 2})}, {f32({2}, {1, 2})}},
      {"rank 0", "Min", {}, {u16({}, {7})}, {u16({}, {7})}},
      {"no groups", "Max", {{"axis", 1}}, {f32({0, 3}, {})}, {f32({0}, {})}},
      {"large words", "Mean", {}, {u16({3}, {65535, 65535, 65532})}, {f32({}, {65534})}},
      {"one row for four",
       "Mean",
       {{"axis", 0}},
       {f32({4, 2}, {1, 2, 1, 2, 1, 2, 1, 2}).strided({0, 4})},
       {f32({2}, {1, 2})}},
      // In float the small ones would be lost beside the large one.
      {"no drift",
       "Mean",
       {},
       {f32({100001}, drift)},
       {f32({}, {((1 << 24) + 100000 * static_cast<double>(0.1F)) / 100001})},
       one_rounding},
  };
}

const std::vector<TaskVector> &size_vectors() {
  static const std::vector<TaskVector> vectors = make_size_vectors();
  return vectors;
}

TEST(Reduction, GivesItsVectorsOnHost) {
  check_vectors(Place::Host, special_vectors());
}
TEST(Reduction, GivesItsVectorsOnCuda) {
  check_vectors(Place::Device, special_vectors());
}
TEST(Reduction, ReducesEverySetOfAxesOnHost) {
  check_vectors(Place::Host, axes_vectors());
}
TEST(Reduction, ReducesEverySetOfAxesOnCuda) {
  check_vectors(Place::Device, axes_vectors());
}
TEST(Reduction, ReducesGroupsOfEverySizeOnHost) {
  check_vectors(Place::Host, size_vectors());
}
TEST(Reduction, ReducesGroupsOfEverySizeOnCuda) {
  check_vectors(Place::Device, size_vectors());
}

/// What the scheme of sharing out depends on, so that the vectors above reach every kernel.
TEST(Reduction, SharesTheWorkOutByShape) {
  using Worker = tasks::ReductionSplit::Worker;
  const auto split = [](const std::vector<size_t> &shape, const std::vector<size_t> &axes) {
    const core::TDesc desc(shape, DType::F32, core::MemLoc::Device);
    return tasks::split_reduction(tasks::plan_reduction(desc, axes, DType::F32));
  };
  EXPECT_EQ(split({13001}, {0}).worker, Worker::Block);
  EXPECT_EQ(split({13001}, {0}).parts, 3u);
  EXPECT_EQ(split({2, 12289}, {1}).parts, 3u);
  EXPECT_EQ(split({5, 1500}, {1}).parts, 1u);
  EXPECT_EQ(split({64, 480, 640}, {0}).worker, Worker::Thread);
  EXPECT_EQ(split({64, 480, 640}, {0}).parts, 1u);
  EXPECT_EQ(split({4099, 3}, {0}).worker, Worker::Thread);
  EXPECT_EQ(split({4099, 3}, {0}).parts, 64u);
  EXPECT_EQ(split({1500, 33}, {1}).worker, Worker::Warp);
  EXPECT_EQ(split({1031, 8}, {1}).worker, Worker::Thread);
  EXPECT_EQ(split({480, 640}, {0, 1}).parts, 75u);
}

TEST(Reduction, CountsWhatItKeepsOnADevice) {
  const auto bytes = [](const char *type, const Array &in, const json &settings) {
    const core::InferResult infer = infer_task(type, settings, {in}, Place::Device);
    return infer.own_memory.empty() ? 0 : infer.own_memory[0].bytes;
  };
  EXPECT_EQ(bytes("Mean", mixed(DType::F32, {13001}), {}), 3u * 8);
  EXPECT_EQ(bytes("Mean", mixed(DType::CF32, {13001}), {}), 3u * 16);
  EXPECT_EQ(bytes("Max", mixed(DType::U8, {13001}), {}), 3u);
  EXPECT_EQ(bytes("Mean", mixed(DType::F32, {4, 5}), {}), 0u);
}

std::optional<size_t> records(const Array &in, const json &settings) {
  const core::InferResult infer = infer_task("Mean", settings, {in});
  const auto &media = infer.output_descs[0].media;
  return media ? media->records : std::nullopt;
}

TEST(Reduction, MixedFramesHaveOneRecord) {
  const Array frames = u8({4, 4, 2}, iota(32));
  EXPECT_EQ(records(frames, params(R"({"axis": 0, "keepdims": true})")), 1u);
  EXPECT_EQ(records(frames, params(R"({"axis": 0})")), 1u);
  EXPECT_EQ(records(u8({4, 4, 2, 3}, iota(96)), params(R"({"axis": 0})")), 1u);
  EXPECT_EQ(records(frames, params(R"({"axis": [1, 2], "keepdims": true})")), std::nullopt);
  EXPECT_EQ(records(frames, params(R"({"axis": [1, 2]})")), 1u);
  EXPECT_EQ(records(u8({4, 4}, iota(16)), params(R"({"axis": 0})")), std::nullopt);
}

TEST(Reduction, TheChannelAxisMovesWithTheAxesThatGo) {
  core::MediaInfo info;
  info.pixel_format = "RGB";
  info.channel_axis = 3;
  const Array colour = u8({2, 2, 2, 3}, iota(24)).with_media(info);
  const auto media = [&](const json &settings) {
    return *infer_task("Max", settings, {colour}).output_descs[0].media;
  };
  EXPECT_EQ(media(params(R"({"axis": 0})")).channel_axis, 2);
  EXPECT_EQ(media(params(R"({"axis": 0})")).pixel_format, "RGB");
  EXPECT_EQ(media(params(R"({"axis": 3})")).channel_axis, std::nullopt);
  EXPECT_EQ(media(params(R"({"axis": 3})")).pixel_format, "");
  EXPECT_EQ(media(params(R"({"axis": 3, "keepdims": true})")).pixel_format, "");
  EXPECT_TRUE(infer_task("Max", {}, {colour}).capturable);
  EXPECT_TRUE(infer_task("Max", {}, {colour}).in_place.empty());
}

TEST(Reduction, RefusesEmptyGroupsAndWrongParams) {
  const Array table = f32({2, 3}, iota(6));
  EXPECT_EQ(
      refusal("Mean", {{"axis", 0}}, {f32({0, 3}, {})}),
      "input 0: expected at least one element along the reduced axes, got F32 [0, 3] on Host; no "
      "elements have no mean, maximum or minimum");
  EXPECT_EQ(
      refusal("Max", {{"axis", 2}}, {table}),
      "param \"axis\": expected an axis from -2 to 1, got 2");
  EXPECT_EQ(
      refusal("Min", params(R"({"axis": [1, -1]})"), {table}),
      "param \"axis\": expected different axes, got axis 1 twice");
  EXPECT_EQ(
      refusal("Min", params(R"({"keepdims": 1})"), {table}),
      "param \"keepdims\": expected true or false, got 1");
  EXPECT_EQ(
      refusal("Mean", params(R"({"axes": 1})"), {table}),
      "unknown param \"axes\"; did you mean \"axis\"?; expected one of \"axis\", \"keepdims\"");
}

}  // namespace
}  // namespace holoflow::test
