// SPDX-License-Identifier: LGPL-2.1-or-later
// DualReaderBatchQueue in Device memory: the same ring; views are packed by a kernel.
#include "holoflow/tasks/dual_reader/dual_reader_task.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/transfer/transfer_cuda.hh"

namespace holoflow::tasks {

void register_dual_reader_cuda(core::Registry &registry) {
  add_device_maker(
      registry, "DualReaderBatchQueue", AsyncMaker([](const MakeArgs<core::AsyncCreateCtx> &args) {
        return make_dual_reader(args, pack_on_device);
      }));
}

}  // namespace holoflow::tasks
