// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures of compiled graphs.
#pragma once

#include <string>

#include "holoflow/core/registry.hh"
#include "holoflow/runtime/compiler.hh"

namespace holoflow::runtime {

/// Graphviz source: sections as clusters, tensors with shape, type and location on the edges.
[[nodiscard]] std::string to_dot(const CompilerOutput &output, const core::Registry &registry);

}  // namespace holoflow::runtime
