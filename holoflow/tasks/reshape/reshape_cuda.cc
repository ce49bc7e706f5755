// SPDX-License-Identifier: LGPL-2.1-or-later
// Reshape of Device tensors.
#include "curaii/cuda.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/task_spec.hh"
#include "holoflow/tasks/transfer/transfer_cuda.hh"

namespace holoflow::tasks {
namespace {

class ReshapeCuda final : public core::ISyncTask {
public:
  explicit ReshapeCuda(cudaStream_t stream) : stream_(stream) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    const core::TView &from = ctx.inputs[0];
    std::byte *to = ctx.outputs[0].data();
    // Row-major order is the same in both shapes: a packed copy of the input is the output.
    if (from.data() != to)
      pack_on_device(from.desc, from.data(), to, stream_);
    return core::OpResult::Ok;
  }

private:
  cudaStream_t stream_;
};

}  // namespace

void register_reshape_cuda(core::Registry &registry) {
  add_device_maker(registry, "Reshape", SyncMaker([](const MakeArgs<core::SyncCreateCtx> &args) {
                     return std::make_unique<ReshapeCuda>(args.ctx.stream);
                   }));
}

}  // namespace holoflow::tasks
