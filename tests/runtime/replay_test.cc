// SPDX-License-Identifier: LGPL-2.1-or-later
// Replay never changes a result: graphs with and without it give the same bytes.
//
//   HOLOFLOW_SOAK_FRAMES=1000000 test_runtime --gtest_filter='Replay.*'
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/graph_runner.hh"
#include "tests/support/gpu.hh"
#include "tests/support/graph_runs.hh"
#include "tests/support/watchdog.hh"

namespace holoflow::test {

namespace {

using runtime::CompilerConfig;
using runtime::GraphRunner;

const core::TDesc pixels({1, 24, 20}, core::DType::U8, core::MemLoc::Host);
const core::TDesc reals({1, 24, 20}, core::DType::F32, core::MemLoc::Host);
const core::TDesc stack({4, 12, 10}, core::DType::F32, core::MemLoc::Host);
// Rows of a prime length, which cuFFT transforms in several kernels.
const core::TDesc prime({1, 3, 4099}, core::DType::F32, core::MemLoc::Host);

/// Random bytes of each frame, the same for each run.
std::vector<std::byte> frame_bytes(const core::TDesc &tensor, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(tensor.num_bytes());
  if (tensor.dtype != core::DType::F32) {
    for (auto &byte : bytes)
      byte = static_cast<std::byte>(random());
    return bytes;
  }
  std::uniform_real_distribution<float> value(-100.0f, 100.0f);
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    const float sample = value(random);
    std::memcpy(bytes.data() + at, &sample, sizeof(sample));
  }
  return bytes;
}

struct Result {
  std::vector<Bytes> output;
  uint64_t launches = 0, fallbacks = 0;
  std::string reasons;
  size_t runs = 0;
};

Result run_chain(
    const std::string &chain, const core::TDesc &tensor, CompilerConfig::Replay replay, int frames,
    uint64_t seed = 1) {
  const Run what = chain_run(chain, tensor, frames);
  CompilerConfig config;
  config.device = CompilerConfig::Device::Cuda;
  config.inputs = what.inputs;
  config.replay = replay;
  auto runner = GraphRunner::from_spec(what.graph, config);
  std::jthread feeder([&] {
    for (int number = 0; number < frames; ++number) {
      // The graph reads the memory after push() has returned.
      const auto bytes = std::make_shared<std::vector<std::byte>>(
          frame_bytes(tensor, seed + static_cast<uint64_t>(number)));
      if (!runner.push("input", bytes->data(), tensor, {}, [bytes] {}))
        break;
    }
    runner.end();
  });
  Result result;
  while (const auto got = runner.pop("output"))
    result.output.emplace_back(got->data(), got->data() + got->desc().num_bytes());
  feeder.join();
  runner.scheduler().wait();
  for (const auto &stats : runner.scheduler().replays()) {
    ++result.runs;
    result.launches += stats.hits + stats.records + stats.re_records;
    for (const auto &[reason, count] : stats.fallbacks) {
      result.fallbacks += count;
      result.reasons += reason + "\n";
    }
  }
  return result;
}

void expect_same(const std::string &chain, const core::TDesc &tensor, int frames = 30) {
  SCOPED_TRACE(chain + " of " + core::to_string(tensor));
  const auto eager = run_chain(chain, tensor, CompilerConfig::Replay::Off, frames);
  const auto replayed = run_chain(chain, tensor, CompilerConfig::Replay::Auto, frames);
  EXPECT_EQ(eager.runs, 0u);
  EXPECT_GE(replayed.runs, 1u);
  EXPECT_GE(replayed.launches, static_cast<uint64_t>(frames - 3)) << replayed.reasons;
  EXPECT_EQ(replayed.fallbacks, 0u) << replayed.reasons;
  ASSERT_EQ(replayed.output.size(), eager.output.size());
  EXPECT_TRUE(replayed.output == eager.output) << "the bytes differ";
}

struct Case {
  const char *type;
  const char *tasks;  ///< ends with F32 or U8; fed from a slot of a queue, written into another
  const core::TDesc *tensor = &reals;
};

// Every synchronous type that computes on the device, next to moving memory on both sides.
const Case cases[] = {
    {"Abs", "abs ! affine"},
    {"AbsSquared", "fft2 ! abssquared"},
    {"Affine", "affine scale=2 ! affine offset=1"},
    {"Clip", "clip lo=-3 hi=4 ! affine"},
    {"Conversion", "conversion target=F32 ! affine", &pixels},
    {"Conversion", "affine ! conversion target=U8 strategy=Scaled"},
    {"Copy", "copy ! affine"},
    {"Copy", "slice slices=[{},{\"step\":2},{\"start\":3}] ! copy ! affine"},
    {"FFT", "fft ! abs"},
    {"FFT", "fft ! abs", &prime},
    {"FFT2", "fft2 ! abs"},
    {"FFTShift", "fftshift ! affine"},
    {"Filter2D", "filter2d r_outer=5 s_outer=1 ! affine"},
    {"IFFT", "fft ! ifft ! abs"},
    {"IFFT2", "fft2 ! ifft2 ! abs"},
    {"IFFTShift", "ifftshift ! affine"},
    {"IRFFT", "rfft ! irfft ! affine"},
    {"IRFFT2", "rfft2 ! irfft2 ! affine"},
    {"Log1p", "abs ! log1p"},
    {"Max", "affine ! max axis=1 keepdims=true"},
    {"Mean", "affine ! mean axis=0 keepdims=true", &stack},
    {"Mean", "affine ! mean axis=2 keepdims=true"},
    {"Memcpy", "memcpy target=Device ! affine"},
    {"Min", "affine ! min axis=-1 keepdims=true"},
    {"Normalize", "affine ! normalize"},
    {"RFFT", "rfft ! abs"},
    {"RFFT", "rfft ! abs", &prime},
    {"RFFT2", "rfft2 ! abs"},
    {"Reshape", "affine ! reshape shape=[1,20,24] ! affine"},
    {"Slice", "slice slices=[{},{\"start\":2},{}] ! affine"},
    {"Sqrt", "abs ! sqrt"},
    {"Transpose", "transpose axes=[0,2,1] ! copy ! affine"},
};

const char *const pairwise[] = {"Add", "Divide", "Multiply", "Subtract"};

void expect_same_pairwise(const std::string &type) {
  const auto run_with = [&](CompilerConfig::Replay replay) {
    const test::Run what = json_run(
        R"({"nodes": {"in": {"type": "Input"}, "up": {"type": "Upload"},
                      "q": {"type": "BatchQueue"}, "one": {"type": "Affine",
                      "params": {"offset": 3}}, "pair": {"type": ")" +
            type + R"("}, "down": {"type": "BatchQueue"}, "d": {"type": "Download"},
                      "out": {"type": "Output"}},
            "edges": ["in -> up", "up -> q", "q -> one", "one -> pair:0", "q -> pair:1",
                      "pair -> down", "down -> d", "d -> out"]})",
        reals, 30);
    CompilerConfig config;
    config.device = CompilerConfig::Device::Cuda;
    config.replay = replay;
    const auto outcome = run(what, config);
    EXPECT_EQ(outcome.error, "") << type;
    return outcome.outputs;
  };
  EXPECT_TRUE(run_with(CompilerConfig::Replay::Auto) == run_with(CompilerConfig::Replay::Off))
      << type;
}

}  // namespace

TEST(Replay, EveryTaskGivesTheSameOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  for (const auto &each : cases)
    expect_same(
        std::string("upload ! batchqueue target_capacity=3 ! ") + each.tasks +
            " ! batchqueue target_capacity=2 ! download",
        *each.tensor);
  for (const char *type : pairwise)
    expect_same_pairwise(type);
}

TEST(Replay, EverySynchronousTypeIsAmongTheCases) {
  core::Registry registry;
  register_builtin_tasks(registry);
  std::set<std::string> covered = {"Upload", "Download"};  // around each case
  // They touch Host memory only, keep state, or are gone before anything runs.
  covered.insert({"Input", "Output", "CausalSlidingAverage", "Graph"});
  covered.insert(std::begin(pairwise), std::end(pairwise));
  for (const auto &each : cases)
    covered.insert(each.type);
  for (const auto &type : registry.keys())
    if (dynamic_cast<const core::ISyncTaskFactory *>(&registry.get(type)) != nullptr) {
      EXPECT_TRUE(covered.contains(type)) << type << " has no case";
    }
}

TEST(Replay, FramesFromTheApplicationAndBackInOneSectionOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  for (const char *tasks : {"affine scale=2 ! sqrt", "fft2 ! abs", "normalize ! clip hi=0.5"})
    expect_same(std::string("upload ! ") + tasks + " ! download", reals);
  expect_same("upload ! conversion target=F32 ! affine scale=2 ! download", pixels);
}

