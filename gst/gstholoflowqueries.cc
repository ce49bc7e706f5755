// SPDX-License-Identifier: LGPL-2.1-or-later
// Queries on both pads.
#include "gstholoflowqueries.h"

#include <gst/video/video.h>

#include "gstholoflowbin.h"
#include "gstholoflowlog.h"
#include "gstholoflowtensorcaps.h"

namespace holoflow::gst {

namespace {

CapsPtr intersect(GstCaps *first, GstCaps *second) {
  return CapsPtr(gst_caps_intersect_full(first, second, GST_CAPS_INTERSECT_FIRST));
}

// Rows of a graph that cannot be judged: any, so that its fault and no link problem is reported.
bool is_judged(const GraphModel &model) {
  return model.read_faults().empty() && model.inputs().size() == 1 && model.outputs().size() == 1;
}

void copy_field(GstStructure *to, const GstStructure *from, const char *field) {
  if (const GValue *value = gst_structure_get_value(from, field))
    gst_structure_set_value(to, field, value);
}

// The row's caps as downstream allows them: sizes and rates of the output hold for the input where
// the graph changes neither.
CapsPtr as_downstream_allows(
    const CapsRow &row, const GraphModel::RowInference &inferred, GstCaps *downstream) {
  const auto &inference = *inferred.inference;
  CapsPtr open = row_caps(row);
  // A layout that does not keep the size depends on it in ways that one inference does not tell.
  const CapsPtr made = open_output_caps(inference.layout, true);
  const CapsPtr possible = intersect(made.get(), downstream);
  if (gst_caps_is_empty(possible.get()))
    return CapsPtr(gst_caps_new_empty());
  const bool ties_size = inferred.same_size && row.kind == CapsRow::Kind::Video;
  const bool ties_rate = inference.buffers_per_frame == Rate{1, 1};
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
bool takes_fixed_size(const GraphModel &model, const CapsRow &row, GstCaps *filter) {
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
    const auto frame = placeholder_frame(
        row, model.inputs().front().as, static_cast<size_t>(width), static_cast<size_t>(height));
    if (model.infer(frame)->ok())
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

// What the caps of the graph's one Input leave of `caps`.
CapsPtr as_input_allows(const GraphModel &model, CapsPtr caps) {
  const CapsPtr allowed = allowed_caps(model.inputs().front());
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

// Once for each life between READY and PAUSED: negotiation fails upstream, where nobody knows why.
void explain_empty(BinState &state, const GraphModel &model, GstPad *sink, GstCaps *filter) {
  if (filter == nullptr || !offers_raw(filter) || !state.stream.first_explanation())
    return;
  core::FaultList faults;
  for (const CapsRow *row : model.accepted_rows()) {
    if (!takes_fixed_size(model, *row, filter) ||
        !gst_caps_can_intersect(as_input_allows(model, row_caps(*row)).get(), filter))
      continue;
    faults.add(
        refused_downstream(open_output_caps(model.infer_row(*row).inference->layout, true).get()));
    break;
  }
  if (faults.empty()) {
    CapsPtr one(gst_caps_copy_nth(filter, 0));
    one.reset(gst_caps_fixate(one.release()));
    faults = model.refusal(one.get());
  }
  const TextPtr offered(gst_caps_to_string(filter));
  GST_WARNING_OBJECT(sink, "nothing in common with %s", offered.get());
  post_warning(
      state.element, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, core::to_text(faults),
      std::string("upstream offers ") + offered.get());
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

gboolean add_latency(BinState &state, GstPad *sink, GstQuery *query) {
  if (sink == nullptr || !gst_pad_peer_query(sink, query))
    return FALSE;
  gboolean live = FALSE;
  GstClockTime least = 0, most = 0;
  gst_query_parse_latency(query, &live, &least, &most);
  const auto own = state.stream.delay().value_or(Stream::Delay{});
  least += own.least;
  if (GST_CLOCK_TIME_IS_VALID(most))
    most += own.most;
  gst_query_set_latency(query, live, least, most);
  return TRUE;
}

}  // namespace

CapsPtr sink_caps(BinState &state, GstPad *sink, GstCaps *filter) {
  const auto model = model_of(state);
  CapsPtr caps(gst_caps_new_empty());
  if (is_judged(*model)) {
    CapsPtr downstream(gst_caps_new_any());
    if (const PadPtr source = first_source(state))
      downstream.reset(gst_pad_peer_query_caps(source.get(), nullptr));
    for (const CapsRow *row : model->accepted_rows()) {
      if (!takes_fixed_size(*model, *row, filter))
        continue;
      caps.reset(gst_caps_merge(
          caps.release(),
          as_downstream_allows(*row, model->infer_row(*row), downstream.get()).release()));
    }
    caps = as_input_allows(*model, std::move(caps));
  }
  if (!state.stream.is_started())
    append_anything(caps, sink);
  if (filter != nullptr)
    caps = intersect(filter, caps.get());
  if (gst_caps_is_empty(caps.get()) && is_judged(*model))
    explain_empty(state, *model, sink, filter);
  return caps;
}

CapsPtr source_caps(BinState &state, GstPad *source, GstCaps *filter) {
  const auto model = model_of(state);
  CapsPtr caps(gst_caps_new_empty());
  if (is_judged(*model)) {
    CapsPtr upstream(gst_caps_new_any());
    if (const PadPtr sink = first_sink(state))
      upstream.reset(gst_pad_peer_query_caps(sink.get(), nullptr));
    for (const CapsRow *row : model->accepted_rows()) {
      if (!gst_caps_can_intersect(row_caps(*row).get(), upstream.get()))
        continue;
      const auto inferred = model->infer_row(*row);
      caps.reset(gst_caps_merge(
          caps.release(), open_output_caps(inferred.inference->layout, true).release()));
    }
  }
  if (!state.stream.is_started() || gst_caps_is_empty(caps.get()))
    append_anything(caps, source);
  if (filter != nullptr)
    caps = intersect(filter, caps.get());
  return caps;
}

gboolean sink_query(GstPad *pad, GstObject *parent, GstQuery *query) {
  BinState &state = state_of(GST_ELEMENT(parent));
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS: {
    GstCaps *filter = nullptr;
    gst_query_parse_caps(query, &filter);
    return answer_caps(query, sink_caps(state, pad, filter));
  }
  case GST_QUERY_ACCEPT_CAPS: {
    GstCaps *caps = nullptr;
    gst_query_parse_accept_caps(query, &caps);
    const auto model = model_of(state);
    gst_query_set_accept_caps_result(query, is_judged(*model) && model->refusal(caps).empty());
    return TRUE;
  }
  case GST_QUERY_ALLOCATION:
    return propose_allocation(query);
  default:
    return gst_pad_query_default(pad, parent, query);
  }
}

gboolean source_query(GstPad *pad, GstObject *parent, GstQuery *query) {
  BinState &state = state_of(GST_ELEMENT(parent));
  const PadPtr sink = first_sink(state);
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS: {
    GstCaps *filter = nullptr;
    gst_query_parse_caps(query, &filter);
    return answer_caps(query, source_caps(state, pad, filter));
  }
  case GST_QUERY_LATENCY:
    return add_latency(state, sink.get(), query);
  case GST_QUERY_POSITION:
  case GST_QUERY_DURATION:
  case GST_QUERY_SEEKING:
  case GST_QUERY_CONVERT:
    return sink != nullptr && gst_pad_peer_query(sink.get(), query);
  case GST_QUERY_SCHEDULING:
    return FALSE;  // the pad pushes
  default:
    return gst_pad_query_default(pad, parent, query);
  }
}

}  // namespace holoflow::gst
