// SPDX-License-Identifier: LGPL-2.1-or-later
// BatchQueue in Device memory: the same ring; views are packed by a kernel.
#include "holoflow/runtime/device.hh"
#include "holoflow/tasks/batch_queue/batch_queue_task.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/transfer/transfer_cuda.hh"

namespace holoflow::tasks {

void register_batch_queue_cuda(core::Registry &registry) {
  add_device_maker(
      registry, "BatchQueue", AsyncMaker([](const MakeArgs<core::AsyncCreateCtx> &args) {
        return make_batch_queue(args, pack_on_device);
      }));
}

}  // namespace holoflow::tasks