TEST(Replay, SeveralInputsAndOutputsOfOneRunOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  const auto run_with = [](CompilerConfig::Replay replay) {
    const test::Run what = json_run(
        R"({"nodes": {"a": {"type": "Input"}, "b": {"type": "Input"}, "ua": {"type": "Upload"},
                      "ub": {"type": "Upload"}, "qa": {"type": "BatchQueue"},
                      "qb": {"type": "BatchQueue", "params": {"target_capacity": 3}},
                      "sum": {"type": "Add"}, "double": {"type": "Affine", "params": {"scale": 2}},
                      "product": {"type": "Multiply"}, "q1": {"type": "BatchQueue"},
                      "q2": {"type": "BatchQueue", "params": {"target_capacity": 5}},
                      "d1": {"type": "Download"}, "d2": {"type": "Download"},
                      "o1": {"type": "Output"}, "o2": {"type": "Output"}},
            "edges": ["a -> ua", "b -> ub", "ua -> qa", "ub -> qb", "qa -> sum:0", "qb -> sum:1",
                      "sum -> double", "sum -> product:0", "qa -> product:1", "double -> q1",
                      "product -> q2", "q1 -> d1", "q2 -> d2", "d1 -> o1", "d2 -> o2"]})",
        reals, 50);
    CompilerConfig config;
    config.device = CompilerConfig::Device::Cuda;
    config.replay = replay;
    const auto outcome = run(what, config);
    EXPECT_EQ(outcome.error, "");
    return outcome.outputs;
  };
  EXPECT_TRUE(run_with(CompilerConfig::Replay::Auto) == run_with(CompilerConfig::Replay::Off));
}

namespace {

/// A chain of tasks that keep shape and type, of random length.
std::string random_tasks(std::mt19937 &random, int least, int most) {
  const char *tasks[] = {
      "affine scale=0.5 offset=2",
      "clip lo=-50 hi=60",
      "abs",
      "normalize lo=-1 hi=9",
      "fftshift",
      "fft2 ! abs ! affine scale=0.001",
      "rfft2 ! irfft2",
      "filter2d r_outer=6 s_outer=2",
      "transpose axes=[0,2,1] ! copy ! transpose axes=[0,2,1] ! copy",
      "slice slices=[{},{},{}] ! copy"};
  const int count = std::uniform_int_distribution(least, most)(random);
  std::string chain;
  for (int i = 0; i < count; ++i) {
    const auto pick = std::uniform_int_distribution<size_t>(0, std::size(tasks) - 1)(random);
    chain += std::string(i == 0 ? "" : " ! ") + tasks[pick];
  }
  return chain;
}

uint64_t soak_frames() {
  const char *wanted = std::getenv("HOLOFLOW_SOAK_FRAMES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 2000;
}

}  // namespace

TEST(Replay, TenRandomGraphsGiveTheSameOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  std::mt19937 random(11);
  for (int graph = 0; graph < 10; ++graph)
    expect_same(
        "upload ! batchqueue ! " + random_tasks(random, 5, 50) + " ! batchqueue ! download", reals,
        12);
}

// Random params, slot counts and lengths, each compiled anew.
TEST(Replay, SoakWithRandomParamsSlotsAndCompilesOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  std::mt19937 random(5);
  const auto number = [&](int from, int to) {
    return std::to_string(std::uniform_int_distribution(from, to)(random));
  };
  const core::TDesc tiny({1, 8, 8}, core::DType::F32, core::MemLoc::Host);
  uint64_t came = 0;
  for (uint64_t round = 0; came < soak_frames() && !testing::Test::HasFailure(); ++round) {
    const auto chain = "upload ! batchqueue target_capacity=" + number(1, 9) +
        " ! affine scale=" + number(1, 5) + " ! clip hi=" + number(1, 400) +
        " ! affine offset=" + number(-9, 9) +
        " ! abs ! batchqueue target_capacity=" + number(1, 9) + " ! download";
    const int frames = std::uniform_int_distribution(1, 4000)(random);
    SCOPED_TRACE(chain + ", " + std::to_string(frames) + " frames");
    const Watchdog watchdog("this run hangs: " + chain);
    const auto eager = run_chain(chain, tiny, CompilerConfig::Replay::Off, frames, round);
    const auto replayed = run_chain(chain, tiny, CompilerConfig::Replay::Auto, frames, round);
    EXPECT_TRUE(replayed.output == eager.output);
    EXPECT_EQ(replayed.fallbacks, 0u) << replayed.reasons;
    came += static_cast<uint64_t>(frames);
  }
}

}  // namespace holoflow::test
