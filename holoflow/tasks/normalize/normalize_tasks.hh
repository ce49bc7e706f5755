// SPDX-License-Identifier: LGPL-2.1-or-later
// What Normalize's Host and GPU tasks share.
#pragma once

#include "holoflow/tasks/normalize/normalize.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

/// The axes over which a group runs.
[[nodiscard]] std::vector<size_t> normalize_axes_of(
    const core::TDesc &in, const nlohmann::json &params);

[[nodiscard]] NormalizeOp normalize_op_of(const nlohmann::json &params);

[[nodiscard]] std::unique_ptr<core::ISyncTask> make_normalize_host(
    const MakeArgs<core::SyncCreateCtx> &args);

}  // namespace holoflow::tasks
