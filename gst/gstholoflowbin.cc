// SPDX-License-Identifier: LGPL-2.1-or-later
// The GObject around BinState: class, construction, state changes.
//
// Its children are the ports, one for each Input and Output of the graph; docs/architecture.md
// tells more.
#include "gstholoflowbin.h"

#include "gstholoflowlog.h"
#include "gstholoflowqueries.h"

using holoflow::gst::BinState;

struct _GstHoloflowBin {
  GstBin parent;
  BinState *state;  // owned; a GObject has no constructor of its own
};

G_DEFINE_FINAL_TYPE(GstHoloflowBin, gst_holoflow_bin, GST_TYPE_BIN)
GST_ELEMENT_REGISTER_DEFINE(holoflowbin, "holoflowbin", GST_RANK_NONE, GST_TYPE_HOLOFLOW_BIN)

namespace holoflow::gst {

BinState &state_of(GstElement *element) {
  return *GST_HOLOFLOW_BIN(element)->state;
}

std::shared_ptr<const GraphModel> model_of(BinState &state) {
  std::lock_guard lock(state.mutex);
  return state.model;
}

namespace {

// Everything that is wrong whatever the caps will be is said here, before anything flows.
bool open_graph(BinState &state) {
  follow_log_threshold();
  const auto model = model_of(state);
  const auto faults = model->judge();
  if (!faults.empty()) {
    post_graph_faults(state.element, model->settings().graph, faults);
    return false;
  }
  if (model->settings().device != runtime::CompilerConfig::Device::Cuda)
    return true;
  try {
    (void)runtime::cuda_device(model->settings().cuda_device);
    return true;
  } catch (const std::exception &error) {
    post_error(
        state.element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, error.what(),
        "device=cuda");
    return false;
  }
}

}  // namespace

}  // namespace holoflow::gst

// The graph is read again, because its file may have changed since the property was set.
static gboolean reload_graph(BinState &state) {
  const std::string refusal = holoflow::gst::load_graph(state);
  if (refusal.empty())
    return holoflow::gst::open_graph(state);
  holoflow::gst::post_error(
      state.element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, refusal,
      "the graph's file has changed");
  return FALSE;
}

static GstStateChangeReturn gst_holoflow_bin_change_state(
    GstElement *element, GstStateChange transition) {
  BinState &state = holoflow::gst::state_of(element);
  // Ports come and go with properties, so their states must not change meanwhile. From READY on
  // whoever changes a property sees that it is too late, but may have begun before.
  std::unique_lock changes(state.changes);
  if (transition != GST_STATE_CHANGE_NULL_TO_READY && transition != GST_STATE_CHANGE_READY_TO_NULL)
    changes.unlock();
  switch (transition) {
  case GST_STATE_CHANGE_NULL_TO_READY:
    if (!reload_graph(state))
      return GST_STATE_CHANGE_FAILURE;
    break;
  case GST_STATE_CHANGE_READY_TO_PAUSED:
    state.session->start();
    break;
  // Whatever waits for the graph must leave before the pads can be deactivated.
  case GST_STATE_CHANGE_PAUSED_TO_READY:
    state.session->halt();
    break;
  default:
    break;
  }
  auto result = GST_ELEMENT_CLASS(gst_holoflow_bin_parent_class)->change_state(element, transition);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && result != GST_STATE_CHANGE_FAILURE &&
      !state.session->start_sources())
    result = GST_STATE_CHANGE_FAILURE;
  // Now nobody pushes any more: the threads can be joined.
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY ||
      (transition == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE)) {
    state.session->halt();
    state.session->stop();
  }
  return result;
}

// As the source pads answer; the bin has no sinks that GstBin could ask.
static gboolean gst_holoflow_bin_query(GstElement *element, GstQuery *query) {
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY)
    return holoflow::gst::answer_latency(*holoflow::gst::state_of(element).session, nullptr, query);
  return GST_ELEMENT_CLASS(gst_holoflow_bin_parent_class)->query(element, query);
}

// Events from outside reach the sink pads; a graph that makes its frames itself has none.
static gboolean gst_holoflow_bin_send_event(GstElement *element, GstEvent *event) {
  BinState &state = holoflow::gst::state_of(element);
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && state.session->inputs().empty()) {
    state.session->end_sources(holoflow::gst::EventPtr(event));
    return TRUE;
  }
  return GST_ELEMENT_CLASS(gst_holoflow_bin_parent_class)->send_event(element, event);
}

static void gst_holoflow_bin_set_property(
    GObject *object, guint id, const GValue *value, GParamSpec *spec) {
  holoflow::gst::set_property(holoflow::gst::state_of(GST_ELEMENT(object)), id, value, spec);
}

static void gst_holoflow_bin_get_property(
    GObject *object, guint id, GValue *value, GParamSpec *spec) {
  holoflow::gst::get_property(holoflow::gst::state_of(GST_ELEMENT(object)), id, value, spec);
}

static void gst_holoflow_bin_finalize(GObject *object) {
  delete GST_HOLOFLOW_BIN(object)->state;
  G_OBJECT_CLASS(gst_holoflow_bin_parent_class)->finalize(object);
}

static void gst_holoflow_bin_init(GstHoloflowBin *self) {
  // Ports are neither sinks nor sources: those would end, seek and preroll by themselves.
  gst_bin_set_suppressed_flags(
      GST_BIN(self), static_cast<GstElementFlags>(GST_ELEMENT_FLAG_SOURCE | GST_ELEMENT_FLAG_SINK));
  self->state = new BinState(GST_ELEMENT(self));
  // Pads exist from here on: "sink" and "src" until a graph says otherwise.
  (void)holoflow::gst::load_graph(*self->state);
}

static void gst_holoflow_bin_class_init(GstHoloflowBinClass *klass) {
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = gst_holoflow_bin_set_property;
  object_class->get_property = gst_holoflow_bin_get_property;
  object_class->finalize = gst_holoflow_bin_finalize;
  holoflow::gst::install_properties(object_class);

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  element_class->change_state = GST_DEBUG_FUNCPTR(gst_holoflow_bin_change_state);
  element_class->query = GST_DEBUG_FUNCPTR(gst_holoflow_bin_query);
  element_class->send_event = GST_DEBUG_FUNCPTR(gst_holoflow_bin_send_event);
  holoflow::gst::add_pad_templates(element_class);
  gst_element_class_set_static_metadata(
      element_class, "Holoflow compute graph", "Filter/Effect/Converter/Video/Hardware",
      "Runs a graph of compute tasks on each frame, on the CPU or on an NVIDIA GPU",
      "The Holoflow authors");
}
