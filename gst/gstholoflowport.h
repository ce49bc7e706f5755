// SPDX-License-Identifier: LGPL-2.1-or-later
// The children of the bin: for each Input an element with one sink pad, for each Output one with
// one source pad, named after the node. They are what an appsink and an appsrc would be there,
// without their preroll, clock and second queue.
//
//   upstream ─► ghost pad ─► port's pad ─► InputPort ─► graph ─► OutputPort ─► port's pad ─► ghost
//   pad
#pragma once

#include <gst/gst.h>

#include <memory>

#include "gstholoflowinput.h"
#include "gstholoflowoutput.h"

namespace holoflow::gst {

/// A new element, floating. It holds the session; its pad is called "sink" or "src".
[[nodiscard]] GstElement *new_input_port(
    const std::shared_ptr<Session> &session, const PortNode &node);
[[nodiscard]] GstElement *new_output_port(
    const std::shared_ptr<Session> &session, const PortNode &node);

/// What is behind such an element; it lives as long as that.
[[nodiscard]] InputPort &input_port(GstElement *port);
[[nodiscard]] OutputPort &output_port(GstElement *port);

}  // namespace holoflow::gst
