// SPDX-License-Identifier: LGPL-2.1-or-later
// SlidingAverage and CausalSlidingAverage on a GPU.
#include "holoflow/tasks/sliding/sliding_cuda.hh"

#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/transfer/transfer_cuda.hh"

namespace holoflow::tasks {

void register_sliding_cuda(core::Registry &registry) {
  add_device_maker(
      registry, "CausalSlidingAverage", SyncMaker([](const MakeArgs<core::SyncCreateCtx> &args) {
        return make_causal_average(args, {pack_on_device, enqueue_mean});
      }));
  add_device_maker(
      registry, "SlidingAverage", AsyncMaker([](const MakeArgs<core::AsyncCreateCtx> &args) {
        return make_sliding_average(args, {pack_on_device, enqueue_mean});
      }));
}

}  // namespace holoflow::tasks
