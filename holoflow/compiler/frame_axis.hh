// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "holoflow/compiler/plan.hh"

namespace holoflow::compiler {

/// Warns where a built-in task works along the frame axis of tensors with one frame each: its
/// result is that of single frames, which is hardly what the graph is for.
/// Reads: node infer.  Writes: decisions.
void warn_about_frame_axis(Plan &plan, size_t node);

}  // namespace holoflow::compiler
