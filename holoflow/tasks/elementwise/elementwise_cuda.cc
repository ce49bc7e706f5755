// SPDX-License-Identifier: LGPL-2.1-or-later
// Element-wise tasks on a GPU.
#include "holoflow/tasks/elementwise/elementwise_cuda.hh"

#include "holoflow/tasks/elementwise/elementwise_tasks.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

class ElementwiseCuda final : public core::ISyncTask {
public:
  ElementwiseCuda(
      Elementwise function, const core::TDesc &in, const core::TDesc &out, cudaStream_t stream)
      : function_(function), dtype_(in.dtype),
        identity_(in.dtype == core::DType::U8 || in.dtype == core::DType::U16),
        loop_(make_loop<2>(in.shape, {in.strides, out.strides})), stream_(stream) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    std::byte *in = ctx.inputs[0].data();
    std::byte *out = ctx.outputs[0].data();
    if (!identity_ || in != out)
      enqueue_elementwise(function_, dtype_, loop_, in, out, stream_);
    return core::OpResult::Ok;
  }

private:
  Elementwise function_;
  core::DType dtype_;
  bool identity_;  // shared memory holds the result already
  StridedLoop<2> loop_;
  cudaStream_t stream_;
};

}  // namespace

void register_elementwise_cuda(core::Registry &registry) {
  for (const ElementwiseType &entry : elementwise_types)
    add_device_maker(
        registry, entry.type,
        [function = entry.function](
            const MakeArgs<core::SyncCreateCtx> &args) -> std::unique_ptr<core::ISyncTask> {
          return std::make_unique<ElementwiseCuda>(
              function, args.inputs[0], args.infer.output_descs[0], args.ctx.stream);
        });
}

}  // namespace holoflow::tasks
