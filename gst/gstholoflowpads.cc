// SPDX-License-Identifier: LGPL-2.1-or-later
// Making ghost pads and the ports behind them.
#include "gstholoflowpads.h"

#include <algorithm>

#include "gstholoflowbin.h"
#include "gstholoflowlog.h"
#include "gstholoflowport.h"

namespace holoflow::gst {

namespace {

PadPtr target_of(GstPad *ghost) {
  return PadPtr(gst_ghost_pad_get_target(GST_GHOST_PAD(ghost)));
}

// A ghost pad would cut the port's answers down to the template, and answer some by itself.
gboolean ask_port(GstPad *ghost, GstObject *, GstQuery *query) {
  const PadPtr target = target_of(ghost);
  return target != nullptr && gst_pad_query(target.get(), query);
}

// Before a ghost pad waits for its stream lock, whatever holds that must leave the port.
gboolean activate_ghost(GstPad *ghost, GstObject *parent, GstPadMode mode, gboolean active) {
  const PadPtr target = target_of(ghost);
  GstElement *port = target != nullptr ? gst_pad_get_parent_element(target.get()) : nullptr;
  // Below PAUSED the port activates its pad itself.
  const bool follows =
      port != nullptr && mode == GST_PAD_MODE_PUSH && GST_STATE(port) >= GST_STATE_PAUSED;
  if (follows && !active)
    (void)gst_pad_set_active(target.get(), FALSE);
  const gboolean done = gst_ghost_pad_activate_mode_default(ghost, parent, mode, active);
  if (follows && active)
    (void)gst_pad_set_active(target.get(), TRUE);
  gst_clear_object(&port);
  return done;
}

// GStreamer asks ACCEPT_CAPS before it hands a CAPS event over, and says only "not negotiated" when
// the answer is no. This probe sees the event first and can say why.
GstPadProbeReturn explain_caps(GstPad *ghost, GstPadProbeInfo *info, gpointer) {
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  const PadPtr target = target_of(ghost);
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS || target == nullptr)
    return GST_PAD_PROBE_OK;
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  if (GstElement *port = gst_pad_get_parent_element(target.get())) {
    (void)input_port(port).judge_caps(caps);
    gst_object_unref(port);
  }
  return GST_PAD_PROBE_OK;
}

const char *template_name(const std::string &pad_name, bool is_sink) {
  if (is_sink)
    return pad_name == "sink" ? "sink" : "sink_%s";
  return pad_name == "src" ? "src" : "src_%s";
}

/// Adds to the bin and makes what it changes follow.
class PadChange {
public:
  PadChange(BinState &state, const Pads &before) : state_(state), before_(before) {}

  // Ports that stay are taken over, the others are made.
  void fill(std::vector<PadPort> &wanted, bool is_sink) {
    for (auto &each : wanted) {
      const PadPort *former = find(is_sink ? before_.sinks : before_.sources, each.pad_name);
      each.pad = former != nullptr ? former->pad : nullptr;
      if (former != nullptr && former->node == each.node) {
        each.port = former->port;
        continue;
      }
      changed_ = true;
      each.port = is_sink ? new_input_port(state_.session, each.node)
                          : new_output_port(state_.session, each.node);
    }
  }

  // Inputs before outputs, so that the bin changes the state of outputs first. Former ports leave
  // before, because a name may be theirs.
  void commit(Pads &now) {
    for (const auto *before : {&before_.sinks, &before_.sources})
      for (const auto &each : *before)
        if (find_port(now, each.port) == nullptr)
          remove_port(each);
    for (auto &each : now.sinks)
      add(each, true);
    for (auto &each : now.sources)
      add(each, false);
    for (const auto *before : {&before_.sinks, &before_.sources})
      for (const auto &each : *before)
        if (find_pad(now, each.pad) == nullptr) {
          gst_element_remove_pad(state_.element, each.pad);
          changed_ = true;
        }
    if (changed_)
      gst_element_no_more_pads(state_.element);
  }

private:
  static const PadPort *find(const std::vector<PadPort> &pads, const std::string &name) {
    const auto found = std::find_if(
        pads.begin(), pads.end(), [&](const PadPort &each) { return each.pad_name == name; });
    return found != pads.end() ? &*found : nullptr;
  }
  template <typename Predicate>
  static const PadPort *find_in(const Pads &pads, const Predicate &predicate) {
    for (const auto *list : {&pads.sinks, &pads.sources})
      if (const auto found = std::find_if(list->begin(), list->end(), predicate);
          found != list->end())
        return &*found;
    return nullptr;
  }
  static const PadPort *find_port(const Pads &pads, const GstElement *port) {
    return find_in(pads, [&](const PadPort &each) { return each.port == port; });
  }
  static const PadPort *find_pad(const Pads &pads, const GstPad *pad) {
    return find_in(pads, [&](const PadPort &each) { return each.pad == pad; });
  }

