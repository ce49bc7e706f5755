// SPDX-License-Identifier: LGPL-2.1-or-later
// Property table, setters and getters.
#include "gstholoflowproperties.h"

#include <utility>

#include "gstholoflowbin.h"
#include "gstholoflowlog.h"

namespace holoflow::gst {

namespace {

enum Property : guint {
  PROP_GRAPH = 1,
  PROP_DEVICE,
  PROP_CUDA_DEVICE_ID,
  PROP_SETTINGS,
  PROP_STATS,
  PROP_TRACE_LOCATION,
  PROP_REPLAY,
};

using Device = runtime::CompilerConfig::Device;
using Replay = runtime::CompilerConfig::Replay;

GType device_type() {
  static const GType type = [] {
    static const GEnumValue values[] = {
        {static_cast<int>(Device::Auto), "A GPU where there is one and the graph has an Upload",
         "auto"},
        {static_cast<int>(Device::Cpu), "The CPU", "cpu"},
        {static_cast<int>(Device::Cuda), "An NVIDIA GPU, an error without one", "cuda"},
        {0, nullptr, nullptr},
    };
    return g_enum_register_static("GstHoloflowDevice", values);
  }();
  return type;
}

GType replay_type() {
  static const GType type = [] {
    static const GEnumValue values[] = {
        {static_cast<int>(Replay::Off), "Every task enqueues its own work", "off"},
        {static_cast<int>(Replay::Auto), "Tasks in a row are recorded and launched as one", "auto"},
        {static_cast<int>(Replay::Require), "An error if a task cannot be recorded", "require"},
        {0, nullptr, nullptr},
    };
    return g_enum_register_static("GstHoloflowReplay", values);
  }();
  return type;
}

GParamFlags writable(guint mutability) {
  return static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | mutability);
}

std::string text_of(const GValue *value) {
  const char *text = g_value_get_string(value);
  return text != nullptr ? text : "";
}

// In NULL and READY nothing runs, so everything may change.
bool is_stopped(GstElement *element) {
  GST_OBJECT_LOCK(element);
  const bool stopped =
      GST_STATE(element) < GST_STATE_PAUSED && GST_STATE_NEXT(element) < GST_STATE_PAUSED;
  GST_OBJECT_UNLOCK(element);
  return stopped;
}

GraphSettings graph_settings(BinState &state) {
  std::lock_guard lock(state.mutex);
  return state.settings;
}

// Changes one value and reads the graph again; the old value comes back where that is refused.
template <typename Change> void change_stopped(BinState &state, const char *name, Change change) {
  const std::lock_guard changes(state.changes);
  if (!is_stopped(state.element)) {
    post_warning(
        state.element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_BUSY,
        std::string("the property \"") + name +
            "\" cannot change while the graph runs; set the element to READY first",
        "");
    return;
  }
  const GraphSettings before = graph_settings(state);
  {
    std::lock_guard lock(state.mutex);
    change(state.settings);
  }
  const std::string refusal = load_graph(state);
  if (refusal.empty())
    return;
  post_warning(
      state.element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, refusal,
      "the element keeps its former graph");
  std::lock_guard lock(state.mutex);
  state.settings = before;
}

// Where the streaming thread finds that the frames do not fit: the property tells what holds.
void restore_settings(BinState &state, const std::shared_ptr<const GraphModel> &former) {
  std::lock_guard lock(state.mutex);
  state.settings.settings = former->settings().settings;
  state.model = former;
}

// Takes effect before the next buffer; a text that cannot leaves graph and property as they were.
void change_settings(BinState &state, const std::string &text) {
  const std::lock_guard changes(state.changes);
  if (is_stopped(state.element))
    return change_stopped(state, "settings", [&](GraphSettings &graph) { graph.settings = text; });
  GraphSettings wanted = graph_settings(state);
  if (wanted.settings == text)
    return;
  wanted.settings = text;
  const auto model = std::make_shared<const GraphModel>(wanted);
  const auto faults = model->judge();
  if (!faults.empty()) {
    post_warning(
        state.element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, core::to_text(faults),
        "the graph keeps its former settings");
    return;
  }
  std::shared_ptr<const GraphModel> former;
  {
    std::lock_guard lock(state.mutex);
    state.settings = wanted;
    former = std::exchange(state.model, model);
  }
  state.session->set_model(model, [&state, former] { restore_settings(state, former); });
}

}  // namespace

