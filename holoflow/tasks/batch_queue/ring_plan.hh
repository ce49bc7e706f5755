// SPDX-License-Identifier: LGPL-2.1-or-later
// How long a queue's ring of frames has to be. Pure arithmetic.
//
// Frame f lives at position f mod R. R is a multiple of n, so that a push of n frames is
// contiguous. Windows start at multiples of the stride, that is at multiples of gcd(stride, R) in
// the ring: a window of `size` frames stays inside the ring where gcd(stride, R) ≥ size, else it
// reaches at most size − gcd(stride, R) frames past its end, where the first frames of the ring are
// repeated.
//
//   size 3, stride 1, n 2, R 4:   | 0 1 | 2 3 | 0' 1' |      window 3 = (3, 0', 1')
//
// Never stalls: the producer waits while fewer than n positions are free, the consumer while its
// window is incomplete, that is while at most d = ⌊(size−1)/g⌋·g frames wait, g = gcd(n, stride):
// both counters move by multiples of g. With R ≥ n + d they never wait for each other.
//
// R is the smallest multiple of n that is at least n + d and at least the depth asked for; without
// overlap the smallest such one with gcd(stride, R) ≥ size, so that nothing is ever copied, unless
// that is more than `copy_free_limit` times as long (n and stride large and unrelated): then frames
// are repeated as with overlap.
#pragma once

#include <cstddef>

namespace holoflow::tasks {

struct RingPlan {
  size_t frames = 0;  ///< R
  size_t repeated = 0;  ///< first frames that are repeated behind the end; 0 = no copies
};

/// Longest ring that is taken to save copies, as a multiple of the shortest one that works …
inline constexpr size_t copy_free_limit = 8;
/// … though rings of this many pushes are always fine.
inline constexpr size_t copy_free_pushes = 8;

/// All arguments ≥ 1. Throws std::overflow_error where the ring does not fit size_t.
[[nodiscard]] RingPlan plan_ring(size_t frames_in, size_t size, size_t stride, size_t depth);

/// What happens when the queue is full.
enum class QueuePolicy { Block, DropOldest, DropNewest };

/// A queue is full where a push would bring it to more than `keep` frames. A queue that never makes
/// its producer wait has memory beyond that: for the push that is being written, and where the
/// oldest frames give way also for the window that is being copied out.
struct QueuePlan {
  RingPlan ring = {};
  size_t keep = 0;  ///< the ring of a queue that blocks, so drops hit whole windows only
};

/// Throws as plan_ring does.
[[nodiscard]] QueuePlan plan_queue(
    QueuePolicy policy, size_t frames_in, size_t size, size_t stride, size_t depth);

}  // namespace holoflow::tasks
