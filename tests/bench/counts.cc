// SPDX-License-Identifier: LGPL-2.1-or-later
// What a frame costs in calls: each CUDA function and host allocations, counted in the steady
// state.
//
//   bench_counts [FRAMES [WARM_UP]] [--size WxH]
//                [--tasks element-wise|band-pass|fourier|doppler]
//                [--device cuda|cpu] [--ends tasks|application] [--json FILE]
//
// --ends: whether frames come from and go to tasks of the graph (default), or are pushed and popped
// by threads of an application, through Input and Output.
//
// Runs itself again with the counting shim preloaded and the CUDA module of tests/shared_cudart,
// both of which it expects where the build tree and the GPU bundle have them. FRAMES (default 5000)
// are counted behind WARM_UP (default 500) that are not. Exit status 2 where something happened
// that the steady state must not do.
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "arguments.hh"
#include "counting_shim.hh"
#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/graph_runner.hh"
#include "holoflow/tools/measuring.hh"
#include "holoflow/tools/number_text.hh"
#include "pipeline_graph.hh"
#include "under_shim.hh"

namespace {

using namespace holoflow;

// The last frames come while the sections before have ended: they are not the steady state.
constexpr size_t frames_at_the_end = 32;

/// The preloaded shim.
class Shim {
public:
  /// Allocates nothing.
  struct Snapshot {
    std::array<char, 8192> text{};
  };
  void take(Snapshot &snapshot) const { report_(snapshot.text.data(), snapshot.text.size()); }

private:
  decltype(&holoflow_shim_report) report_ =
      bench::shim_function<decltype(&holoflow_shim_report)>("holoflow_shim_report");
};

std::map<std::string, double> counts_of(const Shim::Snapshot &snapshot) {
  std::map<std::string, double> counts;
  std::istringstream lines(snapshot.text.data());
  for (std::string line; std::getline(lines, line);) {
    const size_t blank = line.rfind(' ');
    counts[line.substr(0, blank)] = std::stod(line.substr(blank + 1));
  }
  return counts;
}

std::map<std::string, double> per_frame(
    const Shim::Snapshot &begin, const Shim::Snapshot &end, size_t frames) {
  auto counts = counts_of(end);
  for (const auto &[name, count] : counts_of(begin))
    counts[name] -= count;
  counts["malloc"] -= counts["malloc in CUDA"];  // what is left is the library's
  for (auto &[name, count] : counts)
    count /= static_cast<double>(frames);
  return counts;
}

/// What must not happen while frames flow.
bool is_forbidden(std::string_view name) {
  return name == "malloc" || name.starts_with("cudaMalloc") || name.starts_with("cudaHost") ||
      name.starts_with("cudaFree") || name.starts_with("cudaGraphInstantiate") ||
      name == "cudaStreamSynchronize" || name == "cudaDeviceSynchronize" || name == "cudaMemcpy" ||
      name.find("Create") != std::string_view::npos ||
      name.find("Capture") != std::string_view::npos ||
      // Recorded work is read once; from then on only what moves is set.
      (name.find("Graph") != std::string_view::npos && name.find("Get") != std::string_view::npos);
}

struct Work {
  bench::PipelineSize size;
  size_t warm_up;
  std::vector<core::NodeSpec> tasks;
  bench::ResultCheck check = bench::ResultCheck::None;
  runtime::CompilerConfig::Device device;
  bool application;  // pushes and pops

