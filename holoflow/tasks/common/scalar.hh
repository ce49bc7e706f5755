// SPDX-License-Identifier: LGPL-2.1-or-later
// Element types and arithmetic that give the same bits on Host and on a GPU.
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

#include "holoflow/core/tensor.hh"
#include "holoflow/tasks/common/index.hh"

namespace holoflow::tasks {

/// One CF32 element. Aligned so that a GPU reads it in one go.
struct alignas(8) Complex {
  float re;
  float im;
};

/// Products and sums that no compiler fuses: a fused multiply-add would round differently.
HOLOFLOW_HOST_DEVICE inline float mul(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
HOLOFLOW_HOST_DEVICE inline float add(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}
HOLOFLOW_HOST_DEVICE inline double mul(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
HOLOFLOW_HOST_DEVICE inline double add(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

HOLOFLOW_HOST_DEVICE inline uint32_t float_bits(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  return std::bit_cast<uint32_t>(x);
#endif
}
HOLOFLOW_HOST_DEVICE inline float bits_float(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

/// Neither NaN nor infinite.
HOLOFLOW_HOST_DEVICE inline bool is_finite(float x) {
  return fabsf(x) <= FLT_MAX;
}
HOLOFLOW_HOST_DEVICE inline bool is_infinite(float x) {
  return fabsf(x) > FLT_MAX;
}

/// |z| without overflow on the way; infinite where a part is, even beside NaN (as hypot).
HOLOFLOW_HOST_DEVICE inline float magnitude(Complex z) {
#ifdef __CUDA_ARCH__
  return hypotf(z.re, z.im);
#else
  const auto re = static_cast<double>(z.re);
  const auto im = static_cast<double>(z.im);
  const auto root = static_cast<float>(std::sqrt(re * re + im * im));
  return is_infinite(z.re) || is_infinite(z.im) ? HUGE_VALF : root;
#endif
}

/// Value of a real element, real part of a complex one. Exact: U16 fits a float.
HOLOFLOW_HOST_DEVICE inline float real_part(uint8_t x) {
  return static_cast<float>(x);
}
HOLOFLOW_HOST_DEVICE inline float real_part(uint16_t x) {
  return static_cast<float>(x);
}
HOLOFLOW_HOST_DEVICE inline float real_part(float x) {
  return x;
}
HOLOFLOW_HOST_DEVICE inline float real_part(Complex x) {
  return x.re;
}

template <typename T> struct TypeTag { using type = T; };

/// Calls visit(TypeTag<T>{}) with the C++ type of the elements, which are no complex numbers.
template <typename Visit> decltype(auto) with_real_type(core::DType dtype, Visit &&visit) {
  switch (dtype) {
  case core::DType::U8:
    return visit(TypeTag<uint8_t>{});
  case core::DType::U16:
    return visit(TypeTag<uint16_t>{});
  case core::DType::F32:
  case core::DType::CF32:
    break;
  }
  return visit(TypeTag<float>{});
}

/// The same for all element types.
template <typename Visit> decltype(auto) with_type(core::DType dtype, Visit &&visit) {
  if (dtype == core::DType::CF32)
    return visit(TypeTag<Complex>{});
  return with_real_type(dtype, visit);
}

}  // namespace holoflow::tasks
