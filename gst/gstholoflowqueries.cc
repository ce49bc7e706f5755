// SPDX-License-Identifier: LGPL-2.1-or-later
// Queries on both pads.
#include "gstholoflowqueries.h"

#include <gst/video/video.h>

#include <algorithm>

#include "gstholoflowlog.h"
#include "gstholoflowtensorcaps.h"

namespace holoflow::gst {

namespace {

CapsPtr intersect(GstCaps *first, GstCaps *second) {
  return CapsPtr(gst_caps_intersect_full(first, second, GST_CAPS_INTERSECT_FIRST));
}

/// The graph as one of its ports sees it.
struct Asked {
  Session &session;
  std::shared_ptr<const GraphModel> model;
  const PortNode &node;
  Frames known;  ///< of the other inputs

  Asked(Session &asked, const InputPort &port)
      : session(asked), model(asked.model()), node(port.node()), known(asked.known_frames(&port)) {}

  /// Rows of a graph that cannot be judged: any, so that its fault and no link problem is reported.
  [[nodiscard]] bool is_judged() const {
    return model->read_faults().empty() && !node.name.empty();
  }
  [[nodiscard]] std::vector<const CapsRow *> rows() const {
    return model->accepted_rows(node, known);
  }
  [[nodiscard]] GraphModel::RowInference infer(const CapsRow &row) const {
    return model->infer_row(node, row, known);
  }
  /// The only way through the graph, null where there are others.
  [[nodiscard]] const OutputInference *only_way(const Inference &inference) const {
    const bool is_only = model->inputs().size() == 1 && inference.outputs.size() == 1;
    return is_only ? &inference.outputs.begin()->second : nullptr;
  }
};

void copy_field(GstStructure *to, const GstStructure *from, const char *field) {
  if (const GValue *value = gst_structure_get_value(from, field))
    gst_structure_set_value(to, field, value);
}

// The row's caps as downstream allows them: sizes and rates of the output hold for the input where
// the graph changes neither.
CapsPtr as_downstream_allows(
    const Asked &asked, const CapsRow &row, const GraphModel::RowInference &inferred,
    GstCaps *downstream) {
  CapsPtr open = row_caps(row);
  const OutputInference *way = asked.only_way(*inferred.inference);
  if (way == nullptr)
    return open;
  // A layout that does not keep the size depends on it in ways that one inference does not tell.
  const CapsPtr made = open_output_caps(way->layout, true);
  const CapsPtr possible = intersect(made.get(), downstream);
  if (gst_caps_is_empty(possible.get()))
    return CapsPtr(gst_caps_new_empty());
  const bool ties_size = inferred.same_size && row.kind == CapsRow::Kind::Video;
  const bool ties_rate = way->buffers_per_frame() == Rate{1, 1};
  if (!ties_size && !ties_rate)
    return open;
  CapsPtr tied(gst_caps_new_empty());
  for (guint i = 0; i < gst_caps_get_size(possible.get()); ++i) {
    const GstStructure *allowed = gst_caps_get_structure(possible.get(), i);
    CapsPtr one(gst_caps_copy(open.get()));
    GstStructure *structure = gst_caps_get_structure(one.get(), 0);
    if (ties_size) {
      copy_field(structure, allowed, "width");
      copy_field(structure, allowed, "height");
      copy_field(structure, allowed, "pixel-aspect-ratio");
    }
    if (ties_rate && row.kind == CapsRow::Kind::Video)
      copy_field(structure, allowed, "framerate");
    tied.reset(gst_caps_merge(tied.release(), one.release()));
  }
  return tied;
}

// Frames whose size the filter fixes are inferred at that very size.
bool takes_fixed_size(const Asked &asked, const CapsRow &row, GstCaps *filter) {
  if (filter == nullptr || row.kind != CapsRow::Kind::Video)
    return true;
  bool any = false;
  for (guint i = 0; i < gst_caps_get_size(filter); ++i) {
    const GstStructure *structure = gst_caps_get_structure(filter, i);
    int width = 0, height = 0;
    if (!gst_structure_has_name(structure, "video/x-raw"))
      continue;
    any = true;
    if (!gst_structure_get_int(structure, "width", &width) ||
        !gst_structure_get_int(structure, "height", &height) || width <= 0 || height <= 0)
      return true;
    const auto frames = asked.model->frames_of(
        asked.node, row, static_cast<size_t>(width), static_cast<size_t>(height), asked.known);
    if (asked.model->infer(frames)->ok())
      return true;
  }
  return !any;
}

// So that a link is made, and the caps themselves are refused with a reason.
void append_anything(CapsPtr &caps, GstPad *pad) {
  caps.reset(gst_caps_make_writable(caps.release()));  // an intersection may be someone else's too
  gst_caps_append(caps.get(), gst_pad_get_pad_template_caps(pad));
  gst_caps_append(caps.get(), gst_caps_new_empty_simple("video/x-raw"));
}

// Whether upstream could mean us: whoever asks for encoded streams or GPU memory only is trying out
// something else.
bool offers_raw(GstCaps *filter) {
  for (guint i = 0; i < gst_caps_get_size(filter); ++i) {
    const GstStructure *structure = gst_caps_get_structure(filter, i);
    const GstCapsFeatures *features = gst_caps_get_features(filter, i);
    if ((features == nullptr ||
         gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY)) &&
        (gst_structure_has_name(structure, "video/x-raw") ||
         gst_structure_has_name(structure, tensors_name) ||
         gst_structure_has_name(structure, holoflow_tensor_name)))
      return true;
  }
  return false;
}

// What the node's "caps" leave of `caps`.
CapsPtr as_input_allows(const PortNode &node, CapsPtr caps) {
  const CapsPtr allowed = allowed_caps(node);
  return allowed == nullptr ? std::move(caps) : intersect(caps.get(), allowed.get());
}

// Downstream does not take what the graph makes.
core::Error refused_downstream(const GstCaps *made) {
  const TextPtr text(gst_caps_to_string(made));
  const GstStructure *structure = gst_caps_get_structure(made, 0);
  return core::Error(
      std::string("downstream of holoflowbin does not take what the graph makes, ") + text.get() +
          (gst_structure_has_name(structure, "video/x-raw")
               ? "; insert \"videoconvert\" behind holoflowbin"
               : "; let the graph end in U8 or U16 pictures (\"Abs\", \"Conversion\"), or link an "
                 "element that takes tensors"),
      core::Reason::Incompatible);
}

void warn_of_refusal(
    const Asked &asked, GstPad *sink, const core::FaultList &faults, GstCaps *caps) {
  if (faults.empty() || !asked.session.first_explanation())
    return;
  GST_WARNING_OBJECT(sink, "nothing in common with %" GST_PTR_FORMAT, caps);
  post_warning(
      asked.session.element(), GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, core::to_text(faults),
      "upstream offers " + to_text(caps));
}

// Once for each life between READY and PAUSED: negotiation fails upstream, where nobody knows why.
void explain_empty(const Asked &asked, GstPad *sink, GstCaps *filter) {
  if (filter == nullptr || !offers_raw(filter))
    return;
  core::FaultList faults;
  for (const CapsRow *row : asked.rows()) {
    if (!takes_fixed_size(asked, *row, filter) ||
        !gst_caps_can_intersect(as_input_allows(asked.node, row_caps(*row)).get(), filter))
      continue;
    const auto inferred = asked.infer(*row);
    if (const auto *way = asked.only_way(*inferred.inference))
      faults.add(refused_downstream(open_output_caps(way->layout, true).get()));
    break;
  }
  if (faults.empty()) {
    CapsPtr one(gst_caps_copy_nth(filter, 0));
    one.reset(gst_caps_fixate(one.release()));
    faults = asked.model->refusal(asked.node, one.get(), asked.known);
  }
  warn_of_refusal(asked, sink, faults, filter);
}

// Some elements ask whether caps are accepted, and say nothing else than "not negotiated".
gboolean answer_accept_caps(const Asked &asked, GstPad *sink, GstQuery *query) {
  GstCaps *caps = nullptr;
  gst_query_parse_accept_caps(query, &caps);
  if (!asked.is_judged()) {
    gst_query_set_accept_caps_result(query, FALSE);
    return TRUE;
  }
  const auto faults = asked.model->refusal(asked.node, caps, asked.known);
  if (asked.session.is_started() && offers_raw(caps))
    warn_of_refusal(asked, sink, faults, caps);
  gst_query_set_accept_caps_result(query, faults.empty());
  return TRUE;
}

gboolean answer_caps(GstQuery *query, CapsPtr caps) {
  gst_query_set_caps_result(query, caps.get());
  return TRUE;
}

gboolean propose_allocation(GstQuery *query) {
  GstCaps *caps = nullptr;
  gboolean need_pool = FALSE;
  gst_query_parse_allocation(query, &caps, &need_pool);
  if (caps == nullptr)
    return FALSE;
  // Any stride and plane offset is read. A pool of page-locked buffers belongs here too.
  if (gst_structure_has_name(gst_caps_get_structure(caps, 0), "video/x-raw"))
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return TRUE;
}

/// Where several streams meet the slowest counts; only live ones do.
struct Latency {
  gboolean live = FALSE;
  GstClockTime least = 0, most = GST_CLOCK_TIME_NONE;

