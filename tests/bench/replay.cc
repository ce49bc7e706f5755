// SPDX-License-Identifier: LGPL-2.1-or-later
// What recording is worth: the same pipeline with every task enqueuing its own work, with its tasks
// replayed as one launch, and beside them the recorded work alone, launched back to back.
//
//   bench_replay [PAIRS] [--json FILE] [--only NAME]
//
// PAIRS interleaved measurements (default 5). Frames go up and down through queues, so where copies
// are the limit replaying gains nothing.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "arguments.hh"
#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/tools/measuring.hh"
#include "holoflow/tools/number_text.hh"
#include "pipeline_graph.hh"

namespace {

using namespace holoflow;
using bench::PipelineSize;
using Replay = runtime::CompilerConfig::Replay;
using tools::median;

struct Work {
  std::string name;
  std::vector<core::NodeSpec> tasks;
  size_t width = 0, height = 0;
  size_t frames = 0;
};

std::vector<Work> all_work() {
  std::vector<Work> list;
  for (const size_t count : {8, 32, 128})
    list.push_back(
        {std::to_string(count) + " tiny kernels", bench::tiny_tasks(count), 16, 16,
         count > 100 ? size_t{4000} : size_t{12000}});
  for (const size_t side : {128, 256, 512}) {
    list.push_back({"band-pass", bench::band_pass_tasks(), side, side, 8000});
    list.push_back({"doppler", bench::doppler_tasks(), side, side, 8000});
  }
  return list;
}

double microseconds_per_frame(core::Registry &registry, const Work &work, Replay replay) {
  runtime::CompilerConfig config;
  config.device = runtime::CompilerConfig::Device::Cuda;
  config.replay = replay;
  const PipelineSize size{work.width, work.height, work.frames};
  bench::Pipeline pipeline(registry, size, work.tasks, bench::ResultCheck::None, config);
  return 1e6 / pipeline.run().frames_per_second;
}

/// The tasks between the queues, recorded by hand with memory of their own.
class Alone {
public:
  Alone(core::Registry &registry, const Work &work)
      : device_(runtime::cuda_device()), scope_(device_), stream_(device_) {
    core::TDesc desc({1, work.height, work.width}, core::DType::U8, core::MemLoc::Device);
    memory_.emplace_back(device_, core::MemLoc::Device, desc.num_bytes());
    storages_.push_back(std::make_unique<core::Storage>(
        core::Storage{core::MemLoc::Device, desc.num_bytes(), memory_.back().get()}));
    core::SyncCreateCtx ctx;
    ctx.stream = stream_.get();
    ctx.device = device_.index();
    for (const auto &node : work.tasks) {
      const auto &factory = registry.get_sync(node.kind);
      const auto settings = node.settings.is_null() ? nlohmann::json::object() : node.settings;
      const auto infer = factory.infer({&desc, 1}, settings);
      auto &call = calls_.emplace_back();
      call.task = factory.create({&desc, 1}, settings, ctx);
      call.input = {desc, storages_.back().get()};
      desc = infer.output_descs.at(0);
      const bool is_view = !infer.in_place.empty() && !infer.in_place[0].writes;
      if (!is_view) {
        const size_t bytes = desc.offset + desc.num_bytes();
        memory_.emplace_back(device_, core::MemLoc::Device, bytes);
        storages_.push_back(std::make_unique<core::Storage>(
            core::Storage{core::MemLoc::Device, bytes, memory_.back().get()}));
      }
      call.output = {desc, storages_.back().get()};
    }
    execute();  // kernels are loaded when they are first launched
    device_.synchronize(stream_.get());
    device_.begin_recording(stream_.get());
    execute();
    work_ = device_.end_recording(stream_.get(), {});
    work_->prepare();
  }
  ~Alone() { device_.synchronize(stream_.get()); }

  [[nodiscard]] size_t operations() const { return work_->operations(); }

