// SPDX-License-Identifier: LGPL-2.1-or-later
// Filter2D: keeps a ring of spatial frequencies of each picture.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

/// Radii and edge widths of the ring, in frequency-index units (1 = one period per picture).
struct BandFilter {
  double r_outer = 0;  ///< full strength below …
  double s_outer = 0;  ///< … falling to 0 over this width; 0 is a step
  double r_inner = 0;  ///< nothing below …
  double s_inner = 0;  ///< … rising to full strength over this width
};

[[nodiscard]] BandFilter band_filter(const nlohmann::json &params);

/// A(d)·(1 − B(d)) at distance d from the zero frequency. A is 1 for d < r_outer, then
/// cos(π/2·(d − r_outer)/s_outer) up to r_outer + s_outer, then 0; B is the same with r_inner and
/// s_inner.
[[nodiscard]] double band_value(const BandFilter &filter, double distance);

/// The mask of a height × width spectrum with the zero frequency at [0, 0], times `scale`,
/// row-major. Only the first `columns` of each row are made: width of them, or width / 2 + 1 for a
/// half spectrum. Element [i, j] lies √(min(i, height − i)² + min(j, width − j)²) from [0, 0].
[[nodiscard]] std::vector<float> band_mask(
    const BandFilter &filter, size_t height, size_t width, size_t columns, double scale = 1);

/// How a tensor falls into pictures. A picture of one column counts as one row: the mask is the
/// same, and a half spectrum then always halves an axis.
struct PictureGeometry {
  size_t row_axis = 0;
  size_t column_axis = 0;
  size_t height = 1;
  size_t width = 1;
  size_t pictures = 1;
  size_t columns = 1;  ///< of a spectrum's row: half of real pictures', all of complex ones'

  [[nodiscard]] size_t spectrum_size() const noexcept { return height * columns; }
};

/// Throws std::invalid_argument where the tensor holds no pictures.
[[nodiscard]] PictureGeometry picture_geometry(const core::TDesc &input);

/// Host task for F32 and CF32 of any strides.
[[nodiscard]] std::unique_ptr<core::ISyncTask> make_filter2d_host(
    const MakeArgs<core::SyncCreateCtx> &args);

}  // namespace holoflow::tasks
