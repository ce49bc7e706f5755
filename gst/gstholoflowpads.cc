// SPDX-License-Identifier: LGPL-2.1-or-later
// Making pads, and the functions that GStreamer calls on them.
#include "gstholoflowpads.h"

#include <algorithm>

#include "gstholoflowbin.h"
#include "gstholoflowlog.h"
#include "gstholoflowqueries.h"

namespace holoflow::gst {

namespace {

BinState &state_of_parent(GstObject *parent) {
  return state_of(GST_ELEMENT(parent));
}

GstFlowReturn chain(GstPad *, GstObject *parent, GstBuffer *buffer) {
  return state_of_parent(parent).stream.handle_buffer(BufferPtr(buffer));
}

gboolean sink_event(GstPad *, GstObject *parent, GstEvent *event) {
  return state_of_parent(parent).stream.handle_event(EventPtr(event));
}

// Upstream events go past the graph; queries tell what it adds.
gboolean source_event(GstPad *pad, GstObject *parent, GstEvent *event) {
  BinState &state = state_of_parent(parent);
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE) {
    GST_DEBUG_OBJECT(pad, "downstream asks to negotiate anew");
    state.stream.output().reconfigure();
  }
  const PadPtr sink = first_sink(state);
  if (sink == nullptr)
    return gst_pad_event_default(pad, parent, event);
  return gst_pad_push_event(sink.get(), event);
}

gboolean activate_sink(GstPad *, GstObject *parent, GstPadMode mode, gboolean active) {
  if (mode != GST_PAD_MODE_PUSH)
    return FALSE;
  // A chain function that waits for the graph must leave before the pad's lock can be had.
  if (!active)
    state_of_parent(parent).stream.halt();
  return TRUE;
}

gboolean activate_source(GstPad *, GstObject *parent, GstPadMode mode, gboolean active) {
  if (mode != GST_PAD_MODE_PUSH)
    return FALSE;
  return state_of_parent(parent).stream.output().activate(active != FALSE);
}

// GStreamer asks ACCEPT_CAPS before it hands a CAPS event over, and says only "not negotiated" when
// the answer is no. This probe sees the event first and can say why.
GstPadProbeReturn explain_caps(GstPad *pad, GstPadProbeInfo *info, gpointer) {
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  if (GstElement *element = gst_pad_get_parent_element(pad)) {
    state_of(element).stream.judge_caps(caps);
    gst_object_unref(element);
  }
  return GST_PAD_PROBE_OK;
}

const char *template_name(const std::string &pad_name, bool is_sink) {
  if (is_sink)
    return pad_name == "sink" ? "sink" : "sink_%s";
  return pad_name == "src" ? "src" : "src_%s";
}

GstPad *make_pad(GstElement *element, const std::string &name, bool is_sink) {
  GstPadTemplate *pad_template = gst_element_class_get_pad_template(
      GST_ELEMENT_GET_CLASS(element), template_name(name, is_sink));
  GstPad *pad = gst_pad_new_from_template(pad_template, name.c_str());
  if (is_sink) {
    gst_pad_set_chain_function(pad, GST_DEBUG_FUNCPTR(chain));
    gst_pad_set_event_function(pad, GST_DEBUG_FUNCPTR(sink_event));
    gst_pad_set_query_function(pad, GST_DEBUG_FUNCPTR(sink_query));
    gst_pad_set_activatemode_function(pad, GST_DEBUG_FUNCPTR(activate_sink));
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, explain_caps, nullptr, nullptr);
  } else {
    gst_pad_set_event_function(pad, GST_DEBUG_FUNCPTR(source_event));
    gst_pad_set_query_function(pad, GST_DEBUG_FUNCPTR(source_query));
    gst_pad_set_activatemode_function(pad, GST_DEBUG_FUNCPTR(activate_source));
  }
  gst_element_add_pad(element, pad);
  return pad;
}

GstPad *find_pad(const std::vector<PadPort> &ports, const std::string &name) {
  const auto found = std::find_if(
      ports.begin(), ports.end(), [&](const PadPort &port) { return port.pad_name == name; });
  return found != ports.end() ? found->pad : nullptr;
}

