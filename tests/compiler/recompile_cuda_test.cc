// SPDX-License-Identifier: LGPL-2.1-or-later
// What a recompile keeps on a GPU: streams by position, blocks, and which stream each task is told.
#include "../support/gpu.hh"
#include "compile_fixture.hh"

namespace holoflow::test {

class RecompileCuda : public CompilerTest {
protected:
  using Config = runtime::CompilerConfig;

  RecompileCuda() {
    add_task("DeviceSource", 0, 1);
    add_task("DeviceMap", 1, 1);
    add_task("DeviceSink", 1, 0);
  }

  /// A task on Device memory that writes the stream of each create and update down.
  void add_task(const std::string &kind, size_t inputs, size_t outputs) {
    const core::TDesc tensor({1, 4, 4}, core::DType::F32, core::MemLoc::Device);
    const auto note = [this](const nlohmann::json &settings, const core::SyncCreateCtx &ctx) {
      streams[settings.value("name", "")] = ctx.stream;
    };
    register_fake(
        registry, kind,
        SyncFakeWithContext{
            .infer =
                [=](auto, const auto &) {
                  core::InferResult result;
                  result.input_descs.assign(inputs, tensor);
                  result.output_descs.assign(outputs, tensor);
                  return result;
                },
            .create =
                [note](const nlohmann::json &settings, const core::SyncCreateCtx &ctx) {
                  note(settings, ctx);
                  return std::make_unique<FunctionTask>(
                      [](core::SyncCtx &) { return OpResult::Eof; });
                },
            .update =
                [note](
                    std::unique_ptr<core::ISyncTask> old, const nlohmann::json &settings,
                    const core::SyncCreateCtx &ctx) {
                  note(settings, ctx);
                  return old;
                }});
  }

  static void add(core::GraphSpec &spec, const std::string &name, const std::string &kind) {
    spec.add_node(name, kind, {{"name", name}});
  }

  /// Two unconnected sections: a → b and c → d.
  static core::GraphSpec two_sections() {
    core::GraphSpec spec;
    add(spec, "a", "DeviceSource"), add(spec, "b", "DeviceSink");
    add(spec, "c", "DeviceSource"), add(spec, "d", "DeviceSink");
    return spec.connect("a", 0, "b", 0).connect("c", 0, "d", 0);
  }

  std::map<std::string, cudaStream_t> streams;
  runtime::Compiler compiler{registry, {.device = Config::Device::Cuda}};
};

TEST_F(RecompileCuda, TheSameGraphKeepsStreamsAndBlocks) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  auto output = compiler.compile(two_sections());
  const auto *stream = output->resources.streams.at(0).get();
  const auto *block = output->resources.memory_blocks.at(0).get();
  output = compiler.compile(two_sections(), std::move(output));
  EXPECT_EQ(output->resources.streams.at(0).get(), stream);
  EXPECT_EQ(output->resources.memory_blocks.at(0).get(), block);
  EXPECT_EQ(output->report.reused_streams, 2u);
  EXPECT_EQ(output->report.reused_blocks, 2u);
  EXPECT_EQ(output->report.updated_tasks, 4u);
}

TEST_F(RecompileCuda, UpdatedTasksAreToldTheStreamOfTheirNewSection) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  auto output = compiler.compile(two_sections());
  EXPECT_NE(streams.at("c"), streams.at("a"));
  // Without the first section c and d become section 0, whose stream was a's and b's.
  core::GraphSpec spec;
  add(spec, "c", "DeviceSource"), add(spec, "d", "DeviceSink");
  spec.connect("c", 0, "d", 0);
  output = compiler.compile(spec, std::move(output));
  EXPECT_EQ(output->report.updated_tasks, 2u);
  EXPECT_EQ(streams.at("c"), output->sections[0].stream);
  EXPECT_EQ(streams.at("d"), output->sections[0].stream);
  EXPECT_EQ(output->resources.streams.size(), 1u);
}

TEST_F(RecompileCuda, PreparingBesideARunGivesSectionsWithNewTasksNewStreams) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  auto output = compiler.compile(two_sections());
  const auto *first = output->resources.streams.at(0).get();
  const auto *second = output->resources.streams.at(1).get();
  auto spec = two_sections();
  add(spec, "m", "DeviceMap");
  spec.edges[1].to = "m";
  spec.connect("m", 0, "d", 0);
  auto prepared = compiler.prepare(spec, output.get());
  output = compiler.commit(std::move(prepared), std::move(output));
  EXPECT_EQ(output->sections[0].stream, first);
  EXPECT_NE(output->sections[1].stream, second);
  EXPECT_EQ(streams.at("c"), output->sections[1].stream);
  EXPECT_EQ(streams.at("m"), output->sections[1].stream);
}

TEST_F(RecompileCuda, DeviceTensorsOfASectionShareBlocks) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  core::GraphSpec spec;
  add(spec, "a", "DeviceSource");
  std::string last = "a";
  for (const std::string name : {"m1", "m2", "m3", "m4"}) {
    add(spec, name, "DeviceMap");
    spec.connect(last, 0, name, 0);
    last = name;
  }
  add(spec, "d", "DeviceSink");
  spec.connect(last, 0, "d", 0);
  const auto output = compiler.compile(spec);
  EXPECT_EQ(output->resources.storages.size(), 5u);
  EXPECT_EQ(output->resources.memory_blocks.size(), 3u);
  EXPECT_EQ(output->bill.blocks.device, 3u * 64u);
}

TEST_F(RecompileCuda, ABudgetOfDeviceMemoryIsKept) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  Config config{.device = Config::Device::Cuda};
  config.memory_budget = 100;
  EXPECT_THROW(
      (void)runtime::Compiler(registry, config).compile(two_sections()), core::CompileError);
}

TEST_F(RecompileCuda, MoreMemoryThanThereIsIsAnErrorThatLeavesThePreviousGraphUsable) {
  if (!have_gpu())
    GTEST_SKIP() << "no GPU";
  const core::TDesc huge({size_t{1} << 46}, core::DType::U8, core::MemLoc::Device);
  register_fake(
      registry, "Huge",
      SyncFake{
          .infer =
              [=](auto, const auto &) {
                core::InferResult result;
                result.output_descs = {huge};
                return result;
              },
          .create =
              [](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>(
                    [](core::SyncCtx &) { return OpResult::Eof; });
              }});
  auto output = compiler.compile(two_sections());
  EXPECT_THROW((void)compiler.compile(chain({{"h", "Huge"}}), std::move(output)), core::Error);
  ASSERT_NE(output, nullptr);
  output = compiler.compile(two_sections(), std::move(output));
  EXPECT_EQ(output->report.reused_blocks, 2u);
}

}  // namespace holoflow::test
