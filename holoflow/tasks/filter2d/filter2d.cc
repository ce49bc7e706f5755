// SPDX-License-Identifier: LGPL-2.1-or-later
// Spec and mask of Filter2D.
#include "holoflow/tasks/filter2d/filter2d.hh"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/fft/fft.hh"
#include "holoflow/tasks/fft/transform_order.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::InferResult;
using core::MemLoc;
using core::TDesc;
using nlohmann::json;

/// 1 inside the radius, falling to 0 over `slope`.
double disc_value(double radius, double slope, double distance) {
  if (distance < radius)
    return 1;
  if (distance >= radius + slope)
    return 0;
  return std::cos(std::numbers::pi / 2 * (distance - radius) / slope);
}

/// What a Device task takes for itself; cuFFT's work area comes on top, its size is known only once
/// a device made the plan.
std::vector<core::MemoryNeed> device_memory(
    const TDesc &input, const TDesc &output, const PictureGeometry &geometry) {
  const size_t spectra = geometry.pictures * geometry.spectrum_size() * size_of(DType::CF32);
  std::vector<core::MemoryNeed> needs = {
      {MemLoc::Device, geometry.spectrum_size() * sizeof(float), "mask"}};
  if (input.dtype == DType::F32) {
    needs.push_back({MemLoc::Device, spectra, "spectra"});
    needs.push_back({MemLoc::Device, input.num_elements() * sizeof(float), "packed pictures"});
  } else if (!make_transform_order(input, output, {geometry.row_axis, geometry.column_axis})
                  .output_is_in_order) {
    needs.push_back({MemLoc::Device, spectra, "spectra"});
  }
  return needs;
}

InferResult infer_filter2d(const TDesc &input) {
  require_indexable({&input, 1});
  const PictureGeometry geometry = picture_geometry(input);
  InferResult result = elementwise_result({&input, 1}, like_input(input));
  if (input.mem_loc == MemLoc::Device) {
    result.own_memory = device_memory(input, result.output_descs[0], geometry);
  } else {
    const size_t size = geometry.spectrum_size();
    result.own_memory = {
        {MemLoc::Host, size * sizeof(float), "mask"},
        {MemLoc::Host, size * size_of(DType::CF32), "spectrum"}};
  }
  return result;
}

ParamSpec length_param(const std::string &name, const std::string &doc) {
  ParamSpec param;
  param.name = name;
  param.types = Number;
  param.doc = doc + ", in periods per picture";
  param.minimum = 0;
  return param;
}

TaskSpec filter2d_spec() {
  TaskSpec spec;
  spec.type = "Filter2D";
  spec.doc =
      "Keeps a ring of spatial frequencies of each picture: those at a distance r from the "
      "zero frequency with r_inner ≤ r < r_outer, and beyond both radii an edge that follows "
      "a quarter of a cosine.";
  spec.inputs = {{.name = "input", .doc = "", .dtypes = {DType::F32, DType::CF32}}};
  spec.outputs = {{.name = "output", .doc = "packed, of the input's shape and element type"}};
  spec.params = {
      length_param("r_outer", "radius below which frequencies pass"),
      length_param("r_inner", "radius below which frequencies are removed"),
      length_param(
          "s_inner",
          "width of the edge beyond r_inner, where the factor rises from 0 to 1 as "
          "1 − cos(π/2 · (r − r_inner) / s_inner); 0 for a step"),
      length_param(
          "s_outer",
          "width of the edge beyond r_outer, where the factor falls from 1 to 0 as "
          "cos(π/2 · (r − r_outer) / s_outer); 0 for a step"),
  };
  for (ParamSpec &param : spec.params)
    if (param.name != "r_outer")
      param.default_value = 0;
  spec.infer = [](const InferContext &, std::span<const TDesc> inputs, const json &) {
    return infer_filter2d(inputs[0]);
  };
  spec.make_sync = make_filter2d_host;
  return spec;
}

}  // namespace

BandFilter band_filter(const json &params) {
  return {
      .r_outer = params.at("r_outer").get<double>(),
      .s_outer = params.at("s_outer").get<double>(),
      .r_inner = params.at("r_inner").get<double>(),
      .s_inner = params.at("s_inner").get<double>()};
}

double band_value(const BandFilter &filter, double distance) {
  return disc_value(filter.r_outer, filter.s_outer, distance) *
      (1 - disc_value(filter.r_inner, filter.s_inner, distance));
}

std::vector<float> band_mask(
    const BandFilter &filter, size_t height, size_t width, size_t columns, double scale) {
  std::vector<float> mask(height * columns);
  for (size_t i = 0; i < height; ++i) {
    float *row = mask.data() + i * columns;
    if (i > height / 2) {  // the mirror image of a row above
      const float *source = mask.data() + (height - i) * columns;
      std::copy(source, source + columns, row);
      continue;
    }
    const auto y = static_cast<double>(i);
    for (size_t j = 0; j < columns; ++j) {
      const auto x = static_cast<double>(std::min(j, width - j));
      row[j] = j > width / 2
          ? row[width - j]
          : static_cast<float>(band_value(filter, std::sqrt(y * y + x * x)) * scale);
    }
  }
  return mask;
}

PictureGeometry picture_geometry(const TDesc &input) {
  const std::vector<size_t> axes = two_axes(input, nullptr);
  if (input.num_elements() == 0)
    throw std::invalid_argument(
        "input 0: expected at least one element, got " + to_string(input) +
        "; an empty picture has no frequencies");
  PictureGeometry geometry;
  geometry.row_axis = axes[0];
  geometry.column_axis = axes[1];
  if (input.shape[axes[1]] == 1)
    std::swap(geometry.row_axis, geometry.column_axis);
  geometry.height = input.shape[geometry.row_axis];
  geometry.width = input.shape[geometry.column_axis];
  geometry.pictures = input.num_elements() / (geometry.height * geometry.width);
  geometry.columns = input.dtype == DType::F32 ? geometry.width / 2 + 1 : geometry.width;
  return geometry;
}

void register_filter2d(core::Registry &registry) {
  register_spec(registry, filter2d_spec());
}

}  // namespace holoflow::tasks
