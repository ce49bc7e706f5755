// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of Conversion.
#include "holoflow/tasks/common/map_cuda.cuh"
#include "holoflow/tasks/conversion/conversion_cuda.hh"

namespace holoflow::tasks {
namespace {

/// The strategy as a value: one kernel serves three, since memory, not the branch, is the limit.
template <typename Out> struct ConvertByValue {
  Strategy strategy;

  template <typename In> __device__ Out operator()(In x) const {
    if (strategy == Strategy::Modulus)
      return to_element<Out>(modulus(x));
    if (strategy == Strategy::Argument)
      return to_element<Out>(argument(x));
    return to_element<Out>(x);
  }
};

template <typename Out> struct ScaleByRange {
  const MinMax *range;

  template <typename In> __device__ Out operator()(In x) const {
    return cut<Out>(ScaledMap(*range, top_level<Out>())(x));
  }
};

}  // namespace

void enqueue_conversion(
    Strategy strategy, core::DType from, core::DType to, const StridedLoop<2> &loop,
    const std::byte *in, std::byte *out, cudaStream_t stream) {
  with_type(from, [&](auto in_tag) {
    with_type(to, [&](auto out_tag) {
      using In = typename decltype(in_tag)::type;
      using Out = typename decltype(out_tag)::type;
      map_cuda<In, Out>(loop, in, out, ConvertByValue<Out>{strategy}, stream);
    });
  });
}

void enqueue_scaled(
    core::DType from, core::DType to, const StridedLoop<2> &loop, const std::byte *in,
    const MinMax *range, std::byte *out, cudaStream_t stream) {
  with_type(from, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if (to == core::DType::U8) {
      map_cuda<In, uint8_t>(loop, in, out, ScaleByRange<uint8_t>{range}, stream);
    } else {
      map_cuda<In, uint16_t>(loop, in, out, ScaleByRange<uint16_t>{range}, stream);
    }
  });
}

}  // namespace holoflow::tasks
