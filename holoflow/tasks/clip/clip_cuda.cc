// SPDX-License-Identifier: LGPL-2.1-or-later
// Clip on a GPU.
#include "holoflow/tasks/clip/clip_cuda.hh"

#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

class ClipCuda final : public core::ISyncTask {
public:
  ClipCuda(const core::TDesc &in, const core::TDesc &out, ClipBounds bounds, cudaStream_t stream)
      : dtype_(in.dtype), bounds_(bounds), loop_(make_loop<2>(in.shape, {in.strides, out.strides})),
        stream_(stream) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    enqueue_clip(bounds_, dtype_, loop_, ctx.inputs[0].data(), ctx.outputs[0].data(), stream_);
    return core::OpResult::Ok;
  }

private:
  core::DType dtype_;
  ClipBounds bounds_;
  StridedLoop<2> loop_;
  cudaStream_t stream_;
};

std::unique_ptr<core::ISyncTask> make_clip_cuda(const MakeArgs<core::SyncCreateCtx> &args) {
  const core::TDesc &in = args.inputs[0];
  return std::make_unique<ClipCuda>(
      in, args.infer.output_descs[0], clip_bounds(in.dtype, args.params), args.ctx.stream);
}

}  // namespace

void register_clip_cuda(core::Registry &registry) {
  add_device_maker(registry, "Clip", SyncMaker(make_clip_cuda));
}

}  // namespace holoflow::tasks
