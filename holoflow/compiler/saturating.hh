// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums and products of bytes that stay at the largest number instead of wrapping round.
#pragma once

#include <cstddef>
#include <limits>

namespace holoflow::compiler {

[[nodiscard]] inline size_t saturating_sum(size_t a, size_t b) noexcept {
  size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<size_t>::max() : sum;
}

[[nodiscard]] inline size_t saturating_product(size_t a, size_t b) noexcept {
  size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<size_t>::max() : product;
}

}  // namespace holoflow::compiler
