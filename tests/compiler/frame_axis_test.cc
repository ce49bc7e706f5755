// SPDX-License-Identifier: LGPL-2.1-or-later
// Warnings for transforms and reductions over time that get single frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/compiler.hh"

namespace holoflow::test {
namespace {

using runtime::Decision;
using testing::ElementsAre;
using testing::IsEmpty;

/// The warnings for `chain` on frames of 5 x 7 pixels that come `frames` at a time.
std::vector<std::string> warnings_of(const std::string &chain, size_t frames = 1) {
  core::Registry registry;
  register_builtin_tasks(registry);
  const runtime::CompilerConfig config{
      .device = runtime::CompilerConfig::Device::Cpu,
      .inputs = {{"input", core::TDesc({frames, 5, 7}, core::DType::F32, core::MemLoc::Host)}}};
  const auto plan =
      runtime::Compiler(registry, config).plan(core::GraphSpec::from_chain(chain, registry.keys()));
  std::vector<std::string> warnings;
  for (const auto &decision : plan->report.decisions)
    if (decision.kind == Decision::Kind::Warning) {
      warnings.push_back(decision.text);
      EXPECT_THAT(plan->report.notes, testing::Contains(decision.text));
    }
  return warnings;
}

TEST(FrameAxis, ATransformAlongTimeOfSingleFramesIsAWarning) {
  EXPECT_THAT(
      warnings_of("rfft axis=0 ! abs"),
      ElementsAre(
          "node \"rfft\" (RFFT): transforms along the frame axis, but each tensor holds one "
          "frame; put a \"BatchQueue\" node before it"));
}

TEST(FrameAxis, EveryTaskThatPutsFramesTogetherWarns) {
  for (const std::string chain :
       {"rfft axis=-3 ! abs", "rfft ! irfft axis=0 n=1", "rfft ! fft axis=0 ! abs",
        "rfft ! ifft axis=0 ! abs", "rfft ! fft2 axes=[0,1] ! abs", "mean axis=0 keepdims=true",
        "max axis=[0,2]", "min axis=0", "normalize axes=[0,1]", "fftshift axes=[0,1]"})
    EXPECT_EQ(warnings_of(chain).size(), 1u) << chain;
}

TEST(FrameAxis, WorkWithinFramesIsNoWarning) {
  for (const std::string chain :
       {"rfft ! abs", "mean axis=[1,2]", "mean", "mean axis=[0,1,2]", "normalize", "fftshift",
        "slice slices=[0,{},{}] ! mean axis=0", "causalslidingaverage window_size=3"})
    EXPECT_THAT(warnings_of(chain), IsEmpty()) << chain;
}

TEST(FrameAxis, WindowsOfFramesAreWhatSuchATaskWants) {
  EXPECT_THAT(warnings_of("batchqueue output_size=4 ! rfft axis=0 ! abs"), IsEmpty());
  EXPECT_THAT(warnings_of("rfft axis=0 ! abs", 2), IsEmpty());
  EXPECT_EQ(warnings_of("batchqueue output_size=1 ! mean axis=0").size(), 1u);
}

}  // namespace
}  // namespace holoflow::test
