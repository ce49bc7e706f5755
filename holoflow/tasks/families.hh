// SPDX-License-Identifier: LGPL-2.1-or-later
// The families of built-in tasks: one function each that registers a family's types.
#pragma once

#include "holoflow/core/registry.hh"

namespace holoflow::tasks {

// In libholoflow: register the specs. Called from builtin_tasks.cc.
void register_elementwise(core::Registry &registry);
void register_arithmetic(core::Registry &registry);
void register_affine(core::Registry &registry);
void register_clip(core::Registry &registry);
void register_conversion(core::Registry &registry);
void register_normalize(core::Registry &registry);
void register_reduction(core::Registry &registry);
void register_slice(core::Registry &registry);
void register_reshape(core::Registry &registry);
void register_transpose(core::Registry &registry);
void register_input_output(core::Registry &registry);
void register_transfer(core::Registry &registry);
void register_batch_queue(core::Registry &registry);
void register_rate_limiter(core::Registry &registry);
void register_dual_reader(core::Registry &registry);
void register_sliding(core::Registry &registry);
void register_fft(core::Registry &registry);
void register_fftshift(core::Registry &registry);
void register_filter2d(core::Registry &registry);

// In the CUDA module: add the makers for Device tensors. Called from builtin_tasks_cuda.cc. Slice
// and Transpose have none: a view moves no data, so their Host tasks serve both.
void register_elementwise_cuda(core::Registry &registry);
void register_arithmetic_cuda(core::Registry &registry);
void register_affine_cuda(core::Registry &registry);
void register_clip_cuda(core::Registry &registry);
void register_conversion_cuda(core::Registry &registry);
void register_normalize_cuda(core::Registry &registry);
void register_reduction_cuda(core::Registry &registry);
void register_reshape_cuda(core::Registry &registry);
void register_transfer_cuda(core::Registry &registry);
void register_batch_queue_cuda(core::Registry &registry);
void register_dual_reader_cuda(core::Registry &registry);
void register_sliding_cuda(core::Registry &registry);
void register_fft_cuda(core::Registry &registry);
void register_fftshift_cuda(core::Registry &registry);
void register_filter2d_cuda(core::Registry &registry);

}  // namespace holoflow::tasks
