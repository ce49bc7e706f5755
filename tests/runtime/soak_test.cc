// SPDX-License-Identifier: LGPL-2.1-or-later
// Many tiny frames through five sections with fan-out and fan-in, random delays, random ends: in
// order, none lost, every ledger balanced, memory flat.
//
//   HOLOFLOW_SOAK_FRAMES=10000000 test_runtime --gtest_filter='Soak.*'
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/compiler.hh"
#include "tests/support/fake_tasks.hh"
#include "tests/support/gpu.hh"
#include "tests/support/watchdog.hh"

namespace holoflow::test {

namespace {

using Device = runtime::CompilerConfig::Device;

/// Now and then a task takes longer than its neighbours.
class Delay {
public:
  explicit Delay(unsigned seed) : random_(seed) {}
  void operator()() {
    if (random_() % 32 != 0)
      return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random_() % 30);
    while (std::chrono::steady_clock::now() < end) {
    }
  }

private:
  std::mt19937 random_;
};

struct Round {
  uint64_t length = 0;  ///< frames of the source
  uint64_t stop_at = 0;  ///< the sink stops the run there
  uint64_t came = 0;
  uint64_t wrong = 0;
};

class Soak {
public:
  explicit Soak(Device device) {
    register_builtin_tasks(registry_);
    add_source();
    add_jitter();
    add_sink();
    runtime::CompilerConfig config;
    config.device = device;
    output_ = runtime::Compiler(registry_, config).compile(graph());
    scheduler_ =
        std::make_unique<runtime::Scheduler>(output_->graph, output_->sections, output_->resources);
  }

  /// One run to its end; checks what came and what the ledgers say.
  void run(uint64_t length, uint64_t stop_at) {
    const Watchdog watchdog("Soak: a run of " + std::to_string(length) + " frames does not end");
    round_ = {length, stop_at, 0, 0};
    sent_ = 0;
    scheduler_->start();
    // Snapshots while it runs.
    for (int i = 0; i < 3; ++i)
      expect_balance();
    scheduler_->wait();
    expect_balance();
    EXPECT_EQ(round_.wrong, 0u);
    const auto ledger = scheduler_->ledger();
    ASSERT_EQ(ledger.size(), 5u);
    if (stop_at <= length && stop_at > 0)
      return;
    EXPECT_EQ(round_.came, length);
    for (const auto &[name, node] : ledger) {
      EXPECT_EQ(node.entered, length) << name;
      EXPECT_EQ(node.left, length) << name;
    }
  }

  [[nodiscard]] uint64_t came() const { return round_.came; }

private:
  static core::TDesc frame() { return {{1, 1, 4}, core::DType::F32, core::MemLoc::Host}; }

  void expect_balance() {
    for (const auto &[name, node] : scheduler_->ledger()) {
      uint64_t dropped = 0;
      for (const auto &[reason, count] : node.dropped)
        dropped += count;
      EXPECT_EQ(node.entered, node.left + dropped + node.skipped + node.failed + node.held) << name;
    }
  }

  // Value of frame k: k mod 1000.
  void add_source() {
    register_fake(
        registry_, "Count",
        SyncFake{
            .infer =
                [](auto, const auto &) {
                  core::InferResult result;
                  result.output_descs = {frame()};
                  return result;
                },
            .create =
                [this](auto, const auto &, const auto &) {
                  return std::make_unique<FunctionTask>(
                      [this, delay = Delay(1)](core::SyncCtx &ctx) mutable {
                        delay();
                        if (sent_ == round_.length)
                          return OpResult::Eof;
                        auto *values = reinterpret_cast<float *>(ctx.outputs[0].data());
                        std::fill_n(values, 4, static_cast<float>(sent_++ % 1000));
                        return OpResult::Ok;
                      });
                }});
  }

