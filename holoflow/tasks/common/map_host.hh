// SPDX-License-Identifier: LGPL-2.1-or-later
// Element-wise loops on Host.
#pragma once

#include <cstddef>

#include "holoflow/tasks/common/index.hh"

// An element-wise loop may run in any order, also where it works in place: each element is read
// before its place is written. Without this gcc would run in-place calls one by one. clang's
// counterpart warns for every loop that does not fit vector registers, so clang does without.
#if defined(__clang__)
#define HOLOFLOW_ANY_ORDER
#else
#define HOLOFLOW_ANY_ORDER _Pragma("GCC ivdep")
#endif

namespace holoflow::tasks {

/// out = op(in) for every element; operands of the loop: in, out.
template <typename In, typename Out, typename Op>
void map_host(const StridedLoop<2> &loop, std::byte *in, std::byte *out, Op op) {
  for_each_row<2>(loop, {in, out}, [op](auto at, auto steps, size_t count) {
    if (steps[0] == sizeof(In) && steps[1] == sizeof(Out)) {
      const In *from = reinterpret_cast<const In *>(at[0]);
      Out *to = reinterpret_cast<Out *>(at[1]);
      HOLOFLOW_ANY_ORDER
      for (size_t i = 0; i < count; ++i)
        to[i] = op(from[i]);
      return;
    }
    for (size_t i = 0; i < count; ++i)
      *reinterpret_cast<Out *>(at[1] + i * steps[1]) =
          op(*reinterpret_cast<const In *>(at[0] + i * steps[0]));
  });
}

/// out = op(a, b) for every element; operands of the loop: a, b, out. A step of 0 repeats a value.
template <typename A, typename B, typename Out, typename Op>
void map_host(const StridedLoop<3> &loop, std::byte *a, std::byte *b, std::byte *out, Op op) {
  for_each_row<3>(loop, {a, b, out}, [op](auto at, auto steps, size_t count) {
    const A *left = reinterpret_cast<const A *>(at[0]);
    const B *right = reinterpret_cast<const B *>(at[1]);
    Out *to = reinterpret_cast<Out *>(at[2]);
    const bool whole_left = steps[0] == sizeof(A), whole_right = steps[1] == sizeof(B);
    if (steps[2] == sizeof(Out) && whole_left && whole_right) {
      HOLOFLOW_ANY_ORDER
      for (size_t i = 0; i < count; ++i)
        to[i] = op(left[i], right[i]);
    } else if (steps[2] == sizeof(Out) && whole_left && steps[1] == 0) {
      const B value = *right;
      HOLOFLOW_ANY_ORDER
      for (size_t i = 0; i < count; ++i)
        to[i] = op(left[i], value);
    } else if (steps[2] == sizeof(Out) && steps[0] == 0 && whole_right) {
      const A value = *left;
      HOLOFLOW_ANY_ORDER
      for (size_t i = 0; i < count; ++i)
        to[i] = op(value, right[i]);
    } else {
      for (size_t i = 0; i < count; ++i)
        *reinterpret_cast<Out *>(at[2] + i * steps[2]) =
            op(*reinterpret_cast<const A *>(at[0] + i * steps[0]),
               *reinterpret_cast<const B *>(at[1] + i * steps[1]));
    }
  });
}

}  // namespace holoflow::tasks
