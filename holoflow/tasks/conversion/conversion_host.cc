// SPDX-License-Identifier: LGPL-2.1-or-later
// Conversion on Host.
#include "holoflow/tasks/common/map_host.hh"
#include "holoflow/tasks/conversion/conversion_tasks.hh"

namespace holoflow::tasks {
namespace {

using Kernel = void (*)(const StridedLoop<2> &, std::byte *in, std::byte *out);

template <typename In, typename Out, typename Part>
void run(const StridedLoop<2> &loop, std::byte *in, std::byte *out) {
  map_host<In, Out>(loop, in, out, [](In x) { return to_element<Out>(Part{}(x)); });
}

template <typename Part> Kernel kernel_for(core::DType from, core::DType to) {
  return with_type(from, [to](auto in) {
    return with_type(to, [](auto out) -> Kernel {
      return run<typename decltype(in)::type, typename decltype(out)::type, Part>;
    });
  });
}

Kernel kernel_for(Strategy strategy, core::DType from, core::DType to) {
  if (strategy == Strategy::Modulus)
    return kernel_for<ModulusOp>(from, to);
  if (strategy == Strategy::Argument)
    return kernel_for<ArgumentOp>(from, to);
  return kernel_for<RealOp>(from, to);
}

class ConversionHost final : public core::ISyncTask {
public:
  ConversionHost(Strategy strategy, const core::TDesc &in, const core::TDesc &out)
      : kernel_(kernel_for(strategy, in.dtype, out.dtype)),
        identity_(is_identity(in.dtype, out.dtype, strategy)),
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

class ScaledHost final : public core::ISyncTask {
public:
  ScaledHost(const core::TDesc &in, const core::TDesc &out)
      : from_(in.dtype), to_(out.dtype), elements_(make_loop<1>(in.shape, {in.strides})),
        loop_(make_loop<2>(in.shape, {in.strides, out.strides})) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    std::byte *in = ctx.inputs[0].data();
    std::byte *out = ctx.outputs[0].data();
    const MinMax range = minmax_host(elements_, from_, in);
    with_type(from_, [&](auto tag) {
      using In = typename decltype(tag)::type;
      if (to_ == core::DType::U8) {
        map<In, uint8_t>(range, in, out);
      } else {
        map<In, uint16_t>(range, in, out);
      }
    });
    return core::OpResult::Ok;
  }

private:
  template <typename In, typename Out> void map(MinMax range, std::byte *in, std::byte *out) {
    const ScaledMap scaled(range, top_level<Out>());
    map_host<In, Out>(loop_, in, out, [scaled](In x) { return cut<Out>(scaled(x)); });
  }

  core::DType from_;
  core::DType to_;
  StridedLoop<1> elements_;
  StridedLoop<2> loop_;
};

}  // namespace

std::unique_ptr<core::ISyncTask> make_conversion_host(const MakeArgs<core::SyncCreateCtx> &args) {
  const core::TDesc &in = args.inputs[0];
  const core::TDesc &out = args.infer.output_descs[0];
  const Strategy strategy = strategy_of(args.params);
  if (strategy == Strategy::Scaled)
    return std::make_unique<ScaledHost>(in, out);
  return std::make_unique<ConversionHost>(strategy, in, out);
}

}  // namespace holoflow::tasks
