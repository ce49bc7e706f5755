// SPDX-License-Identifier: LGPL-2.1-or-later
// Affine on Host.
#include "holoflow/tasks/affine/affine_tasks.hh"
#include "holoflow/tasks/common/map_host.hh"

namespace holoflow::tasks {
namespace {

class AffineHost final : public core::ISyncTask {
public:
  AffineHost(core::DType dtype, AffineTable table) : dtype_(dtype), table_(std::move(table)) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    auto *coefficients = reinterpret_cast<std::byte *>(table_.coefficients.data());
    with_type(dtype_, [&](auto tag) {
      using In = typename decltype(tag)::type;
      map_host<In, AffineCoefficients, AffineOut<In>>(
          table_.loop, ctx.inputs[0].data(), coefficients, ctx.outputs[0].data(), AffineOp{});
    });
    return core::OpResult::Ok;
  }

private:
  core::DType dtype_;
  AffineTable table_;
};

}  // namespace

std::unique_ptr<core::ISyncTask> make_affine_host(const MakeArgs<core::SyncCreateCtx> &args) {
  const core::TDesc &in = args.inputs[0];
  return std::make_unique<AffineHost>(
      in.dtype, make_affine_table(in, args.infer.output_descs[0], args.params));
}

}  // namespace holoflow::tasks
