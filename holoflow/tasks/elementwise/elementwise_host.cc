// SPDX-License-Identifier: LGPL-2.1-or-later
// Element-wise functions on Host.
#include "holoflow/tasks/common/map_host.hh"
#include "holoflow/tasks/elementwise/elementwise_tasks.hh"

namespace holoflow::tasks {
namespace {

using Kernel = void (*)(const StridedLoop<2> &, std::byte *in, std::byte *out);

template <typename In, typename Op>
void run(const StridedLoop<2> &loop, std::byte *in, std::byte *out) {
  map_host<In, decltype(Op{}(In{}))>(loop, in, out, Op{});
}

class ElementwiseHost final : public core::ISyncTask {
public:
  ElementwiseHost(Kernel kernel, bool identity, const core::TDesc &in, const core::TDesc &out)
      : kernel_(kernel), identity_(identity),
        loop_(make_loop<2>(in.shape, {in.strides, out.strides})) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    std::byte *in = ctx.inputs[0].data();
    std::byte *out = ctx.outputs[0].data();
    if (!identity_ || in != out)
      kernel_(loop_, in, out);
    return core::OpResult::Ok;
  }

private:
  Kernel kernel_;
  bool identity_;  // shared memory holds the result already
  StridedLoop<2> loop_;
};

}  // namespace

SyncMaker make_elementwise_host(Elementwise function) {
  return [function](const MakeArgs<core::SyncCreateCtx> &args) -> std::unique_ptr<core::ISyncTask> {
    const core::TDesc &in = args.inputs[0];
    const Kernel kernel = with_elementwise(function, in.dtype, [](auto op, auto tag) -> Kernel {
      return run<typename decltype(tag)::type, decltype(op)>;
    });
    const bool identity = in.dtype == core::DType::U8 || in.dtype == core::DType::U16;
    return std::make_unique<ElementwiseHost>(kernel, identity, in, args.infer.output_descs[0]);
  };
}

}  // namespace holoflow::tasks
