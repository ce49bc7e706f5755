// SPDX-License-Identifier: LGPL-2.1-or-later
// The debug category, the library's log in it, and messages on the bus.
#pragma once

#include <gst/gst.h>

#include <exception>
#include <string>
#include <vector>

#include "holoflow/core/error.hh"

GST_DEBUG_CATEGORY_EXTERN(holoflow_debug);
#define GST_CAT_DEFAULT holoflow_debug

namespace holoflow::gst {

/// Makes the category and sends the log of the library's loggers there. Once, when the plugin
/// loads.
void init_log();
/// Lets the library format only what the category's threshold would show.
void follow_log_threshold();

/// One error on the bus: `sentence` for the user, `detail` for developers.
void post_error(
    GstElement *element, GQuark domain, int code, const std::string &sentence,
    const std::string &detail);
void post_warning(
    GstElement *element, GQuark domain, int code, const std::string &sentence,
    const std::string &detail);

/// A graph that cannot run whatever the caps: RESOURCE/NOT_FOUND for a missing file, else
/// RESOURCE/SETTINGS.
void post_graph_faults(
    GstElement *element, const std::string &graph, const core::FaultList &faults);
/// What a compile for `caps` threw, with the code for its reason: STREAM/FORMAT,
/// RESOURCE/SETTINGS, RESOURCE/NOT_FOUND without a device, RESOURCE/NO_SPACE_LEFT, else
/// LIBRARY/FAILED.
void post_compile_error(GstElement *element, const std::string &caps, std::exception_ptr error);

}  // namespace holoflow::gst
