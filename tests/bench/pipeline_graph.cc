// SPDX-License-Identifier: LGPL-2.1-or-later
// Source and sink of the measured graph, and how it is run.
#include "pipeline_graph.hh"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/device/hand_over.hh"
#include "holoflow/tools/measuring.hh"

namespace holoflow::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// Byte `i` of every frame.
int pattern(size_t i) {
  return static_cast<uint8_t>(i * 7919 >> 3);
}

/// Lends page-locked frames in turn, without writing them.
///
/// Released slots carry a mark behind the work that reads them; a slot is lent again once its mark
/// has come, so nobody waits for the device at release.
class PinnedSource final : public core::ISyncTask {
public:
  PinnedSource(const core::TDesc &desc, size_t frames, const core::SyncCreateCtx &ctx)
      : device_(ctx.device < 0 ? runtime::host_device() : runtime::cuda_device(ctx.device)),
        marks_(runtime::StreamMarks::of(device_, ctx.stream)), frames_(frames) {
    const runtime::DeviceScope scope(device_);
    for (size_t i = 0; i < ring; ++i) {
      auto &slot = slots_.emplace_back();
      slot.memory = runtime::MemoryBlock(device_, core::MemLoc::Host, desc.num_bytes());
      for (size_t k = 0; i == 0 && k < desc.num_bytes(); ++k)
        slot.memory.get()[k] = static_cast<std::byte>(pattern(k));
      if (i > 0)
        std::memcpy(slot.memory.get(), slots_[0].memory.get(), desc.num_bytes());
    }
    times.reserve(frames);
  }

  core::OpResult execute(core::SyncCtx &) override {
    if (lent_ == frames_)
      return core::OpResult::Eof;
    if (lent_ - released_ == ring)
      throw std::logic_error("internal error: more frames are lent than the ring has");
    times.push_back(Clock::now());
    auto &slot = slots_[lent_ % ring];
    if (lent_ >= ring)
      wait_for(lent_ - ring);
    ++lent_;
    storage_access().owned_output_storage(0).ptr = slot.memory.get();
    return core::OpResult::Ok;
  }

  /// The oldest; younger ones may still be lent.
  void release_output(int) override {
    slots_[released_ % ring].read = marks_->mark();
    ++released_;
  }

  std::vector<Clock::time_point> times;  ///< when each frame left

private:
  static constexpr size_t ring = 8;  // as many as the hand-written loop has
  struct Slot {
    runtime::MemoryBlock memory;
    runtime::StreamPosition read;  ///< everyone has read it
  };

  /// Until loan `number` has been read; a younger one answers for it too.
  void wait_for(size_t number) {
    if (number < known_)
      return;
    const size_t younger = std::min(number + ring / 2 - 1, released_ - 1);
    // One wait for the younger serves several loans; four are still out behind it.
    if (const auto event = slots_[younger % ring].read.event; event != nullptr)
      device_.synchronize(event);
    known_ = younger + 1;
  }

  runtime::Device &device_;
  const std::shared_ptr<runtime::StreamMarks> marks_;  // with the section and its other tasks
  std::vector<Slot> slots_;
  const size_t frames_;
  size_t lent_ = 0;
  size_t released_ = 0;
  size_t known_ = 0;  // loans before it have been read
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
    result.hands_over_by_event = true;
    return result;
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc> inputs, const nlohmann::json &settings,
      const core::SyncCreateCtx &ctx) const override {
    return std::make_unique<PinnedSource>(
        infer(inputs, settings).output_descs[0], settings.at("frames").get<size_t>(), ctx);
  }
};

/// Counts frames and, where asked to, checks the first bytes of each: 2·x + 1, saturated.
class CheckingSink final : public core::ISyncTask {
public:
  CheckingSink(bool element_wise, size_t frames) : element_wise_(element_wise) {
    times.reserve(frames);
  }
  core::OpResult execute(core::SyncCtx &ctx) override {
    times.push_back(Clock::now());
    const auto *data = reinterpret_cast<const uint8_t *>(ctx.inputs[0].data());
    for (size_t i = 0; element_wise_ && i < 16; ++i)
      if (data[i] != std::min(2 * pattern(i) + 1, 255))
        throw std::runtime_error("wrong result in frame " + std::to_string(times.size()));
    if (on_frame)
      on_frame(times.size());
    return core::OpResult::Ok;
  }
  std::vector<Clock::time_point> times;  ///< when each frame came
  std::function<void(size_t)> on_frame;

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
    return std::make_unique<CheckingSink>(
        settings.at("check").get<bool>(), settings.at("frames").get<size_t>());
  }
};

