// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstholoflowqos.h"

#include <utility>

namespace holoflow::gst {

namespace {

GstClockTimeDiff lateness(GstEvent *event) {
  GstClockTimeDiff late = 0;
  gst_event_parse_qos(event, nullptr, nullptr, &late, nullptr);
  return late;
}

}  // namespace

EventPtr CombinedQos::add(const std::string &output, GstEvent *event) {
  EventPtr due;
  if (reported_.contains(output)) {  // the others are behind
    due = std::move(latest_);
    reported_.clear();
  }
  known_.insert(output);
  reported_.insert(output);
  if (latest_ == nullptr || lateness(event) > lateness(latest_.get()))
    latest_ = share(event);
  if (reported_ == known_) {
    due = std::move(latest_);
    reported_.clear();
  }
  return due;
}

void CombinedQos::clear() {
  known_.clear();
  reported_.clear();
  latest_.reset();
}

}  // namespace holoflow::gst
