// SPDX-License-Identifier: LGPL-2.1-or-later
// What a section does, from the plan alone: no device, no task.
#include "holoflow/runtime/section_steps.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/compiler.hh"
#include "tests/support/cleared_variable.hh"

namespace holoflow::runtime {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class SectionStepsTest : public testing::Test {
protected:
  SectionSteps steps_of(CompilerConfig::Device device, size_t section) {
    register_builtin_tasks(registry_);
    CompilerConfig config{.device = device};
    config.inputs["input"] = {{1, 8, 8}, core::DType::F32, core::MemLoc::Host};
    const auto output =
        Compiler(registry_, config)
            .plan(core::GraphSpec::from_chain(
                "upload ! batchqueue ! affine ! sqrt ! batchqueue ! download", registry_.keys()));
    return make_section_steps(
        output->graph, output->sections.at(section), output->resources.tid_to_sid);
  }

  const test::ClearedVariable replay_{"HOLOFLOW_REPLAY"};
  core::Registry registry_;
};

TEST_F(SectionStepsTest, ARunIsOneStepWithTheAccessOfItsMembers) {
  const auto steps = steps_of(CompilerConfig::Device::Cuda, 1);
  EXPECT_THAT(steps.consumers, SizeIs(1));
  EXPECT_THAT(steps.producers, SizeIs(1));
  ASSERT_THAT(steps.nodes, SizeIs(1));
  const auto &run = steps.nodes[0];
  EXPECT_TRUE(run.is_run());
  EXPECT_THAT(run.members, SizeIs(2));
  EXPECT_TRUE(run.enqueues);
  EXPECT_THAT(run.moving, SizeIs(2)) << "a slot of each queue";
  EXPECT_FALSE(steps.waits_before_push);
}

TEST_F(SectionStepsTest, NothingIsOrderedByAStreamOnTheCpu) {
  const auto steps = steps_of(CompilerConfig::Device::Cpu, 1);
  ASSERT_THAT(steps.nodes, SizeIs(2));
  for (const auto &step : steps.nodes) {
    EXPECT_FALSE(step.is_run());
    EXPECT_FALSE(step.enqueues);
    EXPECT_THAT(step.stream.reads, IsEmpty());
    EXPECT_THAT(step.host.reads, IsEmpty());
  }
}

TEST_F(SectionStepsTest, TheTailIsApartAndItsMemoryRepeats) {
  const auto steps = steps_of(CompilerConfig::Device::Cuda, 2);
  ASSERT_THAT(steps.tail, SizeIs(1));
  EXPECT_TRUE(steps.tail[0].in_tail);
  EXPECT_TRUE(steps.has_sink);
}

}  // namespace
}  // namespace holoflow::runtime