  void add(GstQuery *query) {
    gboolean is_live = FALSE;
    GstClockTime from = 0, to = GST_CLOCK_TIME_NONE;
    gst_query_parse_latency(query, &is_live, &from, &to);
    if (!live) {
      *this = {is_live, from, to};
    } else if (is_live) {
      least = std::max(least, from);
      most = std::min(most, to);  // NONE is the largest number
    }
  }
};

CapsPtr sink_caps(Session &session, InputPort &port, GstCaps *filter) {
  const Asked asked(session, port);
  CapsPtr caps(gst_caps_new_empty());
  if (asked.is_judged()) {
    CapsPtr downstream(gst_caps_new_any());
    // Of several ways none may speak for another.
    const auto outputs = session.outputs();
    if (outputs.size() == 1 && asked.model->inputs().size() == 1)
      downstream.reset(gst_pad_peer_query_caps(outputs.front()->pad(), nullptr));
    for (const CapsRow *row : asked.rows()) {
      if (!takes_fixed_size(asked, *row, filter))
        continue;
      caps.reset(gst_caps_merge(
          caps.release(),
          as_downstream_allows(asked, *row, asked.infer(*row), downstream.get()).release()));
    }
    caps = as_input_allows(asked.node, std::move(caps));
  }
  if (!session.is_started())
    append_anything(caps, port.pad());
  if (filter != nullptr)
    caps = intersect(filter, caps.get());
  if (gst_caps_is_empty(caps.get()) && asked.is_judged())
    explain_empty(asked, port.pad(), filter);
  return caps;
}

/// The Input whose frames leave there, null where there is none.
InputPort *main_input(Session &session, const std::string &output) {
  const auto model = session.model();
  const auto found = model->main_inputs().find(output);
  for (InputPort *port : session.inputs())
    if (found != model->main_inputs().end() && port->node().name == found->second)
      return port;
  return nullptr;
}

CapsPtr source_caps(Session &session, OutputPort &port, GstCaps *filter) {
  CapsPtr caps(gst_caps_new_empty());
  InputPort *input = main_input(session, port.node());
  if (input != nullptr) {
    const Asked asked(session, *input);
    CapsPtr upstream(gst_caps_new_any());
    if (asked.is_judged() && asked.model->inputs().size() == 1)
      upstream.reset(gst_pad_peer_query_caps(input->pad(), nullptr));
    for (const CapsRow *row : asked.rows()) {
      if (!gst_caps_can_intersect(row_caps(*row).get(), upstream.get()))
        continue;
      const auto inferred = asked.infer(*row);
      const auto found = inferred.inference->outputs.find(port.node());
      if (found != inferred.inference->outputs.end())
        caps.reset(
            gst_caps_merge(caps.release(), open_output_caps(found->second.layout, true).release()));
    }
  }
  if (!session.is_started() || gst_caps_is_empty(caps.get()))
    append_anything(caps, port.pad());
  if (filter != nullptr)
    caps = intersect(filter, caps.get());
  return caps;
}

}  // namespace

