// SPDX-License-Identifier: LGPL-2.1-or-later
// Fourier transforms of strided host arrays; the only door to pocketfft.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace holoflow::tasks {

/// One transform of an n-dimensional array (at most max_rank axes) along some of its axes, any
/// lengths ≥ 1. Strides are in bytes, one per axis.
struct HostTransform {
  enum class Kind {
    Complex,  ///< complex to complex; `in` may be `out` where the strides agree
    RealToHalf,  ///< along the last of `axes` only the indices 0 … n/2 are written
    RealToFull,  ///< the half spectrum, then its mirror image
    HalfToReal,  ///< along the one axis in `axes`: transform the others before
  };
  Kind kind = Kind::Complex;
  std::vector<size_t> shape;  ///< of the real array, where one is real
  std::vector<std::ptrdiff_t> in_strides;
  std::vector<std::ptrdiff_t> out_strides;
  std::vector<size_t> axes;  ///< different ones, at least one
  bool forward = true;  ///< exponent −2πi; else +2πi
  float scale = 1;  ///< multiplies the result
};

/// A transform that is ready to run: a call only computes, and allocates nothing. Tables for each
/// length are shared process-wide; a few lines of scratch memory are the plan's own, so one thread
/// at a time may run it.
class HostTransformPlan {
public:
  HostTransformPlan();  ///< to be assigned before it runs
  explicit HostTransformPlan(const HostTransform &transform);
  HostTransformPlan(HostTransformPlan &&) noexcept;
  HostTransformPlan &operator=(HostTransformPlan &&) noexcept;
  ~HostTransformPlan();

  /// First elements, std::complex<float> or float as the kind says.
  void run(const void *in, void *out);

private:
  class Steps;
  std::unique_ptr<Steps> steps_;
};

}  // namespace holoflow::tasks
