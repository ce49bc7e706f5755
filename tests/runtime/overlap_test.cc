// SPDX-License-Identifier: LGPL-2.1-or-later
// Overlap changes when things happen, never what comes out: any capacity of queues, any number of
// sections, any lag, with and without waiting in every iteration.
#include <gtest/gtest.h>

#include "tests/support/gpu.hh"
#include "tests/support/graph_runs.hh"

namespace holoflow::test {

namespace {

using Device = runtime::CompilerConfig::Device;

struct Variant {
  int capacity = 1;
  int sections = 1;  ///< queues in a row between the parts of the graph
  int lag = 0;
  bool overlap = true;
};

std::string queues(const Variant &variant) {
  std::string text;
  for (int i = 0; i < variant.sections; ++i)
    text += "batchqueue target_capacity=" + std::to_string(variant.capacity) + " ! copy ! ";
  return text;
}

/// Spatial work, windows that overlap, results of one and of several frames.
std::vector<Run> graphs(const Variant &variant, int pushes) {
  const core::TDesc frames({1, 24, 40}, core::DType::U8, core::MemLoc::Host);
  const auto q = queues(variant);
  return {
      chain_run(
          "upload ! " + q + "conversion target=F32 ! affine scale=1.5 offset=0.25 ! " + q +
              "filter2d r_outer=7 s_outer=2 ! normalize ! conversion target=U8 strategy=Scaled ! " +
              q + "download",
          frames, pushes),
      chain_run(
          "upload ! conversion target=F32 ! " + q +
              "batchqueue output_size=4 output_stride=1 target_capacity=6 ! mean axis=0 "
              "keepdims=true ! " +
              q + "sqrt ! download",
          frames, pushes),
      chain_run("upload ! conversion target=F32 ! abs ! download", frames, pushes),
  };
}

// Borrowed as it is: what is given back too early shows.
std::shared_ptr<std::byte[]> page_locked(size_t bytes) {
  const auto block =
      std::make_shared<runtime::MemoryBlock>(runtime::cuda_device(), core::MemLoc::Host, bytes);
  return {block, block->get()};
}

std::vector<Outputs> outputs_of(const Variant &variant, Device device, int pushes) {
  std::vector<Outputs> outputs;
  for (auto &graph : graphs(variant, pushes)) {
    if (device == Device::Cuda)
      graph.memory = page_locked;
    runtime::CompilerConfig config;
    config.device = device;
    config.lag = variant.lag;
    config.overlap = variant.overlap;
    auto outcome = run(graph, config);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.not_released, 0);
    outputs.push_back(std::move(outcome.outputs));
  }
  return outputs;
}

void expect_no_difference(Device device) {
  constexpr int pushes = 30;
  const auto want = outputs_of({.capacity = 1, .lag = 0, .overlap = false}, device, pushes);
  ASSERT_EQ(want[0].at("output").size(), static_cast<size_t>(pushes));
  ASSERT_EQ(want[1].at("output").size(), static_cast<size_t>(pushes - 3));
  for (const int capacity : {1, 2, 5, 64})
    for (const int lag : {0, 1, 2, 16})
      for (const int sections : {1, 3})
        for (const bool overlap : {true, false}) {
          if (!overlap && lag != 2)
            continue;
          SCOPED_TRACE(
              "capacity " + std::to_string(capacity) + ", lag " + std::to_string(lag) + ", " +
              std::to_string(sections) + " queues in a row, overlap " + (overlap ? "on" : "off"));
          const Variant variant{capacity, sections, lag, overlap};
          EXPECT_TRUE(outputs_of(variant, device, pushes) == want) << "the bytes differ";
        }
}

}  // namespace

TEST(Overlap, ChangesNoBit) {
  expect_no_difference(Device::Cpu);
}

TEST(Overlap, ChangesNoBitOnCuda) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  expect_no_difference(Device::Cuda);
}

}  // namespace holoflow::test
