// SPDX-License-Identifier: LGPL-2.1-or-later
// The element holoflowbin: a compute graph as a filter in a pipeline.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <mutex>

#include "gstholoflowmodel.h"
#include "gstholoflowpads.h"
#include "gstholoflowproperties.h"
#include "gstholoflowsession.h"

G_BEGIN_DECLS
#define GST_TYPE_HOLOFLOW_BIN (gst_holoflow_bin_get_type())
G_DECLARE_FINAL_TYPE(GstHoloflowBin, gst_holoflow_bin, GST, HOLOFLOW_BIN, GstBin)
GST_ELEMENT_REGISTER_DECLARE(holoflowbin)
G_END_DECLS

namespace holoflow::gst {

/// Everything of one element that is C++. The GObject owns it.
///
/// Properties may be set on any thread; pads change in NULL and READY only.
struct BinState {
  explicit BinState(GstElement *element)
      : element(element), session(std::make_shared<Session>(element)) {}

  GstElement *const element;
  const std::shared_ptr<Session> session;  // shared with the ports

  /// Held while properties change what the graph is, one after the other, also from a handler of
  /// pad-added; and while the bin goes from NULL to READY or back. Before `mutex`.
  std::recursive_mutex changes;

  std::mutex mutex;  // guards what follows
  Pads pads;  // changed by update_pads only
  GraphSettings settings;  // the properties' values
  std::shared_ptr<const GraphModel> model;  // shared with whoever answers a query meanwhile
};

[[nodiscard]] BinState &state_of(GstElement *element);
[[nodiscard]] std::shared_ptr<const GraphModel> model_of(BinState &state);

}  // namespace holoflow::gst
