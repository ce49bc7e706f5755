// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensor caps: NNStreamer's other/tensors and our own application/x-holoflow-tensor. Pure
// functions.
#pragma once

#include <gst/gst.h>

#include <string>

#include "holoflow/core/tensor.hh"

namespace holoflow::gst {

inline constexpr char tensors_name[] = "other/tensors";
inline constexpr char holoflow_tensor_name[] = "application/x-holoflow-tensor";

/// "uint8", "uint16", "float32"; null for CF32, which NNStreamer does not know.
[[nodiscard]] const char *nnstreamer_type(core::DType dtype);

/// The packed tensor in one buffer. Throw CapsError.
[[nodiscard]] core::TDesc tensor_from_nnstreamer(const GstStructure *structure);
[[nodiscard]] core::TDesc tensor_from_holoflow(const GstStructure *structure);

/// "1,480,640".
[[nodiscard]] std::string holoflow_shape(const core::TDesc &tensor);
/// "640:480:1", innermost axis first.
[[nodiscard]] std::string nnstreamer_dimensions(const core::TDesc &tensor);

}  // namespace holoflow::gst
