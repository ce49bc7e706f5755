// SPDX-License-Identifier: LGPL-2.1-or-later
// The GObjects around InputPort and OutputPort, and what GStreamer calls on their pads.
#include "gstholoflowport.h"

#include <utility>

#include "gstholoflowlog.h"
#include "gstholoflowqueries.h"

namespace {

/// Everything of a port that is C++. The GObject owns it.
struct InputPortState {
  std::shared_ptr<holoflow::gst::Session> session;  // shared with the bin and other ports
  std::unique_ptr<holoflow::gst::InputPort> port;
};
struct OutputPortState {
  std::shared_ptr<holoflow::gst::Session> session;
  std::unique_ptr<holoflow::gst::OutputPort> port;
};

}  // namespace

G_BEGIN_DECLS
#define GST_TYPE_HOLOFLOW_INPUT (gst_holoflow_input_get_type())
G_DECLARE_FINAL_TYPE(GstHoloflowInput, gst_holoflow_input, GST, HOLOFLOW_INPUT, GstElement)
#define GST_TYPE_HOLOFLOW_OUTPUT (gst_holoflow_output_get_type())
G_DECLARE_FINAL_TYPE(GstHoloflowOutput, gst_holoflow_output, GST, HOLOFLOW_OUTPUT, GstElement)
G_END_DECLS

struct _GstHoloflowInput {
  GstElement parent;
  InputPortState *state;  // owned; a GObject has no constructor of its own
};
struct _GstHoloflowOutput {
  GstElement parent;
  OutputPortState *state;
};

G_DEFINE_FINAL_TYPE(GstHoloflowInput, gst_holoflow_input, GST_TYPE_ELEMENT)
G_DEFINE_FINAL_TYPE(GstHoloflowOutput, gst_holoflow_output, GST_TYPE_ELEMENT)

static void gst_holoflow_input_finalize(GObject *object) {
  delete GST_HOLOFLOW_INPUT(object)->state;
  G_OBJECT_CLASS(gst_holoflow_input_parent_class)->finalize(object);
}

static void gst_holoflow_output_finalize(GObject *object) {
  delete GST_HOLOFLOW_OUTPUT(object)->state;
  G_OBJECT_CLASS(gst_holoflow_output_parent_class)->finalize(object);
}

static void gst_holoflow_input_init(GstHoloflowInput *self) {
  self->state = new InputPortState;
}

static void gst_holoflow_output_init(GstHoloflowOutput *self) {
  self->state = new OutputPortState;
}

static void gst_holoflow_input_class_init(GstHoloflowInputClass *klass) {
  G_OBJECT_CLASS(klass)->finalize = gst_holoflow_input_finalize;
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Holoflow input", "Sink/Video", "Where frames enter a graph",
      "The Holoflow authors");
}

static void gst_holoflow_output_class_init(GstHoloflowOutputClass *klass) {
  G_OBJECT_CLASS(klass)->finalize = gst_holoflow_output_finalize;
  gst_element_class_set_static_metadata(
      GST_ELEMENT_CLASS(klass), "Holoflow output", "Source/Video", "Where frames leave a graph",
      "The Holoflow authors");
}

namespace holoflow::gst {

namespace {

InputPortState &input_of(GstObject *parent) {
  return *GST_HOLOFLOW_INPUT(parent)->state;
}
OutputPortState &output_of(GstObject *parent) {
  return *GST_HOLOFLOW_OUTPUT(parent)->state;
}

GstFlowReturn chain(GstPad *, GstObject *parent, GstBuffer *buffer) {
  return input_of(parent).port->handle_buffer(BufferPtr(buffer));
}

GstFlowReturn sink_event(GstPad *, GstObject *parent, GstEvent *event) {
  return input_of(parent).port->handle_event(EventPtr(event));
}

gboolean sink_query(GstPad *, GstObject *parent, GstQuery *query) {
  auto &state = input_of(parent);
  return answer_sink_query(*state.session, *state.port, parent, query);
}

// Upstream events go past the graph; queries tell what it adds.
gboolean source_event(GstPad *, GstObject *parent, GstEvent *event) {
  auto &state = output_of(parent);
  return state.session->send_upstream(*state.port, EventPtr(event));
}

gboolean source_query(GstPad *, GstObject *parent, GstQuery *query) {
  auto &state = output_of(parent);
  return answer_source_query(*state.session, *state.port, parent, query);
}

// A chain function that waits for the graph must leave before the pad's lock can be had.
gboolean activate_sink(GstPad *, GstObject *parent, GstPadMode mode, gboolean active) {
  if (mode != GST_PAD_MODE_PUSH)
    return FALSE;
  input_of(parent).port->set_active(active != FALSE);
  return TRUE;
}

gboolean activate_source(GstPad *, GstObject *parent, GstPadMode mode, gboolean active) {
  if (mode != GST_PAD_MODE_PUSH)
    return FALSE;
  auto &state = output_of(parent);
  const bool done = state.port->activate(active != FALSE);
  if (active)
    state.session->end_inactivity();
  else
    state.session->begin_inactivity();
  return done;
}

}  // namespace

GstElement *new_input_port(const std::shared_ptr<Session> &session, const PortNode &node) {
  auto *element = GST_ELEMENT(g_object_new(GST_TYPE_HOLOFLOW_INPUT, nullptr));
  if (!node.name.empty())
    gst_object_set_name(GST_OBJECT(element), node.name.c_str());
  GstPad *pad = gst_pad_new("sink", GST_PAD_SINK);
  gst_pad_set_chain_function(pad, GST_DEBUG_FUNCPTR(chain));
  gst_pad_set_event_full_function(pad, GST_DEBUG_FUNCPTR(sink_event));
  gst_pad_set_query_function(pad, GST_DEBUG_FUNCPTR(sink_query));
  gst_pad_set_activatemode_function(pad, GST_DEBUG_FUNCPTR(activate_sink));
  auto &state = *GST_HOLOFLOW_INPUT(element)->state;
  state.session = session;
  state.port = std::make_unique<InputPort>(*session, pad, node);
  gst_element_add_pad(element, pad);
  return element;
}

GstElement *new_output_port(const std::shared_ptr<Session> &session, const PortNode &node) {
  auto *element = GST_ELEMENT(g_object_new(GST_TYPE_HOLOFLOW_OUTPUT, nullptr));
  if (!node.name.empty())
    gst_object_set_name(GST_OBJECT(element), node.name.c_str());
  GstPad *pad = gst_pad_new("src", GST_PAD_SRC);
  gst_pad_set_event_function(pad, GST_DEBUG_FUNCPTR(source_event));
  gst_pad_set_query_function(pad, GST_DEBUG_FUNCPTR(source_query));
  gst_pad_set_activatemode_function(pad, GST_DEBUG_FUNCPTR(activate_source));
  auto &state = *GST_HOLOFLOW_OUTPUT(element)->state;
  state.session = session;
  state.port = std::make_unique<OutputPort>(
      session->element(), pad, node.name, [raw = session.get()] { raw->on_flow(); });
  gst_element_add_pad(element, pad);
  return element;
}

InputPort &input_port(GstElement *port) {
  return *input_of(GST_OBJECT(port)).port;
}
OutputPort &output_port(GstElement *port) {
  return *output_of(GST_OBJECT(port)).port;
}

}  // namespace holoflow::gst
