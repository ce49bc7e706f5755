// SPDX-License-Identifier: LGPL-2.1-or-later
// The one record that stands for several frames.
#pragma once

#include <span>

#include "holoflow/core/tensor.hh"

namespace holoflow::runtime {

/// Times, sequence number and owner of the newest frame that is no padding (of the last one where
/// all are), the flags of all frames; a known duration becomes that of `stride` frames. Does
/// nothing where either side has no records: no frame stands for none.
void merge_records(
    std::span<const core::FrameRecord> frames, size_t stride, std::span<core::FrameRecord> merged);

}  // namespace holoflow::runtime
