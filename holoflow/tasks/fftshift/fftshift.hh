// SPDX-License-Identifier: LGPL-2.1-or-later
// FFTShift and IFFTShift: rotate axes so that the zero frequency lies in the middle, and back.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

enum class ShiftDirection { ToCentre, FromCentre };

/// For each axis of n elements the input index that output index 0 reads, below n: output i reads
/// (i + start) mod n. 0 along axes that `params` does not name. Throws ParamError for wrong axes.
[[nodiscard]] std::vector<size_t> shift_starts(
    const core::TDesc &input, const nlohmann::json &params, ShiftDirection direction);

/// Host task for any element type and strides.
[[nodiscard]] std::unique_ptr<core::ISyncTask> make_shift_host(
    const MakeArgs<core::SyncCreateCtx> &args, const std::vector<size_t> &starts);

}  // namespace holoflow::tasks
