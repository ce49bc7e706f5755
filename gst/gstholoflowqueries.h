// SPDX-License-Identifier: LGPL-2.1-or-later
// Answers to queries on the ports' pads.
#pragma once

#include <gst/gst.h>

#include "gstholoflowinput.h"
#include "gstholoflowoutput.h"

namespace holoflow::gst {

/// Any thread. Without an answer of their own, what GStreamer answers by default.
gboolean answer_sink_query(Session &session, InputPort &port, GstObject *parent, GstQuery *query);
gboolean answer_source_query(
    Session &session, OutputPort &port, GstObject *parent, GstQuery *query);

/// Of all inputs together, with the delay of that output; null: the largest of all.
gboolean answer_latency(Session &session, const OutputPort *port, GstQuery *query);

}  // namespace holoflow::gst