  void remove_port(const PadPort &each) {
    (void)gst_ghost_pad_set_target(GST_GHOST_PAD(each.pad), nullptr);
    (void)gst_element_set_state(each.port, GST_STATE_NULL);
    (void)gst_bin_remove(GST_BIN(state_.element), each.port);
  }

  void add(PadPort &each, bool is_sink) {
    if (GST_OBJECT_PARENT(each.port) != nullptr)
      return;  // it stays
    (void)gst_bin_add(GST_BIN(state_.element), each.port);
    const PadPtr target(gst_element_get_static_pad(each.port, is_sink ? "sink" : "src"));
    if (each.pad != nullptr) {
      (void)gst_ghost_pad_set_target(GST_GHOST_PAD(each.pad), target.get());
    } else {
      GstPadTemplate *pad_template = gst_element_class_get_pad_template(
          GST_ELEMENT_GET_CLASS(state_.element), template_name(each.pad_name, is_sink));
      each.pad = gst_ghost_pad_new_from_template(each.pad_name.c_str(), target.get(), pad_template);
      gst_pad_set_activatemode_function(each.pad, GST_DEBUG_FUNCPTR(activate_ghost));
      gst_pad_set_query_function(each.pad, GST_DEBUG_FUNCPTR(ask_port));
      if (is_sink)
        gst_pad_add_probe(
            each.pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, explain_caps, nullptr, nullptr);
      (void)gst_element_add_pad(state_.element, each.pad);
    }
    (void)gst_element_sync_state_with_parent(each.port);
  }

  BinState &state_;
  const Pads &before_;
  bool changed_ = false;
};

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
      return "node \"" + port.node.name +
          "\" would get the same pad name as another one; rename it, letters and digits tell "
          "pads apart";
  return "";
}

void set_flag(GstElement *element, GstElementFlags flag, bool on) {
  if (on)
    GST_OBJECT_FLAG_SET(element, flag);
  else
    GST_OBJECT_FLAG_UNSET(element, flag);
}

std::vector<InputPort *> inputs_of(const Pads &pads) {
  std::vector<InputPort *> ports;
  for (const auto &each : pads.sinks)
    ports.push_back(&input_port(each.port));
  return ports;
}

std::vector<OutputPort *> outputs_of(const Pads &pads) {
  std::vector<OutputPort *> ports;
  for (const auto &each : pads.sources)
    ports.push_back(&output_port(each.port));
  return ports;
}

}  // namespace

// Pads beyond the graph's nodes cannot be requested: a misspelt name fails at once, where
// gst-launch waits for ever once one source template, whichever, is a SOMETIMES one.
void add_pad_templates(GstElementClass *element_class) {
  const CapsPtr caps = template_caps();
  const auto add = [&](const char *name, GstPadDirection direction, GstPadPresence presence) {
    gst_element_class_add_pad_template(
        element_class, gst_pad_template_new(name, direction, presence, caps.get()));
  };
  add("sink", GST_PAD_SINK, GST_PAD_SOMETIMES);
  add("sink_%s", GST_PAD_SINK, GST_PAD_REQUEST);
  add("src", GST_PAD_SRC, GST_PAD_REQUEST);
  add("src_%s", GST_PAD_SRC, GST_PAD_REQUEST);
}

std::vector<PadPort> wanted_pads(const std::vector<PortNode> &nodes, const char *direction) {
  std::vector<PadPort> ports;
  if (nodes.size() <= 1) {
    ports.push_back({direction, nodes.empty() ? PortNode{} : nodes.front()});
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
    ports.push_back({taken ? "" : name, node});
  }
  return ports;
}

std::string update_pads(BinState &state, const GraphModel &model) {
  Pads now{wanted_pads(model.inputs(), "sink"), wanted_pads(model.outputs(), "src")};
  // A graph may make frames by itself, or keep them.
  const bool is_good = (model.inputs().empty() || model.outputs().empty()) && model.judge().empty();
  if (is_good && model.inputs().empty())
    now.sinks.clear();
  if (is_good && model.outputs().empty())
    now.sources.clear();
  Pads before;
  {
    std::lock_guard lock(state.mutex);
    before = state.pads;
  }
  for (const auto &fault :
       {clash(now.sinks), clash(now.sources), linked_pad(before.sinks, now.sinks),
        linked_pad(before.sources, now.sources)})
    if (!fault.empty())
      return fault;
  PadChange change(state, before);
  change.fill(now.sinks, true);
  change.fill(now.sources, false);
  state.session->set_ports(inputs_of(now), outputs_of(now));
  change.commit(now);
  // Ports carry no such flags, and GstBin sets none for them: see gst_holoflow_bin_init.
  set_flag(state.element, GST_ELEMENT_FLAG_SOURCE, now.sinks.empty());
  set_flag(state.element, GST_ELEMENT_FLAG_SINK, now.sources.empty());
  std::lock_guard lock(state.mutex);
  state.pads = now;
  return "";
}

}  // namespace holoflow::gst
