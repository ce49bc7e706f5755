// SPDX-License-Identifier: LGPL-2.1-or-later
// What Conversion's Host and GPU tasks share.
#pragma once

#include "holoflow/tasks/conversion/conversion.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

[[nodiscard]] Strategy strategy_of(const nlohmann::json &params);

/// Whether the conversion changes nothing.
[[nodiscard]] bool is_identity(core::DType from, core::DType to, Strategy strategy);

[[nodiscard]] std::unique_ptr<core::ISyncTask> make_conversion_host(
    const MakeArgs<core::SyncCreateCtx> &args);

}  // namespace holoflow::tasks
