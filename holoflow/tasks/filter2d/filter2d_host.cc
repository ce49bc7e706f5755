// SPDX-License-Identifier: LGPL-2.1-or-later
// Host task of Filter2D: picture by picture through one spectrum that stays in the cache.
#include <algorithm>
#include <complex>

#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/index.hh"
#include "holoflow/tasks/fft/host_transform.hh"
#include "holoflow/tasks/filter2d/filter2d.hh"

namespace holoflow::tasks {

namespace {

using core::DType;
using core::OpResult;
using core::TDesc;
using Complex = std::complex<float>;

/// Neighbouring columns of a spectrum.
struct Columns {
  size_t first = 0;
  size_t count = 0;
  HostTransformPlan forward = {}, backward = {};
};

std::vector<Columns> columns_of(std::initializer_list<std::pair<size_t, size_t>> ranges) {
  std::vector<Columns> columns;
  for (const auto &[first, count] : ranges)
    columns.push_back({.first = first, .count = count});
  return columns;
}

/// Columns that the mask does not remove. A band of low frequencies leaves few, and only these need
/// the transforms along the columns.
std::vector<Columns> kept_columns(const std::vector<float> &mask, const PictureGeometry &geometry) {
  size_t kept = 0;  // of the first half; the mask is symmetric
  for (size_t i = 0; i < geometry.height; ++i)
    for (size_t j = kept; j <= geometry.width / 2; ++j)
      if (mask[i * geometry.columns + j] != 0)
        kept = j + 1;
  if (kept == 0)
    return {};
  const bool each_once = geometry.columns <= geometry.width / 2 + 1;  // no mirrored columns
  if (each_once || kept == 1)
    return columns_of({{0, kept}});
  if (2 * kept > geometry.width)
    return columns_of({{0, geometry.width}});
  return columns_of({{0, kept}, {geometry.width - (kept - 1), kept - 1}});
}

class HostFilterTask final : public core::ISyncTask {
public:
  HostFilterTask(const TDesc &input, const TDesc &output, const BandFilter &filter)
      : real_(input.dtype == DType::F32), geometry_(picture_geometry(input)),
        mask_(band_mask(filter, geometry_.height, geometry_.width, geometry_.columns)),
        kept_(kept_columns(mask_, geometry_)), spectrum_(geometry_.spectrum_size()) {
    plan_rows(input, output);
    plan_columns();
    plan_pictures(input, output);
  }

  OpResult execute(core::SyncCtx &ctx) override {
    const std::byte *in = ctx.inputs[0].data();
    std::byte *out = ctx.outputs[0].data();
    for (uint64_t picture = 0; picture < pictures_.count; ++picture) {
      if (ctx.cancelled != nullptr && ctx.cancelled->load(std::memory_order_relaxed))
        return OpResult::Cancelled;
      uint64_t offsets[2];
      pictures_.offsets(picture, offsets);
      filter(in + offsets[0], out + offsets[1]);
    }
    return OpResult::Ok;
  }

private:
  /// Rows of a picture into the spectrum and back; the result's 1/(width·height) is applied there.
  void plan_rows(const TDesc &input, const TDesc &output) {
    const auto in_rows = static_cast<std::ptrdiff_t>(input.strides[geometry_.row_axis]);
    const auto in_columns = static_cast<std::ptrdiff_t>(input.strides[geometry_.column_axis]);
    const auto out_rows = static_cast<std::ptrdiff_t>(output.strides[geometry_.row_axis]);
    const auto out_columns = static_cast<std::ptrdiff_t>(output.strides[geometry_.column_axis]);
    const auto spectrum_rows = static_cast<std::ptrdiff_t>(geometry_.columns * sizeof(Complex));
    const auto element = static_cast<std::ptrdiff_t>(sizeof(Complex));
    HostTransform rows;
    rows.kind = real_ ? HostTransform::Kind::RealToHalf : HostTransform::Kind::Complex;
    rows.shape = {geometry_.height, geometry_.width};
    rows.axes = {1};
    rows.in_strides = {in_rows, in_columns};
    rows.out_strides = {spectrum_rows, element};
    rows_ = HostTransformPlan(rows);

    rows.kind = real_ ? HostTransform::Kind::HalfToReal : HostTransform::Kind::Complex;
    rows.forward = false;
    rows.in_strides = {spectrum_rows, element};
    rows.out_strides = {out_rows, out_columns};
    rows.scale = static_cast<float>(
        1 / (static_cast<double>(geometry_.height) * static_cast<double>(geometry_.width)));
    rows_back_ = HostTransformPlan(rows);
  }

  void plan_columns() {
    HostTransform transform;
    transform.axes = {0};
    transform.in_strides = transform.out_strides = {
        static_cast<std::ptrdiff_t>(geometry_.columns * sizeof(Complex)),
        static_cast<std::ptrdiff_t>(sizeof(Complex))};
    for (Columns &columns : kept_) {
      transform.shape = {geometry_.height, columns.count};
      transform.forward = true;
      columns.forward = HostTransformPlan(transform);
      transform.forward = false;
      columns.backward = HostTransformPlan(transform);
    }
  }

  void plan_pictures(const TDesc &input, const TDesc &output) {
    std::vector<size_t> shape, in_strides, out_strides;
    for (const size_t axis :
         other_axes({geometry_.row_axis, geometry_.column_axis}, input.rank())) {
      shape.push_back(input.shape[axis]);
      in_strides.push_back(input.strides[axis]);
      out_strides.push_back(output.strides[axis]);
    }
    pictures_ = make_loop<2>(shape, {in_strides, out_strides});
  }

  /// Reads the whole picture before it writes, so `in` may be `out`.
  void filter(const std::byte *in, std::byte *out) {
    rows_.run(in, spectrum_.data());
    size_t done = 0;  // columns so far
    for (Columns &columns : kept_) {
      clear(done, columns.first);
      filter_columns(columns);
      done = columns.first + columns.count;
    }
    clear(done, geometry_.columns);
    rows_back_.run(spectrum_.data(), out);
  }

  void filter_columns(Columns &columns) {
    Complex *first = spectrum_.data() + columns.first;
    columns.forward.run(first, first);
    for (size_t i = 0; i < geometry_.height; ++i) {
      const float *factors = mask_.data() + i * geometry_.columns + columns.first;
      Complex *row = first + i * geometry_.columns;
      for (size_t j = 0; j < columns.count; ++j)
        row[j] *= factors[j];
    }
    columns.backward.run(first, first);
  }

  void clear(size_t first, size_t end) {
    if (first == end)
      return;
    for (size_t i = 0; i < geometry_.height; ++i) {
      Complex *row = spectrum_.data() + i * geometry_.columns;
      std::fill(row + first, row + end, Complex());
    }
  }

  bool real_;
  PictureGeometry geometry_;
  std::vector<float> mask_;
  std::vector<Columns> kept_;
  std::vector<Complex> spectrum_;  // of the picture at hand: half of it where that is real
  HostTransformPlan rows_;
  HostTransformPlan rows_back_;
  StridedLoop<2> pictures_;  // first elements of input and output pictures
};

}  // namespace

std::unique_ptr<core::ISyncTask> make_filter2d_host(const MakeArgs<core::SyncCreateCtx> &args) {
  return std::make_unique<HostFilterTask>(
      args.inputs[0], args.infer.output_descs[0], band_filter(args.params));
}

}  // namespace holoflow::tasks
