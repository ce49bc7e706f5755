// SPDX-License-Identifier: LGPL-2.1-or-later
// Clip on Host.
#include "holoflow/tasks/clip/clip.hh"
#include "holoflow/tasks/common/map_host.hh"

namespace holoflow::tasks {
namespace {

class ClipHost final : public core::ISyncTask {
public:
  ClipHost(const core::TDesc &in, const core::TDesc &out, ClipBounds bounds)
      : dtype_(in.dtype), bounds_(bounds),
        loop_(make_loop<2>(in.shape, {in.strides, out.strides})) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    with_real_type(dtype_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      map_host<T, T>(loop_, ctx.inputs[0].data(), ctx.outputs[0].data(), bounds_.op<T>());
    });
    return core::OpResult::Ok;
  }

private:
  core::DType dtype_;
  ClipBounds bounds_;
  StridedLoop<2> loop_;
};

}  // namespace

std::unique_ptr<core::ISyncTask> make_clip_host(const MakeArgs<core::SyncCreateCtx> &args) {
  const core::TDesc &in = args.inputs[0];
  return std::make_unique<ClipHost>(
      in, args.infer.output_descs[0], clip_bounds(in.dtype, args.params));
}

}  // namespace holoflow::tasks
