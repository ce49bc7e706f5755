// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames per second of graphs on the GPU beside the hand-written loop, in one process, in turn.
//
//   bench_pipeline [PAIRS]      PAIRS interleaved measurements of each size (default 5)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "hand_written_loop.hh"
#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/compiler.hh"

namespace {

using namespace holoflow;

struct Size {
  size_t width, height, frames;
};
constexpr Size sizes[] = {
    {128, 128, 20000}, {512, 512, 10000}, {1920, 1080, 4000}, {4096, 4096, 800}};

/// Byte `i` of every frame.
int pattern(size_t i) {
  return static_cast<uint8_t>(i * 7919 >> 3);
}

/// Lends page-locked frames in turn, without writing them.
class PinnedSource final : public core::ISyncTask {
public:
  PinnedSource(const core::TDesc &desc, size_t frames, int device) : left_(frames) {
    for (size_t i = 0; i < ring; ++i) {
      blocks_.emplace_back(runtime::cuda_device(device), core::MemLoc::Host, desc.num_bytes());
      for (size_t k = 0; k < desc.num_bytes(); ++k)
        blocks_.back().get()[k] = static_cast<std::byte>(pattern(k));
    }
  }
  core::OpResult execute(core::SyncCtx &) override {
    if (left_ == 0)
      return core::OpResult::Eof;
    --left_;
    storage_access().owned_output_storage(0).ptr = blocks_[left_ % ring].get();
    return core::OpResult::Ok;
  }
  void release_output(int) override { storage_access().owned_output_storage(0).ptr = nullptr; }

private:
  static constexpr size_t ring = 8;
  std::vector<runtime::MemoryBlock> blocks_;
  size_t left_;
};

class PinnedSourceFactory final : public core::ISyncTaskFactory {
public:
  core::InferResult infer(
      std::span<const core::TDesc>, const nlohmann::json &settings) const override {
    const auto height = settings.at("height").get<size_t>(),
               width = settings.at("width").get<size_t>();
    core::InferResult result;
    result.output_descs = {core::TDesc({1, height, width}, core::DType::U8, core::MemLoc::Host)};
    result.owned_outputs = {true};
    result.const_outputs = {true};
    return result;
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc> inputs, const nlohmann::json &settings,
      const core::SyncCreateCtx &ctx) const override {
    return std::make_unique<PinnedSource>(
        infer(inputs, settings).output_descs[0], settings.at("frames").get<size_t>(), ctx.device);
  }
};

/// Counts frames and checks the first bytes of each: 2·x + 1, saturated.
class CheckingSink final : public core::ISyncTask {
public:
  explicit CheckingSink(bool element_wise) : element_wise_(element_wise) {}
  core::OpResult execute(core::SyncCtx &ctx) override {
    ++count;
    const auto *data = reinterpret_cast<const uint8_t *>(ctx.inputs[0].data());
    for (size_t i = 0; element_wise_ && i < 16; ++i)
      if (data[i] != std::min(2 * pattern(i) + 1, 255))
        throw std::runtime_error("wrong result");
    return core::OpResult::Ok;
  }
  size_t count = 0;

private:
  bool element_wise_;
};

class CheckingSinkFactory final : public core::ISyncTaskFactory {
public:
  core::InferResult infer(
      std::span<const core::TDesc> inputs, const nlohmann::json &) const override {
    core::InferResult result;
    result.input_descs.assign(inputs.begin(), inputs.end());
    return result;
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc>, const nlohmann::json &settings,
      const core::SyncCreateCtx &) const override {
    return std::make_unique<CheckingSink>(settings.value("check", false));
  }
};

core::GraphSpec graph(const Size &size, const std::vector<core::NodeSpec> &compute, bool check) {
  core::GraphSpec spec;
  std::vector<core::NodeSpec> nodes{
      {"source",
       "PinnedSource",
       {{"width", size.width}, {"height", size.height}, {"frames", size.frames}}},
      {"upload", "Upload", {}},
      {"queue_in", "BatchQueue", {{"target_capacity", 8}}}};
  nodes.insert(nodes.end(), compute.begin(), compute.end());
  nodes.push_back({"queue_out", "BatchQueue", {{"target_capacity", 8}}});
  nodes.push_back({"download", "Download", {}});
  nodes.push_back({"sink", "CheckingSink", {{"check", check}}});
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0)
      spec.connect(nodes[i - 1].name, 0, nodes[i].name, 0);
    spec.add_node(nodes[i]);
  }
  return spec;
}