  // Hands its input on after a while, wherever it lies.
  void add_jitter() {
    register_fake(
        registry_, "Jitter",
        SyncFake{
            .infer =
                [](std::span<const TDesc> inputs, const auto &) {
                  core::InferResult result;
                  result.input_descs = {inputs[0]};
                  result.output_descs = {inputs[0]};
                  result.in_place = {{0, 0, true, false}};
                  return result;
                },
            .create =
                [](auto, const nlohmann::json &settings, const auto &) {
                  return std::make_unique<FunctionTask>(
                      [delay = Delay(settings.at("seed").get<unsigned>())](auto &) mutable {
                        delay();
                        return OpResult::Ok;
                      });
                }});
  }

  void add_sink() {
    register_fake(
        registry_, "Compare",
        SyncFake{
            .infer =
                [](std::span<const TDesc> inputs, const auto &) {
                  core::InferResult result;
                  result.input_descs = {inputs[0]};
                  return result;
                },
            .create =
                [this](auto, const auto &, const auto &) {
                  return std::make_unique<FunctionTask>(
                      [this, delay = Delay(2)](core::SyncCtx &ctx) mutable {
                        delay();
                        const auto *values = reinterpret_cast<const float *>(ctx.inputs[0].data());
                        const auto want = static_cast<float>(4 * (round_.came % 1000) + 1);
                        round_.wrong += values[0] != want || values[3] != want;
                        if (++round_.came == round_.stop_at)
                          scheduler_->request_stop();
                        return OpResult::Ok;
                      });
                }});
  }

  static core::GraphSpec graph() {
    return core::GraphSpec::from_json(R"({"nodes": {
        "source": {"type": "Count"}, "up": {"type": "Upload"}, "q1": {"type": "BatchQueue"},
        "twice": {"type": "Affine", "params": {"scale": 2}},
        "j1": {"type": "Jitter", "params": {"seed": 3}},
        "q2": {"type": "BatchQueue", "params": {"target_capacity": 2}},
        "q3": {"type": "BatchQueue", "params": {"target_capacity": 7}},
        "abs": {"type": "Abs"}, "j2": {"type": "Jitter", "params": {"seed": 4}},
        "one": {"type": "Affine", "params": {"offset": 1}},
        "j3": {"type": "Jitter", "params": {"seed": 5}},
        "q4": {"type": "BatchQueue", "params": {"target_capacity": 3}},
        "q5": {"type": "BatchQueue", "params": {"target_capacity": 1}},
        "sum": {"type": "Add"}, "down": {"type": "Download"}, "sink": {"type": "Compare"}},
      "edges": ["source -> up", "up -> q1", "q1 -> twice", "twice -> j1", "j1 -> q2", "j1 -> q3",
        "q2 -> abs", "abs -> j2", "j2 -> q4", "q3 -> one", "one -> j3", "j3 -> q5",
        "q4 -> sum:0", "q5 -> sum:1", "sum -> down", "down -> sink"]})");
  }

  core::Registry registry_;
  Round round_;
  uint64_t sent_ = 0;
  std::unique_ptr<runtime::CompilerOutput> output_;
  std::unique_ptr<runtime::Scheduler> scheduler_;
};

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void soak(Device device) {
  const char *wanted = std::getenv("HOLOFLOW_SOAK_FRAMES");
  const uint64_t frames = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 20'000;
  const uint64_t longest = std::max<uint64_t>(frames / 100, 500);
  Soak graph(device);
  std::mt19937 random(7);
  uint64_t came = 0, at_first = 0;
  while (came < frames && !testing::Test::HasFailure()) {
    const uint64_t length = random() % longest;
    graph.run(length, random() % 2 == 0 ? random() % longest : 0);
    came += graph.came() + 1;
    if (at_first == 0 && came > frames / 5)
      at_first = resident_bytes();
  }
  // A short run is over before allocators and tools around it have grown to their size.
  if (frames < 1'000'000)
    return;
  const auto at_last = resident_bytes();
  testing::Test::RecordProperty("frames", std::to_string(came));
  EXPECT_LT(at_last, at_first + 8 * 1024 * 1024) << "memory grows";
}

}  // namespace

TEST(Soak, LosesNothing) {
  soak(Device::Cpu);
}

TEST(Soak, LosesNothingOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  soak(Device::Cuda);
}

}  // namespace holoflow::test
