// SPDX-License-Identifier: LGPL-2.1-or-later
// Conversion on a GPU.
#include "holoflow/tasks/conversion/conversion_cuda.hh"

#include "holoflow/runtime/device.hh"
#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/minmax_cuda.hh"
#include "holoflow/tasks/conversion/conversion_tasks.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

class ConversionCuda final : public core::ISyncTask {
public:
  ConversionCuda(
      Strategy strategy, const core::TDesc &in, const core::TDesc &out, cudaStream_t stream)
      : strategy_(strategy), from_(in.dtype), to_(out.dtype),
        identity_(is_identity(in.dtype, out.dtype, strategy)),
        loop_(make_loop<2>(in.shape, {in.strides, out.strides})), stream_(stream) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    std::byte *in = ctx.inputs[0].data();
    std::byte *out = ctx.outputs[0].data();
    if (!identity_ || in != out)
      enqueue_conversion(strategy_, from_, to_, loop_, in, out, stream_);
    return core::OpResult::Ok;
  }

private:
  Strategy strategy_;
  core::DType from_;
  core::DType to_;
  bool identity_;  // shared memory holds the result already
  StridedLoop<2> loop_;
  cudaStream_t stream_;
};

/// The range never leaves the device: the mapping kernel reads it from there.
class ScaledCuda final : public core::ISyncTask {
public:
  ScaledCuda(const core::TDesc &in, const core::TDesc &out, const core::SyncCreateCtx &ctx)
      : from_(in.dtype), to_(out.dtype), plan_(plan_groups(in, other_axes({}, in.rank()))),
        loop_(make_loop<2>(in.shape, {in.strides, out.strides})), stream_(ctx.stream),
        memory_(
            runtime::cuda_device(ctx.device), core::MemLoc::Device, minmax_memory_bytes(plan_)) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    const std::byte *in = ctx.inputs[0].data();
    auto *range = reinterpret_cast<MinMax *>(memory_.get());
    enqueue_minmax(plan_, from_, in, range, stream_);
    enqueue_scaled(from_, to_, loop_, in, range, ctx.outputs[0].data(), stream_);
    return core::OpResult::Ok;
  }

private:
  core::DType from_;
  core::DType to_;
  GroupPlan plan_;
  StridedLoop<2> loop_;
  cudaStream_t stream_;
  runtime::MemoryBlock memory_;
};

std::unique_ptr<core::ISyncTask> make_conversion_cuda(const MakeArgs<core::SyncCreateCtx> &args) {
  const core::TDesc &in = args.inputs[0];
  const core::TDesc &out = args.infer.output_descs[0];
  const Strategy strategy = strategy_of(args.params);
  if (strategy == Strategy::Scaled)
    return std::make_unique<ScaledCuda>(in, out, args.ctx);
  return std::make_unique<ConversionCuda>(strategy, in, out, args.ctx.stream);
}

}  // namespace

void register_conversion_cuda(core::Registry &registry) {
  add_device_maker(registry, "Conversion", SyncMaker(make_conversion_cuda));
}

}  // namespace holoflow::tasks
