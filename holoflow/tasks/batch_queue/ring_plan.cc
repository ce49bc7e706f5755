// SPDX-License-Identifier: LGPL-2.1-or-later
// Ring lengths: see the header for the reasoning.
#include "holoflow/tasks/batch_queue/ring_plan.hh"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace holoflow::tasks {

RingPlan plan_ring(size_t frames_in, size_t size, size_t stride, size_t depth) {
  // Keeps every sum and product below exact.
  constexpr size_t limit = size_t{1} << (std::numeric_limits<size_t>::digits / 2 - 4);
  if (std::max({frames_in, size, stride, depth}) > limit)
    throw std::overflow_error(
        "expected at most " + std::to_string(limit) +
        " frames per push, window, stride and capacity");
  const size_t step = std::gcd(frames_in, stride);
  const size_t waiting = (size - 1) / step * step;
  const size_t least = std::max(frames_in + waiting, depth);
  const size_t shortest = (least + frames_in - 1) / frames_in * frames_in;
  const auto repeated = [&](size_t frames) {
    const size_t start_step = std::gcd(stride, frames);
    return size > start_step ? size - start_step : 0;
  };
  if (size <= stride) {
    // Whether a longer ring helps repeats with the least common multiple.
    const size_t longest = std::max(copy_free_limit * shortest, copy_free_pushes * frames_in);
    for (size_t frames = shortest; frames <= longest; frames += frames_in)
      if (repeated(frames) == 0)
        return {frames, 0};
  }
  return {shortest, repeated(shortest)};
}

QueuePlan plan_queue(
    QueuePolicy policy, size_t frames_in, size_t size, size_t stride, size_t depth) {
  QueuePlan plan;
  plan.ring = plan_ring(frames_in, size, stride, depth);
  plan.keep = plan.ring.frames;
  if (policy != QueuePolicy::Block) {
    const size_t spare = frames_in + (policy == QueuePolicy::DropOldest ? size : 0);
    plan.ring = plan_ring(frames_in, size, stride, plan.keep + spare);
  }
  return plan;
}

}  // namespace holoflow::tasks