gboolean answer_latency(Session &session, const OutputPort *port, GstQuery *query) {
  Latency sum;
  bool any = false;
  for (const InputPort *input : session.inputs()) {
    const QueryPtr asked(gst_query_new_latency());
    if (!gst_pad_peer_query(input->pad(), asked.get()))
      continue;  // it may not be linked
    any = true;
    sum.add(asked.get());
  }
  if (!any)
    return FALSE;
  Delay own;
  for (const OutputPort *output : session.outputs()) {
    if (port != nullptr && port != output)
      continue;
    const auto delay = session.delay_of(output->node()).value_or(Delay{});
    own.least = std::max(own.least, delay.least);
    own.most = std::max(own.most, delay.most);
  }
  if (GST_CLOCK_TIME_IS_VALID(sum.most))
    sum.most += own.most;
  gst_query_set_latency(query, sum.live, sum.least + own.least, sum.most);
  return TRUE;
}

gboolean answer_sink_query(Session &session, InputPort &port, GstObject *parent, GstQuery *query) {
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS: {
    GstCaps *filter = nullptr;
    gst_query_parse_caps(query, &filter);
    return answer_caps(query, sink_caps(session, port, filter));
  }
  case GST_QUERY_ACCEPT_CAPS:
    return answer_accept_caps(Asked(session, port), port.pad(), query);
  case GST_QUERY_ALLOCATION:
    return propose_allocation(query);
  case GST_QUERY_DRAIN:
    return port.handle_drain(query);
  default:
    return gst_pad_query_default(port.pad(), parent, query);
  }
}

gboolean answer_source_query(
    Session &session, OutputPort &port, GstObject *parent, GstQuery *query) {
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS: {
    GstCaps *filter = nullptr;
    gst_query_parse_caps(query, &filter);
    return answer_caps(query, source_caps(session, port, filter));
  }
  case GST_QUERY_LATENCY:
    return answer_latency(session, &port, query);
  case GST_QUERY_POSITION:
  case GST_QUERY_DURATION:
  case GST_QUERY_SEEKING:
  case GST_QUERY_CONVERT: {
    const InputPort *input = main_input(session, port.node());
    return input != nullptr && gst_pad_peer_query(input->pad(), query);
  }
  case GST_QUERY_SCHEDULING:
    return FALSE;  // the pad pushes
  default:
    return gst_pad_query_default(port.pad(), parent, query);
  }
}

}  // namespace holoflow::gst
