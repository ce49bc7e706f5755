// SPDX-License-Identifier: LGPL-2.1-or-later
// Averages on a GPU: what the tasks call.
#pragma once

#include "curaii/cuda.hh"
#include "holoflow/tasks/sliding/sliding_task.hh"

namespace holoflow::tasks {

/// Enqueues the mean of the frames, element by element. Throws curaii::CudaError.
void enqueue_mean(const RingFrames &frames, float *mean, cudaStream_t stream);

}  // namespace holoflow::tasks
