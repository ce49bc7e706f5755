// SPDX-License-Identifier: LGPL-2.1-or-later
// From the counts of nodes and outputs to what became of each frame.
#include "gstholoflowledger.h"

#include <algorithm>

namespace holoflow::gst {

namespace {

// Frames may leave by another Output so much later and still count once.
constexpr size_t most_remembered = 4096;

/// Takes at most `wanted` out of `left`.
uint64_t take(uint64_t &left, uint64_t wanted) {
  const uint64_t taken = std::min(left, wanted);
  left -= taken;
  return taken;
}

uint64_t minus(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

/// What the nodes of one way through the graph counted.
struct WayCounts {
  uint64_t dropped = 0, skipped = 0, failed = 0;
};

WayCounts way_of(
    const runtime::StreamShape &shape, const std::map<std::string, runtime::NodeLedger> &nodes) {
  WayCounts way;
  for (const auto &name : shape.nodes) {
    const auto found = nodes.find(name);
    if (found == nodes.end())
      continue;
    for (const auto &[reason, frames] : found->second.dropped)
      way.dropped += frames;
    way.skipped += found->second.skipped;
    way.failed += found->second.failed;
  }
  return way;
}

// Frames whose records leave. Where counts overlap, as of what a merge behind a queue thins out,
// the first of the sum wins.
FrameCounts count_way(
    uint64_t entered, WayCounts way, const DepartedFrames::Counts &reached, bool active) {
  way.dropped += reached.dropped;
  FrameCounts counts;
  counts.in = entered;
  uint64_t rest = entered;
  counts.out = take(rest, reached.out);
  counts.failed = take(rest, way.failed);
  // Of the frames behind the newest that came out none is in anything that left.
  const uint64_t behind = minus(entered, reached.reached);
  counts.in_flight = take(rest, active ? behind : std::min(reached.waiting, behind));
  counts.skipped = take(rest, way.skipped);
  const uint64_t lost = minus(way.dropped, behind - counts.in_flight);
  counts.merged =
      take(rest, minus(entered - behind, counts.out + counts.failed + counts.skipped + lost));
  counts.dropped = rest;
  return counts;
}

// Frames that are paired with those of another Input, under whose records they leave.
FrameCounts count_paired(const runtime::NodeLedger &input, bool active) {
  FrameCounts counts;
  counts.in = input.entered;
  uint64_t rest = input.entered;
  counts.merged = take(rest, input.left);
  if (active)
    counts.in_flight = take(rest, rest);
  counts.dropped = rest;
  return counts;
}

}  // namespace

FrameCounts &FrameCounts::operator+=(const FrameCounts &other) {
  in += other.in;
  out += other.out;
  merged += other.merged;
  dropped += other.dropped;
  skipped += other.skipped;
  failed += other.failed;
  in_flight += other.in_flight;
  return *this;
}

void DepartedFrames::expect(uint64_t frames) {
  const std::lock_guard lock(mutex_);
  counts_.waiting += frames;
}

void DepartedFrames::add(uint64_t first, uint64_t end, bool left) {
  const std::lock_guard lock(mutex_);
  counts_.reached = std::max(counts_.reached, end);
  counts_.waiting -= end - first;
  if (!left) {
    counts_.dropped += end - first;
    return;
  }
  for (uint64_t frame = std::max(first, base_); frame < end; ++frame)
    counts_.out += left_.insert(frame).second ? 1 : 0;
  while (left_.size() > most_remembered) {
    base_ = *left_.begin() + 1;
    left_.erase(left_.begin());
  }
}

DepartedFrames::Counts DepartedFrames::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

FrameCounts count_frames(const ClosedRun &run, bool active) {
  FrameCounts sum;
  for (const auto &[input, frames] : run.departed) {
    const auto node = run.nodes.find(input);
    if (node == run.nodes.end())
      continue;
    const auto shape =
        std::find_if(run.shapes.begin(), run.shapes.end(), [&name = input](const auto &each) {
          return each.input == name;
        });
    sum += shape == run.shapes.end()
        ? count_paired(node->second, active)
        : count_way(node->second.entered, way_of(*shape, run.nodes), frames->counts(), active);
  }
  return sum;
}

bool is_settled(const ClosedRun &run) {
  return std::all_of(run.departed.begin(), run.departed.end(), [](const auto &each) {
    return each.second->counts().waiting == 0;
  });
}

}  // namespace holoflow::gst
