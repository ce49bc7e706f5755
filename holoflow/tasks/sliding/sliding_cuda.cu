// SPDX-License-Identifier: LGPL-2.1-or-later
// Mean of the frames of a ring: one thread per element, so that reads of a frame are coalesced.
#include "holoflow/tasks/common/map_cuda.cuh"
#include "holoflow/tasks/sliding/sliding_cuda.hh"

namespace holoflow::tasks {
namespace {

__global__ void mean_of_frames(
    const float *ring, uint64_t elements, uint64_t slots, uint64_t first, uint64_t count,
    float *mean) {
  for (uint64_t i = thread_index(); i < elements; i += thread_count()) {
    double sum = 0;
    uint64_t slot = first;
    for (uint64_t k = 0; k < count; ++k) {
      sum += static_cast<double>(ring[slot * elements + i]);
      slot = slot + 1 == slots ? 0 : slot + 1;
    }
    mean[i] = static_cast<float>(sum / static_cast<double>(count));
  }
}

}  // namespace

void enqueue_mean(const RingFrames &frames, float *mean, cudaStream_t stream) {
  if (frames.elements == 0)
    return;
  mean_of_frames<<<blocks_for(frames.elements), threads_per_block, 0, stream>>>(
      frames.ring, frames.elements, frames.slots, frames.first, frames.count, mean);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace holoflow::tasks
