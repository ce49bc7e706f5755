// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of the arithmetic tasks.
#include "holoflow/tasks/arithmetic/arithmetic_cuda.hh"
#include "holoflow/tasks/common/map_cuda.cuh"

namespace holoflow::tasks {
namespace {

/// The operation as a value: one kernel serves all four, since memory, not the branch, is the
/// limit.
struct AnyArithmetic {
  Arithmetic op;

  template <typename A, typename B> __device__ Promoted<A, B> operator()(A a, B b) const {
    switch (op) {
    case Arithmetic::Add:
      return ArithmeticOp<Arithmetic::Add>{}(a, b);
    case Arithmetic::Subtract:
      return ArithmeticOp<Arithmetic::Subtract>{}(a, b);
    case Arithmetic::Multiply:
      return ArithmeticOp<Arithmetic::Multiply>{}(a, b);
    case Arithmetic::Divide:
      break;
    }
    return ArithmeticOp<Arithmetic::Divide>{}(a, b);
  }
};

}  // namespace

void enqueue_arithmetic(
    Arithmetic op, core::DType a_dtype, core::DType b_dtype, const StridedLoop<3> &loop,
    const std::byte *a, const std::byte *b, std::byte *out, cudaStream_t stream) {
  with_type(a_dtype, [&](auto left) {
    with_type(b_dtype, [&](auto right) {
      using A = typename decltype(left)::type;
      using B = typename decltype(right)::type;
      map_cuda<A, B, Promoted<A, B>>(loop, a, b, out, AnyArithmetic{op}, stream);
    });
  });
}

}  // namespace holoflow::tasks
