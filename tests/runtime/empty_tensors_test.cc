// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors without frames, or without elements, in whole graphs on the CPU: they run like others,
// and records of nothing are nothing.
#include <gtest/gtest.h>

#include <thread>

#include "holoflow/device/slot_pool.hh"
#include "tests/support/graph_runs.hh"

namespace holoflow::test {
namespace {

using Device = runtime::CompilerConfig::Device;

const core::TDesc grey({1, 5, 7}, core::DType::U8, core::MemLoc::Host);

constexpr const char *no_frames = "slice slices=[{\"start\":3},{},{}]";

/// Sizes in bytes of the tensors that leave `chain` behind a slice that takes no frames.
std::vector<size_t> sizes_behind(const std::string &chain) {
  const auto outcome =
      run(chain_run(no_frames + (chain.empty() ? "" : " ! " + chain), grey, 3), Device::Cpu);
  EXPECT_EQ(outcome.error, "") << chain;
  EXPECT_EQ(outcome.not_released, 0) << chain;
  std::vector<size_t> sizes;
  for (const auto &tensor : outcome.outputs.at("output"))
    sizes.push_back(tensor.size());
  return sizes;
}

TEST(EmptyTensors, WithoutFramesPassEveryKindOfTask) {
  const std::vector<size_t> empty(3, 0);
  for (const std::string chain :
       {"", "copy", "conversion target=F32 ! sqrt", "transpose axes=[0,2,1]",
        "mean axis=1 keepdims=true"})
    EXPECT_EQ(sizes_behind(chain), empty) << chain;
}

// Behind these there is no frame axis of extent 0 any more.
TEST(EmptyTensors, WithoutFramesMayLoseTheirFrameAxis) {
  const std::vector<size_t> empty(3, 0);
  for (const std::string chain :
       {"mean axis=1", "transpose axes=[1,0,2]", "reshape shape=[5,7,0]", "reshape shape=[0]",
        "slice slices=[{},2,{}]", "transpose axes=[1,2,0] ! slice slices=[{},1,{}] ! copy",
        "mean axis=1 ! ratelimiter max_fps=1e6"})
    EXPECT_EQ(sizes_behind(chain), empty) << chain;
}

TEST(EmptyTensors, WithoutFramesHaveNoRecords) {
  for (const std::string chain : {"", " ! mean axis=1", " ! transpose axes=[1,0,2]"}) {
    runtime::CompilerConfig config{.device = Device::Cpu, .inputs = {{"input", grey}}};
    auto runner = runtime::GraphRunner::from_chain(no_frames + chain, config);
    const std::vector<uint8_t> pixels(grey.num_elements());
    std::jthread feeder([&] {
      EXPECT_TRUE(runner.push("input", pixels.data(), grey));
      runner.end();
    });
    while (const auto tensor = runner.pop("output"))
      EXPECT_EQ(tensor->records().size(), 0u) << chain;
  }
}

TEST(EmptyTensors, OfOneFrameKeepItsRecord) {
  const auto outcome =
      run(chain_run("slice slices=[{},{\"stop\":0},{}] ! mean axis=2", grey, 2), Device::Cpu);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.outputs.at("output").size(), 2u);
}

TEST(EmptyTensors, ASlotThatIsLentToNobodyIsBackAtOnce) {
  const auto pool =
      std::make_shared<runtime::SlotPool>(runtime::host_device(), size_t{16}, size_t{1});
  for (int i = 0; i < 3; ++i)
    pool->lend(pool->take(), 0);
  EXPECT_EQ(pool->allocated(), 1u);
}

}  // namespace
}  // namespace holoflow::test
