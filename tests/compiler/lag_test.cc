// SPDX-License-Identifier: LGPL-2.1-or-later
// Which nodes may run behind their section, and what memory that takes. Planned for a GPU, made by
// none.
#include "compile_fixture.hh"
#include "holoflow/builtin_tasks.hh"

namespace holoflow::test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LagTest : public CompilerTest {
protected:
  using Config = runtime::CompilerConfig;

  LagTest() {
    register_builtin_tasks(builtins);
    add_host_type("HostSink", 1, 0, false);
    add_host_type("HostMap", 1, 1, false);
    add_host_type("TwoInputSink", 2, 0, false);
    add_host_type("KeepingSource", 0, 1, true);
    config.inputs["in"] = frames();
  }

  static core::TDesc frames() { return {{1, 10, 10}, core::DType::F32, core::MemLoc::Host}; }

  /// A type for Host tensors of frames; `owns` its outputs and knows no events.
  void add_host_type(const std::string &kind, size_t inputs, size_t outputs, bool owns) {
    register_fake(
        builtins, kind,
        SyncFake{
            .infer =
                [inputs, outputs, owns](auto, const auto &) {
                  core::InferResult result;
                  result.input_descs.assign(inputs, frames());
                  result.output_descs.assign(outputs, frames());
                  result.owned_outputs.assign(outputs, owns);
                  return result;
                },
            .create = {}});
  }

  static core::GraphSpec linear(const std::vector<std::string> &kinds) {
    std::vector<std::pair<std::string, std::string>> nodes;
    for (size_t i = 0; i < kinds.size(); ++i)
      nodes.emplace_back(i == 0 ? "in" : kinds[i] + std::to_string(i), kinds[i]);
    return chain(nodes);
  }

  std::unique_ptr<runtime::CompilerOutput> plan(const core::GraphSpec &spec) {
    return runtime::Compiler(builtins, config).plan(spec);
  }

  static std::vector<std::string> tail(const runtime::CompilerOutput &output, size_t section) {
    return names(output, output.sections.at(section).tail);
  }

  core::Registry builtins;
  Config config{.device = Config::Device::Cuda};
};

TEST_F(LagTest, AnOutputBehindADownloadLags) {
  const auto output = plan(linear({"Input", "Upload", "BatchQueue", "Abs", "Download", "Output"}));
  ASSERT_EQ(output->sections.size(), 2u);
  EXPECT_EQ(output->sections[0].lag, 0u);
  EXPECT_EQ(output->sections[1].lag, 2u);
  EXPECT_THAT(tail(*output, 1), ElementsAre("Output5"));
  EXPECT_THAT(output->sections[1].lagged, IsEmpty()) << "Output lends a slot for each iteration";
}

TEST_F(LagTest, WhatTheTailReadsHasAPieceForEachIteration) {
  const auto spec = linear({"Input", "Upload", "Abs", "Download", "HostSink"});
  const auto lagging = plan(spec);
  ASSERT_EQ(lagging->sections[0].lagged.size(), 1u);
  EXPECT_EQ(lagging->sections[0].lagged[0].stride, 512u);
  config.lag = 0;
  const auto waiting = plan(spec);
  EXPECT_EQ(waiting->sections[0].lag, 0u);
  EXPECT_THAT(tail(*waiting, 0), IsEmpty());
  EXPECT_EQ(lagging->bill.blocks.pinned, waiting->bill.blocks.pinned + 2 * 512);
  EXPECT_EQ(lagging->bill.saved_by_sharing, waiting->bill.saved_by_sharing);
}

TEST_F(LagTest, ATailIsClosed) {
  const auto output =
      plan(linear({"Input", "Upload", "Download", "HostMap", "HostMap", "HostSink"}));
  EXPECT_THAT(tail(*output, 0), ElementsAre("HostMap3", "HostMap4", "HostSink5"));
  EXPECT_EQ(output->sections[0].lagged.size(), 1u) << "what the tail hands on inside needs one";
}

TEST_F(LagTest, WhatFeedsTheDeviceOrAQueueDoesNotLag) {
  const auto again =
      plan(linear({"Input", "Upload", "Download", "HostMap", "Upload", "Download", "HostSink"}));
  EXPECT_THAT(tail(*again, 0), ElementsAre("HostSink6"));
  const auto queued =
      plan(linear({"Input", "Upload", "Download", "HostMap", "BatchQueue", "HostSink"}));
  EXPECT_THAT(tail(*queued, 0), IsEmpty());
  EXPECT_THAT(tail(*queued, 1), IsEmpty()) << "its input comes from a queue, ready to be read";
}

TEST_F(LagTest, ASlotThatGoesBackByBarrierForbidsIt) {
  core::GraphSpec spec;
  spec.add_node("in", "KeepingSource").add_node("up", "Upload").add_node("down", "Download");
  spec.add_node("out", "HostSink");
  spec.connect("in", 0, "up", 0).connect("up", 0, "down", 0).connect("down", 0, "out", 0);
  config.inputs.clear();
  EXPECT_EQ(plan(spec)->sections[0].lag, 0u);
}

TEST_F(LagTest, ATailThatReadsABorrowedBufferHoldsIt) {
  auto spec = linear({"Input", "Upload", "Download"});
  spec.add_node("both", "TwoInputSink");
  spec.connect("in", 0, "both", 0).connect("Download2", 0, "both", 1);
  const auto output = plan(spec);
  EXPECT_THAT(tail(*output, 0), ElementsAre("both"));
  EXPECT_EQ(output->sections[0].lagged.size(), 1u) << "the buffer is another one each time";
}

TEST_F(LagTest, ThereIsNoneOnTheCpuAndNoneWithoutOverlap) {
  const auto spec = linear({"Input", "Upload", "Abs", "Download", "Output"});
  config.device = Config::Device::Cpu;
  EXPECT_EQ(plan(spec)->sections[0].lag, 0u);
  config.device = Config::Device::Cuda;
  config.overlap = false;
  const auto output = plan(spec);
  EXPECT_EQ(output->sections[0].lag, 0u);
  EXPECT_FALSE(output->sections[0].overlap);
}

TEST_F(LagTest, ALagOutOfRangeIsRefused) {
  for (const int lag : {-1, 17}) {
    config.lag = lag;
    try {
      (void)plan(linear({"Input", "Output"}));
      ADD_FAILURE() << lag;
    } catch (const core::CompileError &error) {
      EXPECT_THAT(
          error.what(), HasSubstr("expected Config::lag from 0 to 16, got " + std::to_string(lag)));
    }
  }
}

}  // namespace holoflow::test
