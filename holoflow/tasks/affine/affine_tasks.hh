// SPDX-License-Identifier: LGPL-2.1-or-later
// What Affine's Host and GPU tasks share: the coefficients of its params.
#pragma once

#include <vector>

#include "holoflow/tasks/affine/affine.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

struct AffineTable {
  std::vector<AffineCoefficients> coefficients;  ///< one, or one per element of the axis
  StridedLoop<3> loop;  ///< operands: in, coefficients, out
};

/// From complete params that infer has accepted.
[[nodiscard]] AffineTable make_affine_table(
    const core::TDesc &in, const core::TDesc &out, const nlohmann::json &params);

[[nodiscard]] std::unique_ptr<core::ISyncTask> make_affine_host(
    const MakeArgs<core::SyncCreateCtx> &args);

}  // namespace holoflow::tasks
