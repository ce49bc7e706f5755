// SPDX-License-Identifier: LGPL-2.1-or-later
// The test of the tests: where a wait is lost, a graph on the emulated GPU gives wrong bytes.
#include <gtest/gtest.h>

#include "tests/emulated/control.hh"
#include "tests/emulated/expect_same.hh"

namespace holoflow::emulated {
namespace {

using runtime::CompilerConfig;

const core::TDesc frame({1, 3, 4}, core::DType::F32, core::MemLoc::Host);

class MissingWait : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_NE(control(), nullptr);
    control()->reset();
  }
  void TearDown() override {
    if (control() != nullptr)
      control()->reset();
  }

  // What comes while a wait is lost, and whether it is right.
  bool right() {
    const Outcome got = run(graph_, CompilerConfig::Device::Cuda);
    EXPECT_EQ(got.error, "");
    return got.outputs == want_.outputs;
  }

  const emulated::Run graph_ = chain_run(
      "upload ! batchqueue ! affine scale=2 offset=1 ! batchqueue ! download", frame, 100);
  const Outcome want_ = run(graph_, CompilerConfig::Device::Cpu);
};

}  // namespace

TEST_F(MissingWait, WithEveryWaitTheBytesAreRight) {
  EXPECT_TRUE(right());
}

TEST_F(MissingWait, OfAStreamForAnEventGivesWrongBytes) {
  control()->lose_waits(true);
  EXPECT_FALSE(right());
}

// What the host reads too early another thread may be writing: a data race, and meant to be one.
#if !defined(__SANITIZE_THREAD__)
TEST_F(MissingWait, OfTheHostForAnEventGivesWrongBytes) {
  control()->skip_host_waits(true);
  EXPECT_FALSE(right());
}

TEST_F(MissingWait, ARecordThatIsLostGivesWrongBytes) {
  control()->lose_records(true);
  EXPECT_FALSE(right());
}
#endif

}  // namespace holoflow::emulated