  [[nodiscard]] size_t last() const { return size.frames - frames_at_the_end; }
};

/// What was counted when.
struct Counted {
  Shim::Snapshot begin, end;
  std::string device;
  double frames_per_second = 0;
  bool on_gpu = false;
};

void choose_tasks(Work &work, const std::string &name) {
  if (name.empty() || name == "element-wise") {
    work.tasks = bench::element_wise_tasks();
    work.check = bench::ResultCheck::ElementWise;
  } else if (name == "band-pass") {
    work.tasks = bench::band_pass_tasks();
  } else if (name == "fourier") {
    work.tasks = bench::fourier_tasks();
  } else if (name == "doppler") {
    work.tasks = bench::doppler_tasks();
  } else {
    throw std::invalid_argument(
        "--tasks: expected element-wise, band-pass, fourier or doppler, got " + name);
  }
}

Work work_of(const bench::Arguments &arguments) {
  Work work{};
  const auto size_text = arguments.text("--size");
  const auto size =
      size_text.empty() ? tools::FrameSize{512, 512} : tools::parse_frame_size(size_text);
  work.warm_up = arguments.number(1, 500);
  work.size = {
      size.width, size.height, arguments.number(0, 5000) + work.warm_up + frames_at_the_end};
  choose_tasks(work, arguments.text("--tasks"));
  const auto device = arguments.text("--device");
  if (!device.empty() && device != "cuda" && device != "cpu")
    throw std::invalid_argument("--device: expected cuda or cpu, got " + device);
  using Device = runtime::CompilerConfig::Device;
  work.device = device == "cpu" ? Device::Cpu : Device::Cuda;
  const auto ends = arguments.text("--ends");
  if (!ends.empty() && ends != "tasks" && ends != "application")
    throw std::invalid_argument("--ends: expected tasks or application, got " + ends);
  work.application = ends == "application";
  return work;
}

void print(const std::map<std::string, double> &counts) {
  for (const auto &[name, count] : counts)
    if (count != 0)
      std::printf("  %-32s %9.4f%s\n", name.c_str(), count, is_forbidden(name) ? "   (!)" : "");
}

/// What happened of what must not.
std::vector<std::string> violations_of(const std::map<std::string, double> &counts) {
  std::vector<std::string> names;
  for (const auto &[name, count] : counts)
    if (count > 0 && is_forbidden(name))
      names.push_back(name);
  return names;
}

Counted count_tasks(const Work &work) {
  const Shim shim;
  core::Registry registry;
  bench::register_pipeline_tasks(registry);
  bench::Pipeline pipeline(registry, work.size, work.tasks, work.check, {.device = work.device});
  Counted counted;
  pipeline.set_on_frame([&](size_t frame) {
    if (frame == work.warm_up)
      shim.take(counted.begin);
    if (frame == work.last())
      shim.take(counted.end);
  });
  counted.frames_per_second = pipeline.run().frames_per_second;
  const auto &report = pipeline.compiled().report;
  counted.device = report.device;
  counted.on_gpu = report.device_index >= 0;
  return counted;
}

Counted count_application(const Work &work) {
  const Shim shim;
  const core::TDesc tensor(
      {1, work.size.height, work.size.width}, core::DType::U8, core::MemLoc::Host);
  runtime::CompilerConfig config;
  config.device = work.device;
  config.inputs["source"] = tensor;
  auto runner = runtime::GraphRunner::from_spec(bench::application_graph(work.tasks), config);
  Counted counted;
  const auto &report = runner.compiled().report;
  counted.device = report.device;
  counted.on_gpu = report.device_index >= 0;
  auto &device =
      counted.on_gpu ? runtime::cuda_device(report.device_index) : runtime::host_device();
  const runtime::MemoryBlock frame(device, core::MemLoc::Host, tensor.num_bytes());
  std::memset(frame.get(), 1, tensor.num_bytes());
  const std::string source = "source", sink = "sink";
  const tools::Stopwatch stopwatch;
  std::jthread pusher([&] {
    // The same memory again before it came back: everyone only reads.
    for (size_t i = 0; i < work.size.frames && runner.push(source, frame.get(), tensor); ++i)
      ;
    runner.end();
  });
  size_t came = 0;
  // A slow application has more tensors out at once than a fast one, and memory is made for as many
  // as there ever were: with these at the beginning there is enough, however slow the machine.
  constexpr size_t tensors_out_at_once = 32;
  std::vector<runtime::OutputTensor> out_at_once;
  while (auto popped = runner.pop(sink)) {
    if (++came == work.warm_up)
      shim.take(counted.begin);
    if (came <= tensors_out_at_once)
      out_at_once.push_back(std::move(*popped));
    else
      out_at_once.clear();
    if (came == work.last())
      shim.take(counted.end);
  }
  if (came != work.size.frames)
    throw std::runtime_error("the graph lost frames: " + std::to_string(came) + " came");
  counted.frames_per_second = static_cast<double>(came) / stopwatch.seconds();
  return counted;
}

/// Whether nothing happened that must not.
bool count(const bench::Arguments &arguments) {
  const Work work = work_of(arguments);
  const Counted counted = work.application ? count_application(work) : count_tasks(work);
  if (counted.on_gpu && !counts_of(counted.end).contains("cudaMemcpyAsync"))
    throw std::runtime_error(
        "no copy was counted: the CUDA module that was loaded is not that of tests/shared_cudart");
  const size_t frames = work.last() - work.warm_up;
  const auto counts = per_frame(counted.begin, counted.end, frames);
  const auto violations = violations_of(counts);
  std::printf(
      "%s, %zu x %zu, %.0f frames per second; per frame, over %zu frames behind %zu:\n",
      counted.device.c_str(), work.size.width, work.size.height, counted.frames_per_second, frames,
      work.warm_up);
  print(counts);
  std::printf(
      violations.empty() ? "nothing that the steady state must not do\n"
                         : "(!): the steady state must not do this\n");
  if (const auto file = arguments.text("--json"); !file.empty()) {
    auto report = tools::new_report("bench_counts", counted.device);
    report["width"] = work.size.width;
    report["height"] = work.size.height;
    report["frames"] = frames;
    report["frames_per_second"] = counted.frames_per_second;
    report["per_frame"] = counts;
    report["forbidden"] = violations;
    tools::write_report(file, report);
  }
  return violations.empty();
}

}  // namespace

int main(int argc, char **argv) {
  try {
    const auto arguments =
        bench::parse_arguments(argc, argv, {"--size", "--tasks", "--device", "--ends", "--json"});
    if (!bench::runs_under_shim())
      bench::run_again_under_shim("..", argv);
    return count(arguments) ? 0 : 2;
  } catch (const core::DeviceError &error) {
    std::printf("skipped: %s\n", error.what());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "bench_counts: %s\n", error.what());
    return 1;
  }
  return 0;
}
