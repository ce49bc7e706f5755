// SPDX-License-Identifier: LGPL-2.1-or-later
// The element's pads: their names after the graph, their templates, the ports behind them.
//
//   one Input     → "sink"          one Output     → "src"
//   several       → "sink_<node>"   several        → "src_<node>"
//   none (faulty) → "sink"          none (faulty)  → "src"
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "gstholoflowmodel.h"

namespace holoflow::gst {

struct BinState;

/// A ghost pad with the port behind it. The bin owns both.
struct PadPort {
  std::string pad_name;
  PortNode node;  ///< without a name where the graph has none
  GstPad *pad = nullptr;
  GstElement *port = nullptr;
};

struct Pads {
  std::vector<PadPort> sinks;
  std::vector<PadPort> sources;
};

void add_pad_templates(GstElementClass *element_class);

/// Names of the pads for these nodes. Clashes of names that differ in odd characters only give an
/// empty name for the later node.
[[nodiscard]] std::vector<PadPort> wanted_pads(
    const std::vector<PortNode> &nodes, const char *direction);

/// Keeps pads of unchanged names with their links, removes and adds the others. Empty on success,
/// else why not: then nothing was changed. One caller at a time.
[[nodiscard]] std::string update_pads(BinState &state, const GraphModel &model);

}  // namespace holoflow::gst
