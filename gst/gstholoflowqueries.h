// SPDX-License-Identifier: LGPL-2.1-or-later
// Answers to queries: caps by inference, allocation, latency.
#pragma once

#include <gst/gst.h>

#include "gstholoflowmodel.h"

namespace holoflow::gst {

struct BinState;

/// What the sink pad takes: a row for each format of which inference finds that the graph takes it
/// and downstream takes the result. `filter` (may be null) gives the order. While the element is
/// stopped every raw video is offered behind them, so that a link is made and the caps themselves
/// are refused with a reason.
[[nodiscard]] CapsPtr sink_caps(BinState &state, GstPad *sink, GstCaps *filter);
/// What may leave the source pad for what upstream can send; while stopped any raw video too.
[[nodiscard]] CapsPtr source_caps(BinState &state, GstPad *source, GstCaps *filter);

gboolean sink_query(GstPad *pad, GstObject *parent, GstQuery *query);
gboolean source_query(GstPad *pad, GstObject *parent, GstQuery *query);

}  // namespace holoflow::gst
