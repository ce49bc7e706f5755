// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs one synchronous task on arrays of numbers, on Host or on a GPU, and compares with
// expectations.
//
//   const std::vector<TaskVector> vectors = {
//       {"root", "Sqrt", {}, {f32({2}, {4, 9})}, {f32({2}, {2, 3})}},
//   };
//   TEST(Sqrt, GivesItsVectorsOnHost) { check_vectors(Place::Host, vectors); }
//   TEST(Sqrt, GivesItsVectorsOnCuda) { check_vectors(Place::Device, vectors); }
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "../support/gpu.hh"
#include "holoflow/core/registry.hh"
#include "holoflow/core/tasks.hh"

namespace holoflow::test {

enum class Place { Host, Device };

/// An array by its values in row-major order; of CF32 each element is two values, re and im.
struct Array {
  std::vector<size_t> shape;
  core::DType dtype = core::DType::U8;
  std::vector<double> values;
  /// How it lies in memory: byte strides (missing = packed) and offset. Gaps are filled with 0xCD.
  std::optional<std::vector<size_t>> strides = {};
  size_t offset = 0;
  std::optional<core::MediaInfo> media = {};

  [[nodiscard]] Array strided(std::vector<size_t> byte_strides, size_t byte_offset = 0) const;
  [[nodiscard]] Array with_media(core::MediaInfo info) const;
  [[nodiscard]] Array with_channel_axis(int axis) const;
  [[nodiscard]] core::TDesc desc(Place place) const;
};

[[nodiscard]] Array u8(std::vector<size_t> shape, std::vector<double> values);
[[nodiscard]] Array u16(std::vector<size_t> shape, std::vector<double> values);
[[nodiscard]] Array f32(std::vector<size_t> shape, std::vector<double> values);
[[nodiscard]] Array cf32(
    std::vector<size_t> shape, const std::vector<std::complex<double>> &values);
/// The same array in another layout: every axis has gaps, and it begins at an offset.
[[nodiscard]] Array scattered(Array array);
/// 0, 1, 2, … as values.
[[nodiscard]] std::vector<double> iota(size_t count, double first = 0);

/// |got − want| may be up to absolute + relative · |want| (of CF32 for each part).
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

struct TaskVector {
  std::string name;
  std::string type;
  nlohmann::json params;
  std::vector<Array> inputs;
  std::vector<Array> outputs;
  Tolerance tolerance = {};
};

struct TaskRun {
  core::InferResult infer;
  std::vector<Array> outputs;
  std::vector<std::vector<core::FrameRecord>> output_records;
};

/// Whether optional in-place outputs get the storage of their input.
enum class Sharing { Off, On };

/// The built-in tasks; with their GPU implementations where `place` is Device.
[[nodiscard]] core::Registry &registry(Place place);

/// Infers, creates and executes (twice, where nothing is in place). Input records have the sequence
/// numbers 0, 1, …. Adds a test failure where the task writes to an input that it does not share.
[[nodiscard]] TaskRun run_task(
    Place place, const std::string &type, const nlohmann::json &params,
    const std::vector<Array> &inputs, Sharing sharing = Sharing::Off);

/// Only the inference.
[[nodiscard]] core::InferResult infer_task(
    const std::string &type, const nlohmann::json &params, const std::vector<Array> &inputs,
    Place place = Place::Host);

/// The text with which inference refuses; adds a failure where it does not.
[[nodiscard]] std::string refusal(
    const std::string &type, const nlohmann::json &params, const std::vector<Array> &inputs);

/// Adds a failure that names the first element that differs. NaN equals NaN.
void expect_equal(const Array &got, const Array &want, const Tolerance &tolerance = {});

/// Runs every vector, with and without in-place outputs. Skips the test where there is no GPU.
void check_vectors(Place place, const std::vector<TaskVector> &vectors);

}  // namespace holoflow::test