std::vector<core::NodeSpec> element_wise() {
  return {
      {"to_float", "Conversion", {{"target", "F32"}}},
      {"scale", "Affine", {{"scale", 2.0}, {"offset", 1.0}}},
      {"to_bytes", "Conversion", {{"target", "U8"}}}};
}

std::vector<core::NodeSpec> band_pass() {
  return {
      {"to_float", "Conversion", {{"target", "F32"}}},
      {"band", "Filter2D", {{"r_inner", 4}, {"s_inner", 2}, {"r_outer", 60}, {"s_outer", 8}}},
      {"normalize", "Normalize", {}},
      {"to_bytes", "Conversion", {{"target", "U8"}, {"strategy", "Scaled"}}}};
}

struct Figure {
  double frames_per_second;
  double busy_cores;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Figure run_graph(
    core::Registry &registry, const Size &size, const std::vector<core::NodeSpec> &compute,
    bool check) {
  const runtime::CompilerConfig config{.device = runtime::CompilerConfig::Device::Cuda};
  const auto output = runtime::Compiler(registry, config).compile(graph(size, compute, check));
  runtime::Scheduler scheduler(output->graph, output->sections, output->resources);
  const auto cpu_begin = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  scheduler.start();
  scheduler.wait();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const auto cpu = cpu_seconds() - cpu_begin;
  const auto counted = dynamic_cast<CheckingSink &>(*output->resources.tasks.at("sink")).count;
  if (counted != size.frames)
    throw std::runtime_error(
        "the graph lost frames: " + std::to_string(counted) + " of " + std::to_string(size.frames));
  return {static_cast<double>(size.frames) / seconds.count(), cpu / seconds.count()};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(core::Registry &registry, const Size &size, int pairs) {
  std::vector<double> loop, graph_fps, ratio, cores, band;
  for (int i = 0; i < pairs; ++i) {
    using bench::HostWait;
    const double spin =
        bench::hand_written_loop(size.width, size.height, size.frames, HostWait::Spin);
    const double block =
        bench::hand_written_loop(size.width, size.height, size.frames, HostWait::Block);
    const auto figure = run_graph(registry, size, element_wise(), true);
    loop.push_back(std::max(spin, block));
    graph_fps.push_back(figure.frames_per_second);
    ratio.push_back(figure.frames_per_second / loop.back());
    cores.push_back(figure.busy_cores);
  }
  for (int i = 0; i < std::min(pairs, 3); ++i)
    band.push_back(
        run_graph(registry, {size.width, size.height, size.frames / 2}, band_pass(), false)
            .frames_per_second);
  std::printf(
      "%5zu x %-5zu | loop %9.0f | graph %9.0f | ratio %.3f | cores %.2f | band-pass %9.0f\n",
      size.width, size.height, median(loop), median(graph_fps), median(ratio), median(cores),
      median(band));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  int pairs = argc > 1 ? std::atoi(argv[1]) : 0;
  if (pairs <= 0)
    pairs = 5;
  try {
    core::Registry registry;
    register_builtin_tasks(registry);
    registry.register_sync("PinnedSource", std::make_unique<PinnedSourceFactory>());
    registry.register_sync("CheckingSink", std::make_unique<CheckingSinkFactory>());
    std::printf(
        "%s, frames per second, medians of %d\n", runtime::cuda_device().name().c_str(), pairs);
    for (const auto &size : sizes)
      measure(registry, size, pairs);
  } catch (const core::DeviceError &error) {
    std::printf("skipped: %s\n", error.what());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "bench_pipeline: %s\n", error.what());
    return 1;
  }
  return 0;
}
