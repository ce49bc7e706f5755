// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls that fail under the queues, which put work on the device themselves: one call, or the GPU
// with it. The run ends, nothing is left behind.
#include <gtest/gtest.h>

#include "tests/emulated/failed_calls.hh"

namespace holoflow::emulated {
namespace {

const core::TDesc frame({1, 3, 4}, core::DType::F32, core::MemLoc::Host);

const std::vector<std::string> chains = {
    "upload ! batchqueue ! affine scale=2 offset=1 ! batchqueue ! download",
    "upload ! batchqueue output_size=3 output_stride=1 ! mean axis=0 keepdims=true ! download",
    "upload ! slidingaverage window_size=2 ! download",
    "upload ! batchqueue ! causalslidingaverage window_size=2 ! batchqueue ! download",
    "upload ! batchqueue policy=drop-oldest target_capacity=64 ! affine scale=2 ! download",
    "upload ! ratelimiter max_fps=1000000 ! affine scale=2 ! download"};

void check_queues(Failure failure) {
  for (const auto &chain : chains) {
    SCOPED_TRACE(chain);
    check_every_call(chain_run(chain, frame, 5), failure);
  }
  check_every_call(json_run(test::dual_reader_graph, frame, 4), failure);
}

}  // namespace

TEST(FailedQueueCalls, EndTheRunWithOneErrorAndLeaveNothingBehind) {
  check_queues(Failure::Once);
}

TEST(LostGpu, EndsTheRunWithOneErrorAndLeavesNothingBehind) {
  check_queues(Failure::Lost);
}

}  // namespace holoflow::emulated
