// SPDX-License-Identifier: LGPL-2.1-or-later
// Mean, Max and Min on a GPU.
#include "holoflow/tasks/reduction/reduction_cuda.hh"

#include "holoflow/runtime/device.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

class ReductionCuda final : public core::ISyncTask {
public:
  ReductionCuda(
      Reduction reduction, core::DType dtype, const ReductionPlan &plan,
      const core::SyncCreateCtx &ctx)
      : reduction_(reduction), dtype_(dtype), plan_(plan), stream_(ctx.stream) {
    const size_t bytes = reduction_memory_bytes(reduction, dtype, plan);
    if (bytes != 0)
      memory_ = runtime::MemoryBlock(runtime::cuda_device(ctx.device), core::MemLoc::Device, bytes);
  }

  core::OpResult execute(core::SyncCtx &ctx) override {
    enqueue_reduction(
        reduction_, dtype_, plan_, ctx.inputs[0].data(), ctx.outputs[0].data(), memory_.get(),
        stream_);
    return core::OpResult::Ok;
  }

private:
  Reduction reduction_;
  core::DType dtype_;
  ReductionPlan plan_;
  cudaStream_t stream_;
  runtime::MemoryBlock memory_;  // empty where groups are not cut
};

}  // namespace

void register_reduction_cuda(core::Registry &registry) {
  for (const ReductionType &type : reduction_types)
    add_device_maker(
        registry, type.type,
        [reduction = type.reduction](
            const MakeArgs<core::SyncCreateCtx> &args) -> std::unique_ptr<core::ISyncTask> {
          const core::TDesc &in = args.inputs[0];
          const ReductionPlan plan =
              plan_reduction(in, reduced_axes(in, args.params), args.infer.output_descs[0].dtype);
          return std::make_unique<ReductionCuda>(reduction, in.dtype, plan, args.ctx);
        });
}

}  // namespace holoflow::tasks
