// SPDX-License-Identifier: LGPL-2.1-or-later
// The list of built-in task families.
#include "holoflow/builtin_tasks.hh"

#include "holoflow/tasks/families.hh"

namespace holoflow {

void register_builtin_tasks(core::Registry &registry) {
  // One line per family, declared in families.hh.
  tasks::register_elementwise(registry);
  tasks::register_arithmetic(registry);
  tasks::register_affine(registry);
  tasks::register_clip(registry);
  tasks::register_conversion(registry);
  tasks::register_normalize(registry);
  tasks::register_reduction(registry);
  tasks::register_slice(registry);
  tasks::register_reshape(registry);
  tasks::register_transpose(registry);
  tasks::register_dual_reader(registry);
  tasks::register_sliding(registry);
  tasks::register_fft(registry);
  tasks::register_fftshift(registry);
  tasks::register_filter2d(registry);
  tasks::register_input_output(registry);
  tasks::register_transfer(registry);
  tasks::register_batch_queue(registry);
  tasks::register_rate_limiter(registry);
}

}  // namespace holoflow
