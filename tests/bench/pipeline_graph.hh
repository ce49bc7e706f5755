// SPDX-License-Identifier: LGPL-2.1-or-later
// The graph that is measured: page-locked frames up, a queue, tasks, a queue, frames down.
//
//   PinnedSource → Upload → BatchQueue(8) → tasks → BatchQueue(8) → Download → CheckingSink
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "holoflow/runtime/compiler.hh"

namespace holoflow::bench {

struct PipelineSize {
  size_t width, height, frames;
};

/// U8 → F32, x·2 + 1, F32 → U8: the work of the hand-written loop.
[[nodiscard]] std::vector<core::NodeSpec> element_wise_tasks();
/// U8 → F32, band-pass of the spectrum, normalised, stretched to U8.
[[nodiscard]] std::vector<core::NodeSpec> band_pass_tasks();
/// Every task of the Fourier family, along rows, columns and both, cut and extended by zeros, of
/// lengths of every sort.
[[nodiscard]] std::vector<core::NodeSpec> fourier_tasks();
/// A picture as eight frames: the power of their frequencies.
[[nodiscard]] std::vector<core::NodeSpec> doppler_tasks();

/// So many kernels that do next to nothing.
[[nodiscard]] std::vector<core::NodeSpec> tiny_tasks(size_t count);

/// What the sink looks at. ElementWise: the first bytes of every frame are 2·x + 1.
enum class ResultCheck { None, ElementWise };

[[nodiscard]] core::GraphSpec pipeline_graph(
    const PipelineSize &size, const std::vector<core::NodeSpec> &tasks, ResultCheck check);

/// The same tasks and queues between an Input and an Output, for applications that push and pop.
[[nodiscard]] core::GraphSpec application_graph(const std::vector<core::NodeSpec> &tasks);

/// Built-in tasks, PinnedSource and CheckingSink.
void register_pipeline_tasks(core::Registry &registry);

struct PipelineFigures {
  double frames_per_second = 0;
  double busy_cores = 0;
  double median_latency_us = 0;  ///< from the source's execute to the sink's
  double late_latency_us = 0;  ///< 99 of 100 frames are faster
};

/// A compiled pipeline; runs once.
class Pipeline {
public:
  Pipeline(
      core::Registry &registry, const PipelineSize &size, const std::vector<core::NodeSpec> &tasks,
      ResultCheck check, const runtime::CompilerConfig &config);

  /// Called by the sink with the number of frames that it has got, this one included.
  void set_on_frame(std::function<void(size_t)> callback);
  /// Throws what ended the run, and std::runtime_error where frames were lost.
  [[nodiscard]] PipelineFigures run();
  /// Turns the scheduler's metrics on and off again and again while frames flow. One value for each
  /// time they were on: the speed over the mean of before and after.
  [[nodiscard]] std::vector<double> compare_metrics(size_t frames_between);
  /// Runs with metrics and prints where the time of each section and node went.
  void profile();
  [[nodiscard]] const runtime::CompilerOutput &compiled() const { return *compiled_; }

private:
  /// When each frame came to the sink.
  [[nodiscard]] const std::vector<std::chrono::steady_clock::time_point> &arrivals() const;

  size_t frames_;
  std::unique_ptr<runtime::CompilerOutput> compiled_;
};

}  // namespace holoflow::bench