void install_properties(GObjectClass *object_class) {
  g_object_class_install_property(
      object_class, PROP_GRAPH,
      g_param_spec_string(
          "graph", "Graph",
          "The graph: a file, JSON that begins with {, or a chain like "
          "\"upload ! sqrt ! download\"",
          nullptr, writable(GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      object_class, PROP_DEVICE,
      g_param_spec_enum(
          "device", "Device", "Where the graph computes", device_type(),
          static_cast<int>(Device::Auto), writable(GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      object_class, PROP_CUDA_DEVICE_ID,
      g_param_spec_int(
          "cuda-device-id", "CUDA device", "Ordinal of the GPU, -1 for the first", -1, G_MAXINT, -1,
          writable(GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      object_class, PROP_SETTINGS,
      g_param_spec_string(
          "settings", "Settings",
          "JSON merge patch of node params, {\"node\": {\"param\": value}}; null "
          "restores a default. While playing the graph drains and is compiled anew "
          "before the next buffer",
          nullptr, writable(GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      object_class, PROP_STATS,
      g_param_spec_boxed(
          "stats", "Statistics",
          "Frames since READY: in = out + merged + dropped + skipped + failed + in-flight; the "
          "device; what each node counts; and of each section iterations-per-second and limiter, "
          "what holds it up. Rates "
          "are measured from the first question on: it has none yet",
          GST_TYPE_STRUCTURE, static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  g_object_class_install_property(
      object_class, PROP_TRACE_LOCATION,
      g_param_spec_string(
          "trace-location", "Trace location",
          "File for a Chrome trace of compiles and runs, with the graph as DOT beside it; "
          "written when the graph is replaced and when the element goes to READY",
          nullptr, writable(GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      object_class, PROP_REPLAY,
      g_param_spec_enum(
          "replay", "Replay", "Whether tasks on a GPU are recorded and launched as one",
          replay_type(), static_cast<int>(Replay::Auto), writable(GST_PARAM_MUTABLE_READY)));
  gst_type_mark_as_plugin_api(device_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(replay_type(), static_cast<GstPluginAPIFlags>(0));
}

std::string load_graph(BinState &state) {
  const std::lock_guard changes(state.changes);
  const auto model = std::make_shared<const GraphModel>(graph_settings(state));
  std::string refusal = update_pads(state, *model);
  if (!refusal.empty())
    return refusal;
  {
    std::lock_guard lock(state.mutex);
    state.model = model;
  }
  state.session->set_model(model);
  return "";
}

void set_property(BinState &state, guint id, const GValue *value, GParamSpec *spec) {
  switch (id) {
  case PROP_GRAPH:
    change_stopped(state, "graph", [&](GraphSettings &graph) { graph.graph = text_of(value); });
    break;
  case PROP_DEVICE:
    change_stopped(state, "device", [&](GraphSettings &graph) {
      graph.device = static_cast<Device>(g_value_get_enum(value));
    });
    break;
  case PROP_CUDA_DEVICE_ID:
    change_stopped(state, "cuda-device-id", [&](GraphSettings &graph) {
      graph.cuda_device = g_value_get_int(value);
    });
    break;
  case PROP_SETTINGS:
    change_settings(state, text_of(value));
    break;
  case PROP_REPLAY:
    change_stopped(state, "replay", [&](GraphSettings &graph) {
      graph.replay = static_cast<Replay>(g_value_get_enum(value));
    });
    break;
  case PROP_TRACE_LOCATION:
    change_stopped(state, "trace-location", [&](GraphSettings &graph) {
      graph.trace_location = text_of(value);
    });
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(G_OBJECT(state.element), id, spec);
    break;
  }
}

void get_property(BinState &state, guint id, GValue *value, GParamSpec *spec) {
  const GraphSettings graph = graph_settings(state);
  const auto set_text = [&](const std::string &text) {
    g_value_set_string(value, text.empty() ? nullptr : text.c_str());
  };
  switch (id) {
  case PROP_GRAPH:
    set_text(graph.graph);
    break;
  case PROP_DEVICE:
    g_value_set_enum(value, static_cast<int>(graph.device));
    break;
  case PROP_CUDA_DEVICE_ID:
    g_value_set_int(value, graph.cuda_device);
    break;
  case PROP_SETTINGS:
    set_text(graph.settings);
    break;
  case PROP_STATS:
    g_value_take_boxed(value, state.session->stats().release());
    break;
  case PROP_REPLAY:
    g_value_set_enum(value, static_cast<int>(graph.replay));
    break;
  case PROP_TRACE_LOCATION:
    set_text(graph.trace_location);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(G_OBJECT(state.element), id, spec);
    break;
  }
}

}  // namespace holoflow::gst
