// SPDX-License-Identifier: LGPL-2.1-or-later
// Reading the fields of tensor caps.
#include "gstholoflowtensorcaps.h"

#include <stdexcept>
#include <string>

#include "gstholoflowcaps.h"

namespace holoflow::gst {

namespace {

std::string field_text(const GstStructure *structure, const char *field) {
  const GValue *value = gst_structure_get_value(structure, field);
  if (value == nullptr)
    return "";
  if (G_VALUE_HOLDS_STRING(value))
    return g_value_get_string(value);
  const TextPtr text(gst_value_serialize(value));
  return text != nullptr ? text.get() : "";
}

template <typename Read> core::TDesc as_caps_error(const Read &read) {
  try {
    return read();
  } catch (const std::invalid_argument &error) {
    throw CapsError(error.what());
  }
}

}  // namespace

core::TDesc read_nnstreamer(const GstStructure *structure) {
  return as_caps_error([&] {
    return media::tensor_from_nnstreamer(
        {field_text(structure, "format"), field_text(structure, "num_tensors"),
         field_text(structure, "types"), field_text(structure, "dimensions")});
  });
}

core::TDesc read_holoflow_tensor(const GstStructure *structure) {
  return as_caps_error([&] {
    return media::tensor_from_holoflow(
        field_text(structure, "dtype"), field_text(structure, "shape"));
  });
}

}  // namespace holoflow::gst
