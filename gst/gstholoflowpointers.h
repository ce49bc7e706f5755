// SPDX-License-Identifier: LGPL-2.1-or-later
// Owning pointers for GStreamer's reference-counted things.
#pragma once

#include <gst/gst.h>

#include <memory>

namespace holoflow::gst {

struct Unref {
  void operator()(GstCaps *caps) const { gst_caps_unref(caps); }
  void operator()(GstEvent *event) const { gst_event_unref(event); }
  void operator()(GstBuffer *buffer) const { gst_buffer_unref(buffer); }
  void operator()(GstQuery *query) const { gst_query_unref(query); }
  void operator()(GstStructure *structure) const { gst_structure_free(structure); }
  void operator()(GstPad *pad) const { gst_object_unref(pad); }
  void operator()(gchar *text) const { g_free(text); }
};

using CapsPtr = std::unique_ptr<GstCaps, Unref>;
using EventPtr = std::unique_ptr<GstEvent, Unref>;
using BufferPtr = std::unique_ptr<GstBuffer, Unref>;
using QueryPtr = std::unique_ptr<GstQuery, Unref>;
using StructurePtr = std::unique_ptr<GstStructure, Unref>;
using PadPtr = std::unique_ptr<GstPad, Unref>;
using TextPtr = std::unique_ptr<gchar, Unref>;

/// Where several keep the same caps.
using SharedCaps = std::shared_ptr<GstCaps>;

[[nodiscard]] inline SharedCaps keep(const GstCaps *caps) {
  return SharedCaps(gst_caps_ref(const_cast<GstCaps *>(caps)), gst_caps_unref);
}
[[nodiscard]] inline CapsPtr share(GstCaps *caps) {
  return CapsPtr(gst_caps_ref(caps));
}
[[nodiscard]] inline EventPtr share(GstEvent *event) {
  return EventPtr(gst_event_ref(event));
}

}  // namespace holoflow::gst
