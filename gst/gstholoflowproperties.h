// SPDX-License-Identifier: LGPL-2.1-or-later
// The element's properties: what they are called, what they accept, what setting them does.
#pragma once

#include <gst/gst.h>

#include <string>

#include "gstholoflowmodel.h"

namespace holoflow::gst {

struct BinState;

void install_properties(GObjectClass *object_class);
void set_property(BinState &state, guint id, const GValue *value, GParamSpec *spec);
void get_property(BinState &state, guint id, GValue *value, GParamSpec *spec);

/// Reads the graph anew from the properties and shapes the pads after it. Empty on success; a graph
/// that would drop a linked pad is refused with the reason, the element keeps its former graph.
[[nodiscard]] std::string load_graph(BinState &state);

}  // namespace holoflow::gst
