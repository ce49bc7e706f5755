// SPDX-License-Identifier: LGPL-2.1-or-later
// The list of task families that have makers for Device tensors.
#include "holoflow/tasks/builtin_tasks_cuda.hh"

#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::tasks {

void register_builtin_tasks_cuda(core::Registry &registry) {
  // Built-in types come all or none; a program that registers only its own has nothing to complete.
  if (find_spec(registry, "Input") == nullptr)
    return;
  // One line per family, declared in families.hh.
  register_elementwise_cuda(registry);
  register_arithmetic_cuda(registry);
  register_affine_cuda(registry);
  register_clip_cuda(registry);
  register_conversion_cuda(registry);
  register_normalize_cuda(registry);
  register_reduction_cuda(registry);
  register_reshape_cuda(registry);
  register_dual_reader_cuda(registry);
  register_sliding_cuda(registry);
  register_fft_cuda(registry);
  register_fftshift_cuda(registry);
  register_filter2d_cuda(registry);
  register_transfer_cuda(registry);
  register_batch_queue_cuda(registry);
}

}  // namespace holoflow::tasks
