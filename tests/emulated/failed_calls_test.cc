// SPDX-License-Identifier: LGPL-2.1-or-later
// A graph whose GPU refuses one call, any of them: one error, no hang, nothing left behind.
#include <gtest/gtest.h>

#include "tests/emulated/failed_calls.hh"

namespace holoflow::emulated {
namespace {

const core::TDesc frame({1, 3, 4}, core::DType::F32, core::MemLoc::Host);

const std::vector<std::string> chains = {
    "upload ! affine scale=2 ! download",
    "upload ! batchqueue ! affine scale=2 offset=1 ! batchqueue ! download"};

}  // namespace

TEST(FailedCalls, EndTheRunWithOneErrorAndLeaveNothingBehind) {
  for (const auto &chain : chains) {
    SCOPED_TRACE(chain);
    check_every_call(chain_run(chain, frame, 5), Failure::Once);
  }
}

}  // namespace holoflow::emulated
