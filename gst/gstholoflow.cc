// SPDX-License-Identifier: LGPL-2.1-or-later
// The plugin: registers the element. No CUDA work, no threads.
#include "gstholoflowbin.h"
#include "gstholoflowlog.h"

static gboolean plugin_init(GstPlugin *plugin) {
  holoflow::gst::init_log();
  return GST_ELEMENT_REGISTER(holoflowbin, plugin);
}

GST_PLUGIN_DEFINE(
    GST_VERSION_MAJOR, GST_VERSION_MINOR, holoflow,
    "Compute graphs on streams of frames, on the CPU and on CUDA devices", plugin_init,
    PACKAGE_VERSION, "LGPL", "holoflow", "Unknown package origin")
