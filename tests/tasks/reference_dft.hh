// SPDX-License-Identifier: LGPL-2.1-or-later
// The textbook's discrete Fourier transform in double precision: slow, and plainly right.
#pragma once

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "tests/tasks/task_test.hh"

namespace holoflow::test {

using Complexes = std::vector<std::complex<double>>;

/// Σ x[k]·exp(∓2πi·jk/n) along one axis of a packed row-major array; − is forward. Unscaled.
inline Complexes reference_dft(
    const Complexes &values, const std::vector<size_t> &shape, size_t axis, bool forward) {
  const size_t n = shape[axis];
  size_t inner = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i)
    inner *= shape[i];
  std::vector<std::complex<double>> roots(n);
  for (size_t k = 0; k < n; ++k)
    roots[k] = std::polar(
        1.0,
        (forward ? -2 : 2) * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  Complexes result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t j = i / inner % n;
    const size_t first = i - j * inner;
    for (size_t k = 0; k < n; ++k)
      result[i] += values[first + k * inner] * roots[j * k % n];
  }
  return result;
}

/// The array's elements, of real arrays with imaginary part 0.
inline Complexes complexes(const Array &array) {
  Complexes values;
  if (array.dtype == core::DType::CF32) {
    for (size_t i = 0; i < array.values.size(); i += 2)
      values.emplace_back(array.values[i], array.values[i + 1]);
  } else {
    values.assign(array.values.begin(), array.values.end());
  }
  return values;
}

/// Reproducible noise in [−1, 1) that a float holds exactly.
inline Array noise(core::DType dtype, const std::vector<size_t> &shape) {
  std::mt19937 random(20);
  Array array{shape, dtype, {}};
  size_t count = dtype == core::DType::CF32 ? 2 : 1;
  for (const size_t extent : shape)
    count *= extent;
  for (size_t i = 0; i < count; ++i)
    array.values.push_back(static_cast<double>(random() % 2048) / 1024 - 1);
  return array;
}

/// √Σ|x|². The rounding error of each of a float transform's values is about 6e-8·log₂(n) times it,
/// some times more where a prime length goes through a longer transform (Bluestein).
inline double euclidean_norm(const Array &array) {
  double sum = 0;
  for (const double value : array.values)
    sum += value * value;
  return std::sqrt(sum);
}

/// Ten times the error that a good float transform of up to 2^18 points makes: a wrong element,
/// sign or factor is many thousand times larger.
inline constexpr double transform_error = 1e-5;

}  // namespace holoflow::test
