// SPDX-License-Identifier: LGPL-2.1-or-later
// Samples as files hold them, and what a tensor makes of them.
//
//   file                                             tensor
//   uint8, uint16, float32, complex64                U8, U16, F32, CF32, as they stand
//   int8, int16, int32, int64, uint32, uint64,       F32
//   float64
//   complex128                                       CF32
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "holoflow/core/tensor.hh"

namespace holoflow::tools {

struct SampleType {
  char kind = 'u';  ///< as NumPy: u, i, f, c
  size_t bytes = 1;
  bool swapped = false;  ///< not in the machine's byte order

  /// NumPy's: "int16".
  [[nodiscard]] std::string name() const;
  friend bool operator==(const SampleType &, const SampleType &) = default;
};

/// Nothing for a type that is not in the table.
[[nodiscard]] std::optional<core::DType> dtype_of(const SampleType &type);

/// A sentence for SampleConverter::rounded().
[[nodiscard]] std::string rounding_text();

/// One thread.
class SampleConverter {
public:
  /// `type` is in the table.
  explicit SampleConverter(const SampleType &type) { take(type); }

  /// What follows has this type.
  void take(const SampleType &type);

  [[nodiscard]] bool changes_nothing() const { return !type_.swapped && !becomes_float_; }
  void convert(const std::byte *from, std::byte *to, size_t samples);
  /// Whether a number so far was not exact as F32.
  [[nodiscard]] bool rounded() const { return rounded_; }

private:
  template <typename T> void to_float(const std::byte *from, std::byte *to, size_t numbers);

  SampleType type_;
  bool becomes_float_ = false;
  bool rounded_ = false;
};

}  // namespace holoflow::tools
