// SPDX-License-Identifier: LGPL-2.1-or-later
// QOS events of several outputs, combined for the input that they come from.
#pragma once

#include <set>
#include <string>

#include "gstholoflowpointers.h"

namespace holoflow::gst {

/// One event for each round in which every output has sent one, as if there were one output: that
/// of the output that is latest. An output that stays silent delays the others' by one round.
///
/// Threads: of one at a time.
class CombinedQos {
public:
  /// What is to be sent upstream now, null for nothing. Does not take `event` along.
  EventPtr add(const std::string &output, GstEvent *event);
  /// After a flush nothing is known of anyone.
  void clear();

private:
  std::set<std::string> known_;  // outputs that have sent one
  std::set<std::string> reported_;  // those of the round
  EventPtr latest_;  // of the round
};

}  // namespace holoflow::gst
