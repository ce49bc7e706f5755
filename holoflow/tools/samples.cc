// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/samples.hh"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace holoflow::tools {

using core::DType;

namespace {

struct Row {
  char kind;
  size_t bytes;
  DType dtype;
};

constexpr std::array<Row, 12> rows{{
    {'u', 1, DType::U8},
    {'u', 2, DType::U16},
    {'f', 4, DType::F32},
    {'c', 8, DType::CF32},
    {'i', 1, DType::F32},
    {'i', 2, DType::F32},
    {'i', 4, DType::F32},
    {'i', 8, DType::F32},
    {'u', 4, DType::F32},
    {'u', 8, DType::F32},
    {'f', 8, DType::F32},
    {'c', 16, DType::CF32},
}};

void reverse_numbers(const std::byte *from, std::byte *to, size_t numbers, size_t bytes) {
  for (size_t i = 0; i < numbers; ++i)
    std::reverse_copy(from + i * bytes, from + (i + 1) * bytes, to + i * bytes);
}

}  // namespace

std::string SampleType::name() const {
  const std::string word = kind == 'u' ? "uint"
      : kind == 'i'                    ? "int"
      : kind == 'f'                    ? "float"
                                       : "complex";
  return word + std::to_string(8 * bytes);
}

std::optional<DType> dtype_of(const SampleType &type) {
  for (const Row &row : rows)
    if (row.kind == type.kind && row.bytes == type.bytes)
      return row.dtype;
  return std::nullopt;
}

std::string rounding_text() {
  return "samples were rounded to F32, which holds 24 bits of a number";
}

void SampleConverter::take(const SampleType &type) {
  type_ = type;
  becomes_float_ = type.kind == 'i' || core::size_of(dtype_of(type).value()) != type.bytes ||
      (type.kind == 'u' && type.bytes == 4);
}

template <typename T>
void SampleConverter::to_float(const std::byte *from, std::byte *to, size_t numbers) {
  for (size_t i = 0; i < numbers; ++i, from += sizeof(T), to += sizeof(float)) {
    T number;
    if (type_.swapped)
      reverse_numbers(from, reinterpret_cast<std::byte *>(&number), 1, sizeof(T));
    else
      std::memcpy(&number, from, sizeof(T));
    const auto real = static_cast<float>(number);
    const auto exact = static_cast<long double>(number);
    rounded_ |= exact == exact && static_cast<long double>(real) != exact;
    std::memcpy(to, &real, sizeof(real));
  }
}

void SampleConverter::convert(const std::byte *from, std::byte *to, size_t samples) {
  const bool complex = type_.kind == 'c';
  const size_t numbers = complex ? 2 * samples : samples;
  const size_t bytes = complex ? type_.bytes / 2 : type_.bytes;
  if (!becomes_float_)
    return type_.swapped ? reverse_numbers(from, to, numbers, bytes)
                         : static_cast<void>(std::memcpy(to, from, numbers * bytes));
  if (type_.kind == 'f' || complex)
    return to_float<double>(from, to, numbers);
  const bool has_sign = type_.kind == 'i';
  switch (bytes) {
  case 1:
    return to_float<int8_t>(from, to, numbers);
  case 2:
    return to_float<int16_t>(from, to, numbers);
  case 4:
    return has_sign ? to_float<int32_t>(from, to, numbers) : to_float<uint32_t>(from, to, numbers);
  default:
    return has_sign ? to_float<int64_t>(from, to, numbers) : to_float<uint64_t>(from, to, numbers);
  }
}

}  // namespace holoflow::tools