core::GraphSpec chain_of(
    const core::NodeSpec &source, const std::vector<core::NodeSpec> &tasks,
    const core::NodeSpec &sink) {
  core::GraphSpec spec;
  std::vector<core::NodeSpec> nodes{
      source, {"upload", "Upload", {}}, {"queue_in", "BatchQueue", {{"target_capacity", 8}}}};
  nodes.insert(nodes.end(), tasks.begin(), tasks.end());
  nodes.push_back({"queue_out", "BatchQueue", {{"target_capacity", 8}}});
  nodes.push_back({"download", "Download", {}});
  nodes.push_back(sink);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0)
      spec.connect(nodes[i - 1].name, 0, nodes[i].name, 0);
    spec.add_node(nodes[i]);
  }
  return spec;
}

}  // namespace

std::vector<core::NodeSpec> element_wise_tasks() {
  return {
      {"to_float", "Conversion", {{"target", "F32"}}},
      {"scale", "Affine", {{"scale", 2.0}, {"offset", 1.0}}},
      {"to_bytes", "Conversion", {{"target", "U8"}}}};
}

std::vector<core::NodeSpec> band_pass_tasks() {
  return {
      {"to_float", "Conversion", {{"target", "F32"}}},
      {"band", "Filter2D", {{"r_inner", 4}, {"s_inner", 2}, {"r_outer", 60}, {"s_outer", 8}}},
      {"normalize", "Normalize", {}},
      {"to_bytes", "Conversion", {{"target", "U8"}, {"strategy", "Scaled"}}}};
}

std::vector<core::NodeSpec> fourier_tasks() {
  return {
      {"to_float", "Conversion", {{"target", "F32"}}},
      {"rows", "RFFT", {}},
      {"rows_back", "IRFFT", {}},
      {"half", "RFFT2", {}},
      {"half_back", "IRFFT2", {}},
      {"whole", "FFT2", {}},
      {"to_centre", "FFTShift", {}},
      {"from_centre", "IFFTShift", {}},
      {"whole_back", "IFFT2", {}},
      {"band", "Filter2D", {{"r_outer", 5}}},
      {"longer_columns", "FFT", {{"axis", 1}, {"n", 26}}},
      {"columns_back", "IFFT", {{"axis", 1}}},
      {"prime_rows", "FFT", {{"n", 997}}},
      {"shorter_rows", "IRFFT", {{"n", 9}}},
      {"real_rows", "FFT", {}},
      {"to_bytes", "Conversion", {{"target", "U8"}, {"strategy", "Modulus"}}}};
}

std::vector<core::NodeSpec> doppler_tasks() {
  return {
      {"to_float", "Conversion", {{"target", "F32"}}},
      {"frames", "Reshape", {{"shape", {8, -1, 1}}}},
      {"spectrum", "FFT", {{"axis", 0}}},
      {"power", "Conversion", {{"target", "F32"}, {"strategy", "Modulus"}}},
      {"mean", "Mean", {{"axis", 0}, {"keepdims", true}}},
      {"to_bytes", "Conversion", {{"target", "U8"}}}};
}

std::vector<core::NodeSpec> tiny_tasks(size_t count) {
  std::vector<core::NodeSpec> tasks{{"to_float", "Conversion", {{"target", "F32"}}}};
  for (size_t i = 1; i + 1 < count; ++i)
    tasks.push_back({"affine" + std::to_string(i), "Affine", {{"scale", 1.0}, {"offset", 0.5}}});
  tasks.push_back({"to_bytes", "Conversion", {{"target", "U8"}}});
  return tasks;
}

core::GraphSpec pipeline_graph(
    const PipelineSize &size, const std::vector<core::NodeSpec> &tasks, ResultCheck check) {
  return chain_of(
      {"source",
       "PinnedSource",
       {{"width", size.width}, {"height", size.height}, {"frames", size.frames}}},
      tasks,
      {"sink",
       "CheckingSink",
       {{"check", check == ResultCheck::ElementWise}, {"frames", size.frames}}});
}

core::GraphSpec application_graph(const std::vector<core::NodeSpec> &tasks) {
  return chain_of({"source", "Input", {}}, tasks, {"sink", "Output", {}});
}

