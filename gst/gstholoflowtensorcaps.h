// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensor caps as GStreamer brings them; what their fields mean is in holoflow/media/tensor_caps.hh.
#pragma once

#include <gst/gst.h>

#include "holoflow/core/tensor.hh"
#include "holoflow/media/tensor_caps.hh"

namespace holoflow::gst {

using media::holoflow_shape;
using media::holoflow_tensor_name;
using media::nnstreamer_dimensions;
using media::nnstreamer_type;
using media::tensors_name;

/// The packed tensor in one buffer. Throw CapsError.
[[nodiscard]] core::TDesc read_nnstreamer(const GstStructure *structure);
[[nodiscard]] core::TDesc read_holoflow_tensor(const GstStructure *structure);

}  // namespace holoflow::gst