  double microseconds_per_launch(size_t launches) {
    for (size_t i = 0; i < launches / 10 + 1; ++i)
      work_->launch(stream_.get(), {});
    device_.synchronize(stream_.get());
    const tools::Stopwatch stopwatch;
    for (size_t i = 0; i < launches; ++i)
      work_->launch(stream_.get(), {});
    device_.synchronize(stream_.get());
    return 1e6 * stopwatch.seconds() / static_cast<double>(launches);
  }

private:
  struct Call {
    std::unique_ptr<core::ISyncTask> task;
    core::TView input, output;
  };

  void execute() {
    for (auto &call : calls_) {
      core::SyncCtx ctx;
      ctx.inputs = {&call.input, 1};
      ctx.outputs = {&call.output, 1};
      (void)call.task->execute(ctx);
    }
  }

  runtime::Device &device_;
  const runtime::DeviceScope scope_;
  runtime::Stream stream_;
  std::vector<runtime::MemoryBlock> memory_;
  std::vector<std::unique_ptr<core::Storage>> storages_;
  std::vector<Call> calls_;
  std::unique_ptr<runtime::RecordedWork> work_;
};

nlohmann::json measure(core::Registry &registry, const Work &work, size_t pairs) {
  Alone alone(registry, work);
  (void)microseconds_per_frame(registry, work, Replay::Auto);  // warms up
  std::vector<double> eager, replayed, launches, to_launches, gain;
  for (size_t i = 0; i < pairs; ++i) {
    if (i % 2 == 0)
      eager.push_back(microseconds_per_frame(registry, work, Replay::Off));
    replayed.push_back(microseconds_per_frame(registry, work, Replay::Auto));
    launches.push_back(alone.microseconds_per_launch(work.frames / 2));
    if (i % 2 == 1)
      eager.push_back(microseconds_per_frame(registry, work, Replay::Off));
    to_launches.push_back(replayed.back() / launches.back());
    gain.push_back(eager.back() / replayed.back());
  }
  std::printf(
      "%-16s %4zu x %-4zu | %3zu operations | eager %7.1f | replayed %7.1f | launches alone %7.1f "
      "| replayed to launches %.3f | eager to replayed %.2f\n",
      work.name.c_str(), work.width, work.height, alone.operations(), median(eager),
      median(replayed), median(launches), median(to_launches), median(gain));
  std::fflush(stdout);
  using tools::summary;
  return {
      {"name", work.name},
      {"width", work.width},
      {"height", work.height},
      {"operations", alone.operations()},
      {"eager_us", summary(eager)},
      {"replayed_us", summary(replayed)},
      {"launches_alone_us", summary(launches)},
      {"replayed_to_launches", summary(to_launches)},
      {"eager_to_replayed", summary(gain)}};
}

void measure_all(const bench::Arguments &arguments) {
  const size_t pairs = arguments.number(0, 5);
  const auto only = arguments.text("--only");
  core::Registry registry;
  bench::register_pipeline_tasks(registry);
  const std::string gpu = runtime::cuda_device().name();
  runtime::register_cuda_tasks(registry);
  std::printf("%s, microseconds per frame, medians of %zu\n", gpu.c_str(), pairs);
  auto report = tools::new_report("bench_replay", gpu);
  report["pairs"] = pairs;
  for (const auto &work : all_work()) {
    if (!only.empty() && work.name.find(only) == std::string::npos)
      continue;
    report["work"].push_back(measure(registry, work, pairs));
    if (const auto file = arguments.text("--json"); !file.empty())
      tools::write_report(file, report);
  }
}

}  // namespace

int main(int argc, char **argv) {
  try {
    measure_all(bench::parse_arguments(argc, argv, {"--json", "--only"}));
  } catch (const core::DeviceError &error) {
    std::printf("skipped: %s\n", error.what());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "bench_replay: %s\n", error.what());
    return 1;
  }
  return 0;
}
