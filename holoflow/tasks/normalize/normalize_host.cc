// SPDX-License-Identifier: LGPL-2.1-or-later
// Normalize on Host: group by group, first the range, then the values.
#include "holoflow/tasks/common/axes.hh"
#include "holoflow/tasks/common/map_host.hh"
#include "holoflow/tasks/normalize/normalize_tasks.hh"

namespace holoflow::tasks {
namespace {

class NormalizeHost final : public core::ISyncTask {
public:
  NormalizeHost(
      NormalizeOp op, const core::TDesc &in, const core::TDesc &out,
      const std::vector<size_t> &kept, const std::vector<size_t> &reduced)
      : op_(op), dtype_(in.dtype),
        groups_(make_loop<2>(
            pick_axes(in.shape, kept),
            {pick_axes(in.strides, kept), pick_axes(out.strides, kept)})),
        range_loop_(make_loop<1>(pick_axes(in.shape, reduced), {pick_axes(in.strides, reduced)})),
        value_loop_(make_loop<2>(
            pick_axes(in.shape, reduced),
            {pick_axes(in.strides, reduced), pick_axes(out.strides, reduced)})) {}

  core::OpResult execute(core::SyncCtx &ctx) override {
    for_each_row<2>(
        groups_, {ctx.inputs[0].data(), ctx.outputs[0].data()},
        [this](auto at, auto steps, size_t count) {
          for (size_t i = 0; i < count; ++i)
            normalize_group(at[0] + i * steps[0], at[1] + i * steps[1]);
        });
    return core::OpResult::Ok;
  }

private:
  void normalize_group(std::byte *in, std::byte *out) {
    const MinMax range = minmax_host(range_loop_, dtype_, in);
    with_type(dtype_, [&](auto tag) {
      using In = typename decltype(tag)::type;
      map_host<In, float>(value_loop_, in, out, [op = op_, range](In x) { return op(x, range); });
    });
  }

  NormalizeOp op_;
  core::DType dtype_;
  StridedLoop<2> groups_;  // first elements of the groups: in, out
  StridedLoop<1> range_loop_;  // elements of one group
  StridedLoop<2> value_loop_;  // the same: in, out
};

}  // namespace

std::unique_ptr<core::ISyncTask> make_normalize_host(const MakeArgs<core::SyncCreateCtx> &args) {
  const core::TDesc &in = args.inputs[0];
  const std::vector<size_t> reduced = normalize_axes_of(in, args.params);
  return std::make_unique<NormalizeHost>(
      normalize_op_of(args.params), in, args.infer.output_descs[0], other_axes(reduced, in.rank()),
      other_axes(other_axes(reduced, in.rank()), in.rank()));
}

}  // namespace holoflow::tasks
