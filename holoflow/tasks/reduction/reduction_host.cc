// SPDX-License-Identifier: LGPL-2.1-or-later
// Mean, Max and Min on Host.
#include <algorithm>

#include "holoflow/tasks/reduction/reduction_plan.hh"

namespace holoflow::tasks {
namespace {

/// States that run side by side, so that the compiler can keep them in vector registers.
constexpr size_t lanes = 16;
/// Groups that are reduced side by side: their states stay in the first cache.
constexpr size_t tile = 512;

template <typename Op> using Element = typename Op::Element;

template <typename Op> typename Op::State reduce_packed(const Element<Op> *row, size_t count) {
  typename Op::State states[lanes];
  std::fill_n(states, lanes, Op::identity());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      states[lane] = Op::merge(states[lane], Op::of(row[i + lane]));
  for (size_t lane = 1; lane < lanes; ++lane)
    states[0] = Op::merge(states[0], states[lane]);
  for (; i < count; ++i)
    states[0] = Op::merge(states[0], Op::of(row[i]));
  return states[0];
}

template <typename Op>
typename Op::State reduce_group(const StridedLoop<1> &members, std::byte *head) {
  typename Op::State state = Op::identity();
  for_each_row<1>(members, {head}, [&state](auto at, auto steps, size_t count) {
    if (steps[0] == sizeof(Element<Op>) && count >= lanes) {
      const auto *row = reinterpret_cast<const Element<Op> *>(at[0]);
      state = Op::merge(state, reduce_packed<Op>(row, count));
      return;
    }
    for (size_t i = 0; i < count; ++i)
      state =
          Op::merge(state, Op::of(*reinterpret_cast<const Element<Op> *>(at[0] + i * steps[0])));
  });
  return state;
}

/// `count` groups of one row of heads, which lie `step` bytes apart: member after member of all.
template <typename Op>
void reduce_tile(
    const StridedLoop<1> &members, std::byte *heads, size_t step, size_t count,
    typename Op::State *states) {
  std::fill_n(states, count, Op::identity());
  for_each_row<1>(members, {heads}, [&](auto at, auto steps, size_t size) {
    for (size_t j = 0; j < size; ++j) {
      const std::byte *row = at[0] + j * steps[0];
      if (step == sizeof(Element<Op>)) {
        const auto *elements = reinterpret_cast<const Element<Op> *>(row);
        for (size_t i = 0; i < count; ++i)
          states[i] = Op::merge(states[i], Op::of(elements[i]));
        continue;
      }
      for (size_t i = 0; i < count; ++i)
        states[i] =
            Op::merge(states[i], Op::of(*reinterpret_cast<const Element<Op> *>(row + i * step)));
    }
  });
}

template <typename Op> void reduce(const ReductionPlan &plan, std::byte *in, std::byte *out) {
  const auto put = [&plan](std::byte *to, typename Op::State state) {
    *reinterpret_cast<typename Op::Out *>(to) = Op::finish(state, plan.size);
  };
  for_each_row<2>(plan.heads, {in, out}, [&](auto at, auto steps, size_t count) {
    if (!plan.side_by_side) {
      for (size_t i = 0; i < count; ++i)
        put(at[1] + i * steps[1], reduce_group<Op>(plan.members, at[0] + i * steps[0]));
      return;
    }
    typename Op::State states[tile];
    for (size_t first = 0; first < count; first += tile) {
      const size_t groups = std::min(tile, count - first);
      reduce_tile<Op>(plan.members, at[0] + first * steps[0], steps[0], groups, states);
      for (size_t i = 0; i < groups; ++i)
        put(at[1] + (first + i) * steps[1], states[i]);
    }
  });
}

using Kernel = void (*)(const ReductionPlan &, std::byte *in, std::byte *out);

class ReductionHost final : public core::ISyncTask {
public:
  ReductionHost(Kernel kernel, ReductionPlan plan) : kernel_(kernel), plan_(plan) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    kernel_(plan_, ctx.inputs[0].data(), ctx.outputs[0].data());
    return core::OpResult::Ok;
  }

private:
  Kernel kernel_;
  ReductionPlan plan_;
};

}  // namespace

SyncMaker make_reduction_host(Reduction reduction) {
  return [reduction](
             const MakeArgs<core::SyncCreateCtx> &args) -> std::unique_ptr<core::ISyncTask> {
    const core::TDesc &in = args.inputs[0];
    const Kernel kernel =
        with_reduction(reduction, in.dtype, [](auto op) -> Kernel { return reduce<decltype(op)>; });
    return std::make_unique<ReductionHost>(
        kernel,
        plan_reduction(in, reduced_axes(in, args.params), args.infer.output_descs[0].dtype));
  };
}

}  // namespace holoflow::tasks
