// SPDX-License-Identifier: LGPL-2.1-or-later
// A kernel breaks the device for good; the device cannot be opened. In processes of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"
#include "tests/faults/child_process.hh"
#include "tests/faults/shim.hh"
#include "tests/faults/wild_write.hh"
#include "tests/support/gpu.hh"
#include "tests/support/graph_runs.hh"
#include "tests/support/watchdog.hh"

namespace holoflow::faults {

namespace {

using runtime::CompilerConfig;
using testing::HasSubstr;
using testing::IsEmpty;

const core::TDesc frame({1, 3, 4}, core::DType::F32, core::MemLoc::Host);

test::Run wild_run(core::Registry &registry) {
  test::Run run{
      core::GraphSpec::from_chain(
          "upload ! batchqueue ! wildwrite at=5 ! batchqueue ! download", registry.keys()),
      {{"input", frame}},
      20};
  run.registry = &registry;
  return run;
}

class BrokenDevice : public testing::Test {
protected:
  void SetUp() override {
    if (!test::have_gpu())
      GTEST_SKIP() << "no GPU";
  }
};

}  // namespace

TEST(WildWrite, CopiesOnTheCpu) {
  core::Registry registry;
  register_builtin_tasks(registry);
  register_wild_write(registry);
  const auto got = test::run(wild_run(registry), CompilerConfig::Device::Cpu);
  EXPECT_EQ(got.error, "");
  ASSERT_EQ(got.outputs.size(), 1u);
  EXPECT_EQ(got.outputs.begin()->second.size(), 20u);
}

TEST_F(BrokenDevice, EndsTheRunAndTheProcessLivesOn) {
  EXPECT_EQ(run_in_child("BrokenDeviceChild.DISABLED_KernelWritesToAnIllegalAddress"), "");
}

TEST_F(BrokenDevice, ThatCannotBeOpenedIsTriedAgain) {
  EXPECT_EQ(run_in_child("BrokenDeviceChild.DISABLED_OpeningFailsCallByCall"), "");
}

TEST(BrokenDeviceChild, DISABLED_KernelWritesToAnIllegalAddress) {
  const test::Watchdog watchdog("the broken device makes it hang", std::chrono::seconds(60));
  core::Registry registry;
  register_builtin_tasks(registry);
  register_wild_write(registry);
  const auto run = wild_run(registry);

  const auto broken = test::run(run, CompilerConfig::Device::Cuda);
  EXPECT_THAT(broken.error, HasSubstr("cudaErrorIllegalAddress"));
  EXPECT_THAT(broken.error, HasSubstr("running: "));
  EXPECT_THAT(broken.error, HasSubstr("section"));
  EXPECT_THAT(broken.other_errors, IsEmpty());
  EXPECT_EQ(broken.not_released, 0);

  const auto on_cpu = test::run(run, CompilerConfig::Device::Cpu);
  EXPECT_EQ(on_cpu.error, "");
  EXPECT_EQ(on_cpu.not_released, 0);
  ASSERT_EQ(on_cpu.outputs.size(), 1u);
  EXPECT_EQ(on_cpu.outputs.begin()->second.size(), 20u);

  const auto again = test::run(run, CompilerConfig::Device::Cuda);
  EXPECT_TRUE(again.is_device_error) << again.error;
  EXPECT_THAT(again.error, HasSubstr("cudaErrorIllegalAddress"));
}

TEST(BrokenDeviceChild, DISABLED_OpeningFailsCallByCall) {
  const test::Watchdog watchdog("opening the device hangs", std::chrono::seconds(60));
  for (const char *call :
       {"cudaGetDeviceCount", "cudaGetDeviceProperties", "cudaStreamCreateWithFlags",
        "cudaMemPoolCreate"}) {
    SCOPED_TRACE(call);
    ASSERT_TRUE(shim().fail(call, 1, 999));
    try {
      (void)runtime::cuda_device();
      ADD_FAILURE() << "expected an error";
    } catch (const core::DeviceError &error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(call) + " failed: cudaErrorUnknown"));
    }
    EXPECT_EQ(shim().alive("streams"), 0);
    EXPECT_EQ(shim().alive("pools"), 0);
  }
  shim().reset();
  EXPECT_TRUE(runtime::cuda_device().is_gpu());
  EXPECT_EQ(shim().alive("streams"), 1);
}

}  // namespace holoflow::faults
