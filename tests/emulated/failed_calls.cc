// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/emulated/failed_calls.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/emulated/control.hh"
#include "tests/support/watchdog.hh"

namespace holoflow::emulated {

namespace {

using runtime::CompilerConfig;
using testing::AnyOf;
using testing::HasSubstr;

struct Alive {
  size_t allocations = control()->live_allocations();
  size_t events = control()->live_events();
  size_t streams = control()->live_streams();
  uint64_t written_after_free = control()->written_after_free();
};

void expect_nothing_left(const Alive &before) {
  const Alive now;
  EXPECT_EQ(now.allocations, before.allocations);
  EXPECT_EQ(now.events, before.events);
  EXPECT_EQ(now.streams, before.streams);
  EXPECT_EQ(now.written_after_free, before.written_after_free) << "freed before its work was done";
  EXPECT_EQ(control()->pending(), 0u);
}

}  // namespace

void check_every_call(const Run &what, Failure failure) {
  ASSERT_NE(control(), nullptr);
  const Outcome want = run(what, CompilerConfig::Device::Cpu);
  ASSERT_EQ(want.error, "");
  for (uint64_t call = 1;; ++call) {
    const std::string trace = "call " + std::to_string(call) + " fails";
    SCOPED_TRACE(trace);
    const test::Watchdog watchdog("this run hangs: " + trace);
    const Alive before;
    control()->reset();
    if (failure == Failure::Once)
      control()->fail_call(call);
    else
      control()->lose_device(call);
    const Outcome got = run(what, CompilerConfig::Device::Cuda);
    const bool failed = control()->calls() >= call;
    control()->reset();
    SCOPED_TRACE(got.error);
    expect_nothing_left(before);
    EXPECT_EQ(got.not_released, 0);
    EXPECT_THAT(got.other_errors, testing::IsEmpty());
    if (!failed) {
      EXPECT_EQ(got.error, "");
      EXPECT_EQ(got.outputs, want.outputs);
      return;
    }
    // A run that does not notice the failure must not be wrong.
    if (got.error.empty())
      EXPECT_EQ(got.outputs, want.outputs);
    else
      EXPECT_THAT(
          got.error,
          AnyOf(
              HasSubstr("emulated GPU: call " + std::to_string(call) + " failed"),
              HasSubstr("emulated GPU: lost since call " + std::to_string(call))));
  }
}

}  // namespace holoflow::emulated