void register_pipeline_tasks(core::Registry &registry) {
  register_builtin_tasks(registry);
  registry.register_sync("PinnedSource", std::make_unique<PinnedSourceFactory>());
  registry.register_sync("CheckingSink", std::make_unique<CheckingSinkFactory>());
}

Pipeline::Pipeline(
    core::Registry &registry, const PipelineSize &size, const std::vector<core::NodeSpec> &tasks,
    ResultCheck check, const runtime::CompilerConfig &config)
    : frames_(size.frames) {
  compiled_ = runtime::Compiler(registry, config).compile(pipeline_graph(size, tasks, check));
}

void Pipeline::set_on_frame(std::function<void(size_t)> callback) {
  dynamic_cast<CheckingSink &>(*compiled_->resources.tasks.at("sink")).on_frame =
      std::move(callback);
}

const std::vector<Clock::time_point> &Pipeline::arrivals() const {
  const auto &times =
      dynamic_cast<const CheckingSink &>(*compiled_->resources.tasks.at("sink")).times;
  if (times.size() != frames_)
    throw std::runtime_error(
        "the graph lost frames: " + std::to_string(times.size()) + " of " +
        std::to_string(frames_) + " came");
  return times;
}

PipelineFigures Pipeline::run() {
  runtime::Scheduler scheduler(compiled_->graph, compiled_->sections, compiled_->resources);
  const tools::Stopwatch stopwatch;
  scheduler.start();
  scheduler.wait();
  PipelineFigures figures;
  figures.busy_cores = stopwatch.busy_cores();
  figures.frames_per_second = static_cast<double>(frames_) / stopwatch.seconds();
  const auto &left =
      dynamic_cast<const PinnedSource &>(*compiled_->resources.tasks.at("source")).times;
  const auto &came = arrivals();
  std::vector<double> latencies;
  latencies.reserve(frames_);
  for (size_t i = 0; i < frames_; ++i)
    latencies.push_back(std::chrono::duration<double, std::micro>(came[i] - left[i]).count());
  figures.median_latency_us = tools::quantile(latencies, 0.5);
  figures.late_latency_us = tools::quantile(std::move(latencies), 0.99);
  return figures;
}

std::vector<double> Pipeline::compare_metrics(size_t frames_between) {
  runtime::Scheduler scheduler(compiled_->graph, compiled_->sections, compiled_->resources);
  // Off in even stretches, on in odd ones.
  set_on_frame([&](size_t frame) {
    if (frame % frames_between != 0)
      return;
    if (frame / frames_between % 2 == 1)
      (void)scheduler.metrics();
    else
      scheduler.stop_metrics();
  });
  scheduler.start();
  scheduler.wait();
  const auto &came = arrivals();
  const auto length = [&](size_t stretch) {
    const auto last = std::min((stretch + 1) * frames_between, came.size()) - 1;
    return std::chrono::duration<double>(came[last] - came[stretch * frames_between - 1]).count();
  };
  std::vector<double> ratios;
  for (size_t on = 3; (on + 2) * frames_between <= came.size(); on += 2)
    ratios.push_back((length(on - 1) + length(on + 1)) / 2 / length(on));
  return ratios;
}

void Pipeline::profile() {
  runtime::Scheduler scheduler(
      compiled_->graph, compiled_->sections, compiled_->resources, std::chrono::milliseconds(0));
  (void)scheduler.metrics();
  (void)scheduler.section_metrics();
  scheduler.start();
  scheduler.wait();
  std::printf("where the time of each section goes, in µs per iteration\n");
  for (const auto &[name, section] : scheduler.section_metrics()) {
    const auto each = [rate = section.iterations_per_second](double share) {
      return 1e6 * share / rate;
    };
    std::printf(
        "  %-10s %9.0f/s | host %.1f, upstream %.1f, downstream %.1f, device %.1f | of its stream: "
        "upload %.1f, compute %.1f, download %.1f | limiter: %s\n",
        name.c_str(), section.iterations_per_second, each(section.host_share),
        each(section.upstream_share), each(section.downstream_share), each(section.device_share),
        each(section.upload_share), each(section.compute_share), each(section.download_share),
        section.limiter.c_str());
  }
  for (const auto &[name, node] : scheduler.metrics())
    std::printf(
        "  %-10s host %.2f µs, device %.2f µs, waited for %.2f %%, holds %.1f frames\n",
        name.c_str(), 1e3 * node.average_duration_ms, 1e3 * node.average_device_duration_ms,
        100 * node.waiting_share, node.average_fill);
}

}  // namespace holoflow::bench
