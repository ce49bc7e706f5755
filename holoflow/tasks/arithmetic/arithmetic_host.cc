// SPDX-License-Identifier: LGPL-2.1-or-later
// Arithmetic on Host.
#include "holoflow/tasks/arithmetic/arithmetic_tasks.hh"
#include "holoflow/tasks/common/map_host.hh"

namespace holoflow::tasks {
namespace {

using Kernel = void (*)(const StridedLoop<3> &, std::byte *a, std::byte *b, std::byte *out);

template <typename A, typename B, typename Op>
void run(const StridedLoop<3> &loop, std::byte *a, std::byte *b, std::byte *out) {
  map_host<A, B, Promoted<A, B>>(loop, a, b, out, Op{});
}

Kernel kernel_for(Arithmetic op, core::DType a, core::DType b) {
  return with_arithmetic(op, [a, b](auto operation) {
    return with_type(a, [b](auto left) {
      return with_type(b, [](auto right) -> Kernel {
        return run<
            typename decltype(left)::type, typename decltype(right)::type, decltype(operation)>;
      });
    });
  });
}

class ArithmeticHost final : public core::ISyncTask {
public:
  ArithmeticHost(Kernel kernel, const StridedLoop<3> &loop) : kernel_(kernel), loop_(loop) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    kernel_(loop_, ctx.inputs[0].data(), ctx.inputs[1].data(), ctx.outputs[0].data());
    return core::OpResult::Ok;
  }

private:
  Kernel kernel_;
  StridedLoop<3> loop_;
};

}  // namespace

SyncMaker make_arithmetic_host(Arithmetic op) {
  return [op](const MakeArgs<core::SyncCreateCtx> &args) -> std::unique_ptr<core::ISyncTask> {
    const Kernel kernel = kernel_for(op, args.inputs[0].dtype, args.inputs[1].dtype);
    return std::make_unique<ArithmeticHost>(kernel, arithmetic_loop(args));
  };
}

}  // namespace holoflow::tasks