// Why these pads cannot be given up: "" where they can.
std::string linked_pad(const std::vector<PadPort> &now, const std::vector<PadPort> &wanted) {
  for (const auto &port : now)
    if (gst_pad_is_linked(port.pad) &&
        std::none_of(wanted.begin(), wanted.end(), [&](const PadPort &each) {
          return each.pad_name == port.pad_name;
        }))
      return "the new graph has no pad \"" + port.pad_name +
          "\", which is linked; unlink it first, or name the node so that the pad stays";
  return "";
}

std::string clash(const std::vector<PadPort> &wanted) {
  for (const auto &port : wanted)
    if (port.pad_name.empty())
      return "node \"" + port.node +
          "\" would get the same pad name as another one; rename it, letters and digits tell "
          "pads apart";
  return "";
}

// Pads that stay are taken over, the others are made.
void fill(
    GstElement *element, const std::vector<PadPort> &now, std::vector<PadPort> &wanted,
    bool is_sink) {
  for (auto &port : wanted) {
    port.pad = find_pad(now, port.pad_name);
    if (port.pad == nullptr)
      port.pad = make_pad(element, port.pad_name, is_sink);
  }
}

void remove_others(
    GstElement *element, const std::vector<PadPort> &before, const std::vector<PadPort> &now) {
  for (const auto &port : before)
    if (find_pad(now, port.pad_name) == nullptr)
      gst_element_remove_pad(element, port.pad);
}

bool same_pads(const std::vector<PadPort> &a, const std::vector<PadPort> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const PadPort &x, const PadPort &y) {
    return x.pad == y.pad;
  });
}

PadPtr share_first(BinState &state, const std::vector<PadPort> &ports) {
  std::lock_guard lock(state.mutex);
  return PadPtr(ports.empty() ? nullptr : static_cast<GstPad *>(gst_object_ref(ports.front().pad)));
}

}  // namespace

void add_pad_templates(GstElementClass *element_class) {
  const CapsPtr caps = template_caps();
  for (const char *name : {"sink", "sink_%s"})
    gst_element_class_add_pad_template(
        element_class, gst_pad_template_new(name, GST_PAD_SINK, GST_PAD_SOMETIMES, caps.get()));
  for (const char *name : {"src", "src_%s"})
    gst_element_class_add_pad_template(
        element_class, gst_pad_template_new(name, GST_PAD_SRC, GST_PAD_SOMETIMES, caps.get()));
}

std::vector<PadPort> wanted_pads(const std::vector<PortNode> &nodes, const char *direction) {
  std::vector<PadPort> ports;
  if (nodes.size() <= 1) {
    ports.push_back({direction, nodes.empty() ? "" : nodes.front().name});
    return ports;
  }
  for (const auto &node : nodes) {
    std::string name = node.name;
    std::replace_if(
        name.begin(), name.end(),
        [](char c) { return !g_ascii_isalnum(c) && c != '-' && c != '_' && c != '.'; }, '_');
    name = std::string(direction) + "_" + name;
    const bool taken = std::any_of(
        ports.begin(), ports.end(), [&](const PadPort &port) { return port.pad_name == name; });
    ports.push_back({taken ? "" : name, node.name});
  }
  return ports;
}

PadPtr first_sink(BinState &state) {
  return share_first(state, state.pads.sinks);
}
PadPtr first_source(BinState &state) {
  return share_first(state, state.pads.sources);
}

std::string update_pads(BinState &state, const GraphModel &model) {
  auto sinks = wanted_pads(model.inputs(), "sink");
  auto sources = wanted_pads(model.outputs(), "src");
  Pads before;
  {
    std::lock_guard lock(state.mutex);
    before = state.pads;
  }
  for (const auto &fault :
       {clash(sinks), clash(sources), linked_pad(before.sinks, sinks),
        linked_pad(before.sources, sources)})
    if (!fault.empty())
      return fault;
  fill(state.element, before.sinks, sinks, true);
  fill(state.element, before.sources, sources, false);
  const bool changed = !same_pads(before.sinks, sinks) || !same_pads(before.sources, sources);
  state.stream.set_pads(sinks.front().pad, sources.front().pad);
  Pads now{std::move(sinks), std::move(sources)};
  {
    std::lock_guard lock(state.mutex);
    state.pads = now;
  }
  remove_others(state.element, before.sinks, now.sinks);
  remove_others(state.element, before.sources, now.sources);
  if (changed)
    gst_element_no_more_pads(state.element);
  return "";
}

}  // namespace holoflow::gst
