// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames per second of graphs on the GPU beside the hand-written loop, in one process, in turn.
//
//   bench_pipeline [PAIRS] [--size WIDTHxHEIGHT]… [--json FILE]
//
// PAIRS interleaved measurements of each size (default 5); without --size four sizes.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "arguments.hh"
#include "hand_written_loop.hh"
#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/tools/measuring.hh"
#include "holoflow/tools/number_text.hh"
#include "pipeline_graph.hh"

namespace {

using namespace holoflow;
using bench::HostWait;
const runtime::CompilerConfig on_gpu{.device = runtime::CompilerConfig::Device::Cuda};
using bench::PipelineSize;

// Of each size, at most.
constexpr size_t band_pass_runs = 3;
constexpr size_t metrics_runs = 5;

/// As many frames as take about a third of a second where the link or the host is the limit.
size_t frames_of(const tools::FrameSize &size) {
  constexpr double link_bytes_per_second = 45e9, host_seconds = 25e-6;
  const double bytes = static_cast<double>(size.width) * static_cast<double>(size.height);
  return static_cast<size_t>(0.33 / std::max(bytes / link_bytes_per_second, host_seconds)) + 1;
}

/// Everything measured at one size; one value for each pair.
struct Figures {
  std::vector<double> spin, block, graph, ratio, cores, latency, late_latency, band_pass;
  std::vector<double> measured;  ///< speed with metrics over speed without
};

bench::PipelineFigures run_graph(
    core::Registry &registry, const PipelineSize &size, const std::vector<core::NodeSpec> &tasks,
    bench::ResultCheck check) {
  return bench::Pipeline(registry, size, tasks, check, on_gpu).run();
}

/// Within one run, because speed changes more from run to run than metrics cost.
void compare_metrics(core::Registry &registry, PipelineSize size, Figures &figures) {
  constexpr size_t stretches = 25, shortest = 200;
  const size_t frames_between = std::max(size.frames / 12, shortest);
  size.frames = stretches * frames_between;
  const auto ratios =
      bench::Pipeline(registry, size, bench::element_wise_tasks(), bench::ResultCheck::None, on_gpu)
          .compare_metrics(frames_between);
  figures.measured.insert(figures.measured.end(), ratios.begin(), ratios.end());
}

/// The loop with both kinds of waiting and the graph; every second time the graph comes first.
void measure_pair(
    core::Registry &registry, const PipelineSize &size, bool graph_first, Figures &figures) {
  const auto loop = [&] {
    figures.spin.push_back(
        bench::hand_written_loop(size.width, size.height, size.frames, HostWait::Spin));
    figures.block.push_back(
        bench::hand_written_loop(size.width, size.height, size.frames, HostWait::Block));
  };
  if (!graph_first)
    loop();
  const auto run =
      run_graph(registry, size, bench::element_wise_tasks(), bench::ResultCheck::ElementWise);
  if (graph_first)
    loop();
  figures.graph.push_back(run.frames_per_second);
  figures.ratio.push_back(
      run.frames_per_second / std::max(figures.spin.back(), figures.block.back()));
  figures.cores.push_back(run.busy_cores);
  figures.latency.push_back(run.median_latency_us);
  figures.late_latency.push_back(run.late_latency_us);
}

Figures measure(core::Registry &registry, const tools::FrameSize &size, size_t pairs) {
  const PipelineSize full{size.width, size.height, frames_of(size)};
  const PipelineSize half{size.width, size.height, full.frames / 2 + 1};
  Figures warm_up, figures;
  measure_pair(registry, half, false, warm_up);
  for (size_t i = 0; i < pairs; ++i)
    measure_pair(registry, full, i % 2 == 1, figures);
  for (size_t i = 0; i < std::min(pairs, metrics_runs); ++i)
    compare_metrics(registry, full, figures);
  for (size_t i = 0; i < std::min(pairs, band_pass_runs); ++i)
    figures.band_pass.push_back(
        run_graph(registry, half, bench::band_pass_tasks(), bench::ResultCheck::None)
            .frames_per_second);
  return figures;
}

void print(const tools::FrameSize &size, const Figures &figures) {
  using tools::median;
  std::printf(
      "%5zu x %-5zu | loop %9.0f | graph %9.0f | ratio %.3f | cores %.2f | band-pass %9.0f | "
      "latency %.0f µs, 99 %% below %.0f | with metrics %.3f (quartiles %.3f, %.3f)\n",
      size.width, size.height, std::max(median(figures.spin), median(figures.block)),
      median(figures.graph), median(figures.ratio), median(figures.cores),
      median(figures.band_pass), median(figures.latency), median(figures.late_latency),
      median(figures.measured), tools::quantile(figures.measured, 0.25),
      tools::quantile(figures.measured, 0.75));
  std::fflush(stdout);
}

nlohmann::json to_json(const tools::FrameSize &size, const Figures &figures) {
  using tools::summary;
  return {
      {"width", size.width},
      {"height", size.height},
      {"frames", frames_of(size)},
      {"loop_spin_frames_per_second", summary(figures.spin)},
      {"loop_block_frames_per_second", summary(figures.block)},
      {"graph_frames_per_second", summary(figures.graph)},
      {"ratio_to_better_loop", summary(figures.ratio)},
      {"busy_cores", summary(figures.cores)},
      {"median_latency_us", summary(figures.latency)},
      {"latency_99_percent_us", summary(figures.late_latency)},
      {"ratio_with_metrics", summary(figures.measured)},
      {"band_pass_frames_per_second", summary(figures.band_pass)}};
}

void measure_all(const bench::Arguments &arguments) {
  const size_t pairs = arguments.number(0, 5);
  std::vector<tools::FrameSize> sizes;
  if (const auto given = arguments.options.find("--size"); given != arguments.options.end())
    for (const auto &text : given->second)
      sizes.push_back(tools::parse_frame_size(text));
  else
    sizes = {{128, 128}, {512, 512}, {1920, 1080}, {4096, 4096}};
  core::Registry registry;
  bench::register_pipeline_tasks(registry);
  const std::string gpu = runtime::cuda_device().name();
  std::printf("%s, frames per second, medians of %zu\n", gpu.c_str(), pairs);
  auto report = tools::new_report("bench_pipeline", gpu);
  report["pairs"] = pairs;
  for (const auto &size : sizes) {
    const Figures figures = measure(registry, size, pairs);
    print(size, figures);
    if (arguments.options.contains("--profile"))
      bench::Pipeline(
          registry, {size.width, size.height, frames_of(size)}, bench::element_wise_tasks(),
          bench::ResultCheck::ElementWise, on_gpu)
          .profile();
    report["sizes"].push_back(to_json(size, figures));
    if (const auto file = arguments.text("--json"); !file.empty())
      tools::write_report(file, report);  // after each size: a run that is cut short leaves figures
  }
}

}  // namespace

int main(int argc, char **argv) {
  try {
    measure_all(bench::parse_arguments(argc, argv, {"--size", "--json", "--profile"}));
  } catch (const core::DeviceError &error) {
    std::printf("skipped: %s\n", error.what());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "bench_pipeline: %s\n", error.what());
    return 1;
  }
  return 0;
}
