// SPDX-License-Identifier: LGPL-2.1-or-later
// The fields of tensor caps: NNStreamer's other/tensors and our own application/x-holoflow-tensor.
// Pure functions on their texts; who parses caps brings them.
#pragma once

#include <string>
#include <string_view>

#include "holoflow/core/tensor.hh"

namespace holoflow::media {

inline constexpr char tensors_name[] = "other/tensors";
inline constexpr char holoflow_tensor_name[] = "application/x-holoflow-tensor";

/// "uint8", "uint16", "float32"; null for CF32, which NNStreamer does not know.
[[nodiscard]] const char *nnstreamer_type(core::DType dtype);

/// The fields of other/tensors, "" for those that are not there.
struct NnstreamerFields {
  std::string format, num_tensors, types, dimensions;
};
/// The packed tensor in one buffer, in Host memory. Both throw std::invalid_argument: expected,
/// got.
[[nodiscard]] core::TDesc tensor_from_nnstreamer(const NnstreamerFields &fields);
[[nodiscard]] core::TDesc tensor_from_holoflow(std::string_view dtype, std::string_view shape);

/// "1,480,640".
[[nodiscard]] std::string holoflow_shape(const core::TDesc &tensor);
/// "640:480:1", innermost axis first.
[[nodiscard]] std::string nnstreamer_dimensions(const core::TDesc &tensor);

}  // namespace holoflow::media
