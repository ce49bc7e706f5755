// SPDX-License-Identifier: LGPL-2.1-or-later
// What becomes of a tensor's annotation where a task changes its axes.
#pragma once

#include <optional>
#include <vector>

#include "holoflow/core/tensor.hh"

namespace holoflow::tasks {

/// What a task makes of one axis of its input.
struct AxisFate {
  bool dropped = false;  ///< the output has no such axis
  bool altered = false;  ///< the axis does not hold all of the input's elements in their order
};

/// Frames along axis 0, each with a record of its own.
[[nodiscard]] bool has_frames(const core::TDesc &in);

/// The input's annotation for an output that has the same axes but for those dropped: the channel
/// axis moves with the axes that go; a picture whose channels or packed planes are altered is no
/// longer of its pixel format. `records` stays as it is. One fate per axis of the input.
[[nodiscard]] std::optional<core::MediaInfo> media_after(
    const core::TDesc &in, const std::vector<AxisFate> &fates);

/// Says that the output has one record for all it holds: the task mixes frames.
void set_one_record(core::TDesc &output);

}  // namespace holoflow::tasks
