// SPDX-License-Identifier: LGPL-2.1-or-later
//   input thread: ring ──► push ──► graph ──► pop :output thread
#include "holoflow/tools/graph_bench.hh"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "holoflow/runtime/graph_runner.hh"
#include "holoflow/tasks/input_output/frame_layout.hh"
#include "holoflow/tools/first_error.hh"
#include "holoflow/tools/measuring.hh"

namespace holoflow::tools {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t ring = 8;

/// Noise; real numbers lie between 0 and 1.
void fill(std::byte *data, const core::TDesc &tensor) {
  std::minstd_rand random(1);
  if (tensor.dtype == core::DType::U8 || tensor.dtype == core::DType::U16) {
    for (size_t i = 0; i < tensor.num_bytes(); ++i)
      data[i] = static_cast<std::byte>(random() >> 8);
    return;
  }
  std::uniform_real_distribution<float> values(0.0f, 1.0f);
  for (size_t i = 0; i + sizeof(float) <= tensor.num_bytes(); i += sizeof(float)) {
    const float value = values(random);
    std::memcpy(data + i, &value, sizeof(value));
  }
}

/// When the last frames were pushed, by sequence number. One thread writes; a reader has the frame
/// in hand, which came to it through the graph.
class PushTimes {
public:
  void set(uint64_t sequence) {
    times_[sequence % times_.size()].store(
        Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }
  [[nodiscard]] double microseconds_since(uint64_t sequence) const {
    const Clock::time_point then(
        Clock::duration(times_[sequence % times_.size()].load(std::memory_order_relaxed)));
    return std::chrono::duration<double, std::micro>(Clock::now() - then).count();
  }

private:
  // No graph holds as many frames.
  std::array<std::atomic<Clock::rep>, 65536> times_{};
};

class BenchRun {
public:
  BenchRun(runtime::GraphRunner &runner, size_t inputs) : runner_(runner), inputs_(inputs) {}

  void feed(
      const std::string &input, const core::TDesc &tensor,
      const std::vector<runtime::MemoryBlock> &frames, const RunLength &length) {
    guard([&] {
      const size_t frames_each = tasks::frame_count(tensor);
      const auto deadline = Clock::now() +
          std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(length.seconds));
      size_t pushed = 0;
      for (;; ++pushed) {
        if (length.frames != 0 ? pushed * frames_each >= length.frames : Clock::now() >= deadline)
          break;
        for (size_t i = 0; inputs_ == 1 && i < frames_each; ++i)
          times_.set(pushed * frames_each + i);
        // Lent again before it came back: everyone only reads.
        if (!runner_.push(input, frames[pushed % ring].get(), tensor))
          break;
      }
      runner_.end(input);
      frames_in += pushed * frames_each;
      bytes_in += pushed * tensor.num_bytes();
    });
  }

  void drain(const std::string &output, std::vector<double> &latencies) {
    guard([&] {
      while (const auto tensor = runner_.pop(output)) {
        frames_out += tasks::frame_count(tensor->desc());
        bytes_out += tensor->desc().num_bytes();
        if (const auto newest = newest_frame(tensor->records()); newest && inputs_ == 1)
          latencies.push_back(times_.microseconds_since(*newest));
      }
    });
  }

  void rethrow() { error_.rethrow(); }

  std::atomic<size_t> frames_in = 0, frames_out = 0, bytes_in = 0, bytes_out = 0;

private:
  static std::optional<uint64_t> newest_frame(std::span<const core::FrameRecord> records) {
    for (auto record = records.rbegin(); record != records.rend(); ++record)
      if (record->sequence != core::FrameRecord::unknown_sequence &&
          (record->flags & core::FrameRecord::Padding) == 0)
        return record->sequence;
    return std::nullopt;
  }

  template <typename Body> void guard(Body &&body) {
    try {
      body();
    } catch (...) {
      if (error_.keep(std::current_exception()))
        runner_.stop();
    }
  }

  runtime::GraphRunner &runner_;
  const size_t inputs_;
  PushTimes times_;
  FirstError error_;
};

std::vector<std::string> outputs_of(const runtime::CompilerOutput &compiled) {
  std::vector<std::string> names;
  for (const auto &node : compiled.graph.nodes)
    if (node.spec.kind == "Output")
      names.push_back(node.spec.name);
  return names;
}

}  // namespace

GraphBench::GraphBench(core::GraphSpec graph, runtime::CompilerConfig config)
    : graph_(std::move(graph)), config_(std::move(config)) {}

void GraphBench::make_frames(const runtime::CompileReport &report) {
  device_name_ = report.device;
  device_index_ = report.device_index;
  if (!frames_.empty())
    return;
  auto &device = device_index_ < 0 ? runtime::host_device() : runtime::cuda_device(device_index_);
  for (const auto &[input, tensor] : config_.inputs) {
    auto &blocks = frames_[input];
    for (size_t i = 0; i < ring; ++i) {
      blocks.emplace_back(device, core::MemLoc::Host, tensor.num_bytes());
      if (i == 0)
        fill(blocks[0].get(), tensor);
      else
        std::memcpy(blocks[i].get(), blocks[0].get(), tensor.num_bytes());
    }
  }
}

GraphFigures GraphBench::run(const RunLength &length) {
  return run(length, nullptr);
}

GraphFigures GraphBench::run_measured(const RunLength &length, const runtime::DeviceRates &rates) {
  return run(length, &rates);
}

double GraphBench::idle_cores(double seconds) {
  auto runner = runtime::GraphRunner::from_spec(graph_, config_);
  const Stopwatch stopwatch;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double cores = stopwatch.busy_cores();
  runner.stop();
  return cores;
}

GraphFigures GraphBench::run(
    const RunLength &length, const runtime::DeviceRates *measured_against) {
  auto runner = runtime::GraphRunner::from_spec(graph_, config_);
  make_frames(runner.compiled().report);
  const auto outputs = outputs_of(runner.compiled());
  std::vector<std::vector<double>> latencies(outputs.size());
  for (auto &values : latencies)
    values.reserve(length.frames);
  const auto run = std::make_unique<BenchRun>(runner, frames_.size());  // large for a stack
  GraphFigures figures;
  if (measured_against != nullptr) {
    runner.scheduler().set_device_rates(*measured_against);
    begin_metrics(runner.scheduler());
  }
  {
    const Stopwatch stopwatch;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < outputs.size(); ++i)
      threads.emplace_back([&, i] { run->drain(outputs[i], latencies[i]); });
    for (const auto &[input, blocks] : frames_)
      threads.emplace_back([&, name = input, from = &blocks] {
        run->feed(name, config_.inputs.at(name), *from, length);
      });
    for (auto &thread : threads)
      thread.join();
    run->rethrow();
    runner.scheduler().wait();
    figures.seconds = stopwatch.seconds();
    figures.busy_cores = stopwatch.busy_cores();
  }
  if (measured_against != nullptr)
    figures.metrics = take_metrics(runner.scheduler());
  figures.frames_in = run->frames_in;
  figures.frames_out = run->frames_out;
  figures.bytes_in = run->bytes_in;
  figures.bytes_out = run->bytes_out;
  for (const auto &values : latencies)
    figures.latencies_us.insert(figures.latencies_us.end(), values.begin(), values.end());
  figures.ledger = runner.scheduler().ledger();
  return figures;
}

}  // namespace holoflow::tools
