// SPDX-License-Identifier: LGPL-2.1-or-later
// The plugin: registers the element. No CUDA work, no threads.
#include "gstholoflowbin.h"
#include "gstholoflowlog.h"

static gboolean plugin_init(GstPlugin *plugin) {
  holoflow::gst::init_log();
  return GST_ELEMENT_REGISTER(holoflowbin, plugin);
}

// `gst-inspect-1.0 --exists` wants a plugin's version to be GStreamer's own or later, so the plugin
// has that of the GStreamer it is built for; Holoflow's is in the package's name.
GST_PLUGIN_DEFINE(
    GST_VERSION_MAJOR, GST_VERSION_MINOR, holoflow,
    "Compute graphs on streams of frames, on the CPU and on CUDA devices", plugin_init,
    GSTREAMER_VERSION, "LGPL", "Holoflow " HOLOFLOW_VERSION, "Unknown package origin")
