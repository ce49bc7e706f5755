// SPDX-License-Identifier: LGPL-2.1-or-later
// A kernel of 20 ms on the stream of a neighbour: the section in between reads nothing before it is
// written and writes nothing that is still read, whether its tasks enqueue their work or it is
// replayed.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "holoflow/builtin_tasks.hh"
#include "tests/runtime/slow_copy.hh"
#include "tests/support/gpu.hh"
#include "tests/support/graph_runs.hh"

namespace holoflow::test {

namespace {

using runtime::CompilerConfig;

constexpr char slow[] = "slowcopy milliseconds=20 ! ";
constexpr int frames = 12;

/// A section of three tasks between two queues of few slots; one of its neighbours, or both, are
/// slow.
std::string graph(bool before, bool behind) {
  return std::string("upload ! ") + (before ? slow : "") +
      "batchqueue target_capacity=2 ! affine scale=2 ! abs ! affine offset=1 ! "
      "batchqueue target_capacity=3 ! " +
      (behind ? slow : "") + "download";
}

core::Registry &registry() {
  static core::Registry tasks = [] {
    core::Registry result;
    register_builtin_tasks(result);
    register_slow_copy(result);
    return result;
  }();
  return tasks;
}

Outcome run_on(
    CompilerConfig::Device device, CompilerConfig::Replay replay, const std::string &chain) {
  const core::TDesc frame({1, 31, 33}, core::DType::F32, core::MemLoc::Host);
  CompilerConfig config;
  config.device = device;
  config.replay = replay;
  return run(
      {core::GraphSpec::from_chain(chain, registry().keys()),
       {{"input", frame}},
       frames,
       &registry()},
      config);
}

}  // namespace

TEST(SlowNeighbour, KeepsTheOrderInEagerAndInReplayOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  for (const auto &[before, behind] : {std::pair(true, false), {false, true}, {true, true}}) {
    const auto chain = graph(before, behind);
    SCOPED_TRACE(chain);
    const auto want = run_on(CompilerConfig::Device::Cpu, CompilerConfig::Replay::Off, chain);
    ASSERT_EQ(want.outputs.at("output").size(), static_cast<size_t>(frames)) << want.error;

    const auto eager = run_on(CompilerConfig::Device::Cuda, CompilerConfig::Replay::Off, chain);
    EXPECT_EQ(eager.error, "");
    EXPECT_TRUE(eager.outputs == want.outputs) << "the bytes differ";

    const auto replayed = run_on(CompilerConfig::Device::Cuda, CompilerConfig::Replay::Auto, chain);
    EXPECT_EQ(replayed.error, "");
    EXPECT_TRUE(replayed.outputs == want.outputs) << "the bytes differ";
    ASSERT_EQ(replayed.replays.size(), 1u);
    EXPECT_GE(replayed.replays[0].hits, static_cast<uint64_t>(frames) - 2);
  }
}

}  // namespace holoflow::test
