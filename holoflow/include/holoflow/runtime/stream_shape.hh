// SPDX-License-Identifier: LGPL-2.1-or-later
// What a graph does to a stream between where frames enter and where they leave: rate and delay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "holoflow/runtime/graph_exec.hh"

namespace holoflow::runtime {

/// numerator / denominator in lowest terms; 0/1 where it is unknown, or no 31-bit numbers hold it.
struct StreamRate {
  uint32_t numerator = 1, denominator = 1;

  [[nodiscard]] bool known() const noexcept { return numerator > 0; }
  friend bool operator==(const StreamRate &, const StreamRate &) = default;
};

/// The way of one stream, from a node without inputs to a node without outputs, along input 0 of
/// each node in between: that is whose records travel.
///
/// Frames in the text below are those that enter, unless it says otherwise.
class StreamShape {
public:
  std::string output;  ///< the node where tensors leave
  std::string input;  ///< the node whose frames they are, "" where no path leads there
  std::vector<std::string> nodes;  ///< on the way, these two included

  /// Records that leave for each frame, those counted once that overlapping windows show again.
  StreamRate records_per_frame;
  /// Tensors that leave for each frame.
  StreamRate tensors_per_frame;
  size_t records = 1;  ///< of each tensor that leaves
  size_t delay_frames = 0;  ///< frames that enter before the first one leaves, beyond one
  size_t held_frames = 0;  ///< frames that the path can hold
  bool drops = false;  ///< it may drop frames when it is full, or for time
  bool thins = false;  ///< it drops frames for time

  /// How many of the first `entered` frames have come out, or been skipped for good, once
  /// everything has come out that comes without another frame and without an end. Frames that a
  /// path drops are not known here.
  [[nodiscard]] uint64_t frames_settled(uint64_t entered) const;
  /// One past the newest of them that has come out by then, 0 where none has.
  [[nodiscard]] uint64_t frames_shown(uint64_t entered) const;
  /// The shape for frames that come after Scheduler::resume(), counted from there: windows on the
  /// way wait for as many as `ledger` says, and for the frames that they show anew where it does
  /// not.
  [[nodiscard]] StreamShape resumed(const std::map<std::string, NodeLedger> &ledger) const;
  /// Frames that the largest window between here and there spans.
  [[nodiscard]] size_t window_frames() const;

private:
  friend std::vector<StreamShape> stream_shapes(const GraphPlan &graph);
  friend class StreamPath;

  /// From records to records: the first `needed` and every `stride` after them give `records` of
  /// the newest `size`.
  struct Stage {
    std::string node;
    uint64_t size = 1, stride = 1, records = 1, needed = 1;
  };
  [[nodiscard]] static uint64_t taken_for(uint64_t records, const Stage &stage);
  [[nodiscard]] std::vector<uint64_t> records_at_stages(uint64_t entered) const;

  std::vector<Stage> stages_;
};

/// One shape for each node without outputs, in the order of the nodes.
[[nodiscard]] std::vector<StreamShape> stream_shapes(const GraphPlan &graph);

}  // namespace holoflow::runtime
