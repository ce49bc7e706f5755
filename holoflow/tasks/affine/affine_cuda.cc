// SPDX-License-Identifier: LGPL-2.1-or-later
// Affine on a GPU.
#include "holoflow/tasks/affine/affine_cuda.hh"

#include "holoflow/device/hand_over.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/tasks/affine/affine_tasks.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

class AffineCuda final : public core::ISyncTask {
public:
  AffineCuda(
      const core::TDesc &in, const core::TDesc &out, AffineCoefficients coefficients,
      cudaStream_t stream)
      : dtype_(in.dtype), coefficients_(coefficients),
        loop_(make_loop<2>(in.shape, {in.strides, out.strides})), stream_(stream) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    enqueue_affine(
        dtype_, loop_, ctx.inputs[0].data(), coefficients_, ctx.outputs[0].data(), stream_);
    return core::OpResult::Ok;
  }

private:
  core::DType dtype_;
  AffineCoefficients coefficients_;
  StridedLoop<2> loop_;
  cudaStream_t stream_;
};

class AffineTableCuda final : public core::ISyncTask {
public:
  AffineTableCuda(core::DType dtype, const AffineTable &table, const core::SyncCreateCtx &ctx)
      : dtype_(dtype), loop_(table.loop), stream_(ctx.stream) {
    runtime::Device &device = runtime::cuda_device(ctx.device);
    const size_t bytes = table.coefficients.size() * sizeof(AffineCoefficients);
    memory_ = runtime::MemoryBlock(device, core::MemLoc::Device, bytes);
    // The table on the host goes away with the caller.
    runtime::copy_and_wait(
        device, memory_.get(), core::MemLoc::Device,
        reinterpret_cast<const std::byte *>(table.coefficients.data()), core::MemLoc::Host, bytes,
        stream_);
  }

  core::OpResult execute(core::SyncCtx &ctx) override {
    enqueue_affine(
        dtype_, loop_, ctx.inputs[0].data(), memory_.get(), ctx.outputs[0].data(), stream_);
    return core::OpResult::Ok;
  }

private:
  core::DType dtype_;
  StridedLoop<3> loop_;
  cudaStream_t stream_;
  runtime::MemoryBlock memory_;
};

std::unique_ptr<core::ISyncTask> make_affine_cuda(const MakeArgs<core::SyncCreateCtx> &args) {
  const core::TDesc &in = args.inputs[0];
  const core::TDesc &out = args.infer.output_descs[0];
  const AffineTable table = make_affine_table(in, out, args.params);
  if (args.params["scale"].is_array() || args.params["offset"].is_array())
    return std::make_unique<AffineTableCuda>(in.dtype, table, args.ctx);
  return std::make_unique<AffineCuda>(in, out, table.coefficients[0], args.ctx.stream);
}

}  // namespace

void register_affine_cuda(core::Registry &registry) {
  add_device_maker(registry, "Affine", SyncMaker(make_affine_cuda));
}

}  // namespace holoflow::tasks
