// SPDX-License-Identifier: LGPL-2.1-or-later
// Arithmetic tasks on a GPU.
#include "holoflow/tasks/arithmetic/arithmetic_cuda.hh"

#include "holoflow/tasks/arithmetic/arithmetic_tasks.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

class ArithmeticCuda final : public core::ISyncTask {
public:
  ArithmeticCuda(Arithmetic op, const MakeArgs<core::SyncCreateCtx> &args)
      : op_(op), a_dtype_(args.inputs[0].dtype), b_dtype_(args.inputs[1].dtype),
        loop_(arithmetic_loop(args)), stream_(args.ctx.stream) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    enqueue_arithmetic(
        op_, a_dtype_, b_dtype_, loop_, ctx.inputs[0].data(), ctx.inputs[1].data(),
        ctx.outputs[0].data(), stream_);
    return core::OpResult::Ok;
  }

private:
  Arithmetic op_;
  core::DType a_dtype_;
  core::DType b_dtype_;
  StridedLoop<3> loop_;
  cudaStream_t stream_;
};

}  // namespace

void register_arithmetic_cuda(core::Registry &registry) {
  for (const ArithmeticType &entry : arithmetic_types)
    add_device_maker(
        registry, entry.type,
        [op = entry.op](
            const MakeArgs<core::SyncCreateCtx> &args) -> std::unique_ptr<core::ISyncTask> {
          return std::make_unique<ArithmeticCuda>(op, args);
        });
}

}  // namespace holoflow::tasks
