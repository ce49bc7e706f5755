// SPDX-License-Identifier: LGPL-2.1-or-later
// Specs of Add, Subtract, Multiply and Divide.
#include <algorithm>
#include <stdexcept>

#include "holoflow/tasks/arithmetic/arithmetic_tasks.hh"
#include "holoflow/tasks/common/infer.hh"
#include "holoflow/tasks/families.hh"

namespace holoflow::tasks {
namespace {

using core::TDesc;

[[noreturn]] void refuse_shapes(const TDesc &a, const TDesc &b) {
  std::string where;
  for (size_t back = 1; back <= std::min(a.rank(), b.rank()); ++back) {
    const size_t left = a.shape[a.rank() - back];
    const size_t right = b.shape[b.rank() - back];
    if (left == right || left == 1 || right == 1)
      continue;
    where = "axis -" + std::to_string(back) + " has " + std::to_string(left) + " and " +
        std::to_string(right) + " elements";
    break;
  }
  throw std::invalid_argument(
      "input 1 (\"b\"): expected a shape that broadcasts with input 0 (" + to_string(a) +
      "), got " + to_string(b) + ": " + where + "; make them equal, or one of them 1");
}

core::InferResult infer(std::span<const TDesc> inputs) {
  require_indexable(inputs);
  require_same_location(inputs);
  const TDesc &a = inputs[0];
  const TDesc &b = inputs[1];
  const auto shape = broadcast_shapes(a.shape, b.shape);
  if (!shape)
    refuse_shapes(a, b);
  TDesc output(*shape, std::max(a.dtype, b.dtype), a.mem_loc);  // enumerators ascend by width
  if (output.shape == a.shape) {
    output.media = a.media;
  } else if (output.shape == b.shape) {
    output.media = b.media;
  }
  const size_t in_idx = can_share(a, output) ? 0 : 1;
  return elementwise_result(inputs, std::move(output), in_idx);
}

const char *doc_of(Arithmetic op) {
  switch (op) {
  case Arithmetic::Add:
    return "a + b, broadcast; integers wrap.";
  case Arithmetic::Subtract:
    return "a − b, broadcast; integers wrap.";
  case Arithmetic::Multiply:
    return "a · b, broadcast; integers wrap.";
  case Arithmetic::Divide:
    break;
  }
  return "a / b, broadcast; integers are cut towards 0, and x / 0 is 0.";
}

}  // namespace

StridedLoop<3> arithmetic_loop(const MakeArgs<core::SyncCreateCtx> &args) {
  const TDesc &out = args.infer.output_descs[0];
  return make_loop<3>(
      out.shape,
      {broadcast_strides(args.inputs[0], out.shape), broadcast_strides(args.inputs[1], out.shape),
       out.strides});
}

void register_arithmetic(core::Registry &registry) {
  for (const ArithmeticType &entry : arithmetic_types) {
    TaskSpec spec;
    spec.type = entry.type;
    spec.doc = doc_of(entry.op);
    spec.inputs = {{"a", "any shape"}, {"b", "a shape that broadcasts with a"}};
    spec.outputs = {{"y", "the broadcast shape; the wider element type, U8 < U16 < F32 < CF32"}};
    spec.infer = [](const InferContext &, std::span<const TDesc> inputs, const nlohmann::json &) {
      return infer(inputs);
    };
    spec.make_sync = make_arithmetic_host(entry.op);
    register_spec(registry, std::move(spec));
  }
}

}  // namespace holoflow::tasks
