// SPDX-License-Identifier: LGPL-2.1-or-later
// Normalize on a GPU. The ranges never leave the device: the mapping kernel reads them from there.
#include "holoflow/tasks/normalize/normalize_cuda.hh"

#include "holoflow/runtime/device.hh"
#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/minmax_cuda.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/normalize/normalize_tasks.hh"

namespace holoflow::tasks {
namespace {

/// Byte strides that lead from an element to the range of its group; ranges lie row-major.
std::vector<size_t> range_strides(const core::TDesc &in, const std::vector<size_t> &reduced) {
  std::vector<size_t> strides(in.rank(), 0);
  const std::vector<size_t> kept = other_axes(reduced, in.rank());
  size_t step = sizeof(MinMax);
  for (size_t i = kept.size(); i-- > 0;) {
    strides[kept[i]] = step;
    step *= in.shape[kept[i]];
  }
  return strides;
}

class NormalizeCuda final : public core::ISyncTask {
public:
  NormalizeCuda(
      NormalizeOp op, const core::TDesc &in, const core::TDesc &out,
      const std::vector<size_t> &reduced, const core::SyncCreateCtx &ctx)
      : op_(op), dtype_(in.dtype), plan_(plan_groups(in, reduced)),
        loop_(make_loop<2>(in.shape, {in.strides, out.strides})),
        group_loop_(make_loop<3>(in.shape, {in.strides, range_strides(in, reduced), out.strides})),
        stream_(ctx.stream),
        memory_(
            runtime::cuda_device(ctx.device), core::MemLoc::Device, minmax_memory_bytes(plan_)) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    const std::byte *in = ctx.inputs[0].data();
    std::byte *out = ctx.outputs[0].data();
    auto *ranges = reinterpret_cast<MinMax *>(memory_.get());
    enqueue_minmax(plan_, dtype_, in, ranges, stream_);
    if (plan_.groups == 1) {
      enqueue_normalize(op_, dtype_, loop_, in, ranges, out, stream_);
    } else {
      enqueue_normalize(op_, dtype_, group_loop_, in, ranges, out, stream_);
    }
    return core::OpResult::Ok;
  }

private:
  NormalizeOp op_;
  core::DType dtype_;
  GroupPlan plan_;
  StridedLoop<2> loop_;
  StridedLoop<3> group_loop_;
  cudaStream_t stream_;
  runtime::MemoryBlock memory_;
};

std::unique_ptr<core::ISyncTask> make_normalize_cuda(const MakeArgs<core::SyncCreateCtx> &args) {
  const core::TDesc &in = args.inputs[0];
  return std::make_unique<NormalizeCuda>(
      normalize_op_of(args.params), in, args.infer.output_descs[0],
      normalize_axes_of(in, args.params), args.ctx);
}

}  // namespace

void register_normalize_cuda(core::Registry &registry) {
  add_device_maker(registry, "Normalize", SyncMaker(make_normalize_cuda));
}

}  // namespace holoflow::tasks
