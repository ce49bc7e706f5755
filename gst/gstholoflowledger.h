// SPDX-License-Identifier: LGPL-2.1-or-later
// What became of each frame that entered the element, so that "stats" adds up:
//
//   in = out + merged + dropped + skipped + failed + in-flight
//
// Each frame counts once, whatever the number of nodes and outputs. Buffers of several frames count
// as so many; repeats that complete a window count nowhere.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "holoflow/runtime/graph_exec.hh"
#include "holoflow/runtime/stream_shape.hh"

namespace holoflow::gst {

struct FrameCounts {
  uint64_t in = 0;
  uint64_t out = 0;  ///< left, at least once, under their own record
  uint64_t merged = 0;  ///< used in what left under another frame's record
  uint64_t dropped = 0;
  uint64_t skipped = 0;  ///< by a queue's stride, or discarded by a param
  uint64_t failed = 0;
  uint64_t in_flight = 0;

  FrameCounts &operator+=(const FrameCounts &other);
};

/// Frames of one Input that have left in one run, through the Outputs whose records they are.
///
/// Threads: any.
class DepartedFrames {
public:
  /// So many frames wait at an Output.
  void expect(uint64_t frames);
  /// Frames [first, end), which were expected, have reached the end; `left`: downstream took them.
  void add(uint64_t first, uint64_t end, bool left);

  struct Counts {
    uint64_t out = 0, dropped = 0;
    uint64_t reached = 0;  ///< behind the newest frame that has reached the end
    uint64_t waiting = 0;  ///< at Outputs
  };
  [[nodiscard]] Counts counts() const;

private:
  mutable std::mutex mutex_;  // guards what follows
  Counts counts_;
  // Frames from base_ on that have left; before it nobody asks any more.
  uint64_t base_ = 0;
  std::set<uint64_t> left_;
};

/// By Input; shared by the run and the buffers that wait at Outputs.
using Departures = std::map<std::string, std::shared_ptr<DepartedFrames>>;

/// A run that is over, but for what waits at Outputs.
struct ClosedRun {
  std::map<std::string, runtime::NodeLedger> nodes;
  std::vector<runtime::StreamShape> shapes;
  Departures departed;
};

/// The counts of one run. `active`: it is not over.
[[nodiscard]] FrameCounts count_frames(const ClosedRun &run, bool active);
/// Whether frames still wait, so that the counts will change.
[[nodiscard]] bool is_settled(const ClosedRun &run);

}  // namespace holoflow::gst
