// SPDX-License-Identifier: LGPL-2.1-or-later
// Reasons of faults: what programs may rely on, whatever the sentences say.
#include <algorithm>
#include <limits>

#include "compile_fixture.hh"
#include "holoflow/builtin_tasks.hh"
#include "holoflow/tasks/task_spec.hh"

namespace holoflow::test {

using core::Reason;
using testing::ElementsAre;
using testing::Not;

namespace {

std::vector<Reason> reasons_of(const core::FaultList &faults) {
  std::vector<Reason> reasons;
  for (const auto &fault : faults)
    reasons.push_back(fault.reason);
  return reasons;
}

class Reasons : public CompilerTest {
protected:
  Reasons() { register_builtin_tasks(builtins); }

  /// Of a compile with fake tasks.
  std::vector<Reason> of(const core::GraphSpec &spec, runtime::CompilerConfig config = {}) {
    config.device = runtime::CompilerConfig::Device::Cpu;
    try {
      (void)runtime::Compiler(registry, config).compile(spec);
    } catch (const core::CompileError &error) {
      EXPECT_EQ(error.reason, error.faults.front().reason);
      return reasons_of(error.faults);
    }
    return {};
  }

  /// Of an inference with built-in tasks; "in" gets U8 [1, 4, 4].
  std::vector<Reason> of_builtin(const std::string &json, bool with_tensor = true) {
    runtime::CompilerConfig config;
    if (with_tensor)
      config.inputs.emplace("in", core::TDesc({1, 4, 4}, core::DType::U8, core::MemLoc::Host));
    return reasons_of(
        runtime::Compiler(builtins, config).infer(core::GraphSpec::from_json(json)).faults);
  }

  core::Registry builtins;
};

}  // namespace

TEST_F(Reasons, OfAGraphByItself) {
  core::GraphSpec twice;
  twice.add_node("n", "Source").add_node("n", "Source");
  EXPECT_THAT(of(twice), ElementsAre(Reason::BadGraph));
  EXPECT_THAT(of(chain({{"A", "Sorce"}})), ElementsAre(Reason::UnknownType));
  auto edge = chain({{"A", "Source"}, {"B", "Sink"}});
  edge.connect("A", 0, "C", 0);
  EXPECT_THAT(of(edge), ElementsAre(Reason::BadEdge));
  auto two = chain({{"A", "Source"}, {"B", "Sink"}});
  two.connect("A", 0, "B", 0);
  EXPECT_THAT(of(two), ElementsAre(Reason::BadEdge));
  EXPECT_THAT(
      of(chain({{"A", "Source"}, {"Q", "Queue"}, {"R", "Queue"}, {"B", "Sink"}})),
      ElementsAre(Reason::AsyncNeighbours));
  core::GraphSpec cycle;
  cycle.add_node("A", "Add").connect("A", 0, "A", 0);
  EXPECT_THAT(of(cycle), ElementsAre(Reason::Cycle));
  runtime::CompilerConfig config;
  config.inputs.emplace("none", scalar());
  EXPECT_THAT(of(chain({{"A", "Source"}, {"B", "Sink"}}), config), ElementsAre(Reason::BadConfig));
}

TEST_F(Reasons, OfTensorsAndParams) {
  EXPECT_THAT(
      of_builtin(R"({"nodes": {"in": {"type": "Input", "params": {"bach": 1}}}})"),
      ElementsAre(Reason::BadParam));
  EXPECT_THAT(
      of_builtin(R"({"nodes": {"in": {"type": "Input"}}})", false),
      ElementsAre(Reason::MissingTensor));
  EXPECT_THAT(
      of_builtin(
          R"({"nodes": {"c": {"type": "Copy"}, "o": {"type": "Output"}}, "edges": ["c->o"]})",
          false),
      ElementsAre(Reason::MissingInput, Reason::NotChecked));
  EXPECT_THAT(
      of_builtin(R"({"nodes": {"in": {"type": "Input"}, "f": {"type": "FFT2"}},
                     "edges": ["in->f"]})"),
      ElementsAre(Reason::Incompatible));
  // A value that is wrong for this shape, not by itself.
  EXPECT_THAT(
      of_builtin(R"({"nodes": {"in": {"type": "Input"},
                     "r": {"type": "Reshape", "params": {"shape": [3]}}}, "edges": ["in->r"]})"),
      ElementsAre(Reason::Incompatible));
}

TEST_F(Reasons, OfBrokenTasksAndOwnership) {
  auto masks = contract(1, 1);
  masks.owned_outputs = {false, false};
  register_fake(
      registry, "Masks",
      SyncFake{.infer = [masks](auto, const auto &) { return masks; }, .create = {}});
  EXPECT_THAT(of(chain({{"A", "Source"}, {"x", "Masks"}})), ElementsAre(Reason::BrokenTask));
  register_fake(
      registry, "Picky",
      SyncFake{
          .infer = [](auto, const auto &) -> core::InferResult {
            throw core::Refusal(Reason::MissingTensor, "no");
          },
          .create = {}});
  EXPECT_THAT(of(chain({{"A", "Source"}, {"x", "Picky"}})), ElementsAre(Reason::MissingTensor));
  EXPECT_THAT(of(chain({{"A", "FirmSource"}, {"B", "FirmSink"}})), ElementsAre(Reason::Ownership));
  EXPECT_THAT(of(chain({{"A", "Source"}, {"Q", "Queue"}})), ElementsAre(Reason::UnreadOutput));
  runtime::CompilerConfig config;
  config.memory_budget = 1;
  EXPECT_THAT(of(chain({{"A", "Source"}, {"B", "Sink"}}), config), ElementsAre(Reason::OverBudget));
}

TEST_F(Reasons, OfDevices) {
  try {
    (void)runtime::host_device().allocate(core::MemLoc::Host, size_t{1} << 62);
    FAIL() << "was allocated";
  } catch (const core::DeviceError &error) {
    EXPECT_EQ(error.reason, Reason::OutOfMemory);
  }
}

// The compiler lists few faults of a graph that has very many, and looks for no more.
TEST_F(Reasons, ListsAreBoundedAndTheRestIsCounted) {
  core::GraphSpec edges;
  edges.add_node("A", "Source").add_node("B", "Sink").connect("A", 0, "B", 0);
  const std::string name(size_t{1} << 16, 'n');
  for (int i = 0; i < 2000; ++i)
    edges.connect(name + std::to_string(i), 0, "x", 0);
  core::GraphSpec types;
  for (int i = 0; i < 2000; ++i)
    types.add_node("n" + std::to_string(i), "Sorce" + name.substr(0, 200));
  core::GraphSpec cycles;
  for (int i = 0; i < 2000; ++i) {
    const auto a = "a" + std::to_string(i), b = "b" + std::to_string(i);
    cycles.add_node(a, "Add").add_node(b, "Add").connect(a, 0, b, 0).connect(b, 0, a, 0);
  }
  core::GraphSpec circle;
  for (int i = 0; i < 2000; ++i)
    circle.add_node("n" + std::to_string(i), "Add");
  for (int i = 0; i < 2000; ++i)
    circle.connect("n" + std::to_string(i), 0, "n" + std::to_string((i + 1) % 2000), 0);
  core::GraphSpec behind = chain({{"bad", "Add"}, {"n", "Add"}});
  for (int i = 0; i < 2000; ++i) {
    behind.add_node("n" + std::to_string(i), "Add");
    behind.connect("n", 0, "n" + std::to_string(i), 0);
  }
  const runtime::Compiler compiler(registry, {});
  for (const auto *spec : {&edges, &types, &cycles, &circle, &behind}) {
    const auto faults = compiler.infer(*spec).faults;
    ASSERT_FALSE(faults.empty());
    EXPECT_LE(faults.size(), core::max_listed_faults);
    EXPECT_LE(core::to_text(faults).size(), 1000 * faults.size());
  }
  EXPECT_EQ(compiler.infer(edges).faults.total(), 4000u);
  EXPECT_EQ(compiler.infer(types).faults.total(), 2000u);
  EXPECT_THAT(
      core::CompileError(compiler.infer(edges).faults).what(),
      testing::EndsWith("\nand 3950 more"));
}

TEST_F(Reasons, ParamsOfAStrangerGiveFewAndShortFaults) {
  nlohmann::json settings;
  for (int i = 0; i < 5000; ++i)
    settings["k" + std::to_string(i)] = 1;
  settings["policy"] = std::string(size_t{1} << 20, 'p');
  settings["output_size"] = nlohmann::json(std::vector<int>(100'000, 1));
  core::GraphSpec spec;
  spec.add_node("q", "BatchQueue", settings);
  const auto faults = runtime::Compiler(builtins, {}).infer(spec).faults;
  EXPECT_EQ(faults.size(), core::max_listed_faults);
  EXPECT_GE(faults.total(), 5000u);
  EXPECT_LE(core::to_text(faults).size(), 1000 * faults.size());
}

namespace {

/// Each param that counts something, and each that has no default, as `value`.
nlohmann::json settings_of(const tasks::TaskSpec &spec, const nlohmann::json &value) {
  auto settings = nlohmann::json::object();
  for (const auto &param : spec.params) {
    if ((param.types & tasks::Int) == 0 && param.default_value)
      continue;
    const size_t count = value == 1 ? 65 : 1;
    if ((param.types & tasks::IntArray) != 0)
      settings[param.name] = std::vector<nlohmann::json>(count, value);
    else
      settings[param.name] = param.choices.empty() ? value : nlohmann::json(param.choices.front());
  }
  return settings;
}

/// The task itself refuses, or gives what the compiler accepts.
void expect_no_blame(
    const core::Registry &registry, const tasks::TaskSpec &spec, const core::TDesc &tensor,
    const nlohmann::json &settings) {
  SCOPED_TRACE(spec.type + " " + settings.dump() + " " + core::to_string(tensor));
  const std::map<std::string, core::TDesc> graph_inputs{{"x", tensor}};
  const tasks::InferContext context{.node_name = "x", .graph_inputs = &graph_inputs};
  const auto *factory = dynamic_cast<const tasks::IContextualFactory *>(&registry.get(spec.type));
  ASSERT_NE(factory, nullptr);
  try {
    const std::vector<core::TDesc> inputs(spec.inputs.size(), tensor);
    const auto result = factory->infer_in(context, inputs, settings);
    for (const auto &output : result.output_descs)
      EXPECT_TRUE(tasks::is_possible(output)) << core::to_string(output);
    if (const auto &window = result.window) {
      EXPECT_GT(window->frames_in, 0u);
      EXPECT_GT(window->size, 0u);
      EXPECT_GT(window->stride, 0u);
    }
  } catch (const std::exception &error) {
    EXPECT_THAT(
        error.what(), testing::AnyOf(testing::HasSubstr("expected"), testing::HasSubstr("use ")));
  }
}

}  // namespace

// What a graph may ask of them, and they cannot do, they say themselves: with numbers.
TEST_F(Reasons, BuiltInTasksAreNotBlamedForWhatAGraphAsksOfThem) {
  using core::DType;
  constexpr size_t one = 1;
  const std::vector<std::vector<size_t>> shapes = {
      {},
      {0},
      {4},
      {0, 4},
      {2, 3},
      {0, 4, 4},
      {1, 4, 4},
      {3, 4, 4},
      {1, 0, 4},
      {2, 4, 4, 3},
      {1, one << 20, one << 20},
      {1, one << 24, one << 20},
      {one << 31, 1, 1}};
  const std::vector<nlohmann::json> values = {
      1, 0, 2, one << 20, one << 31, one << 40, std::numeric_limits<int64_t>::max()};
  for (const auto &type : builtins.keys()) {
    const auto *spec = tasks::find_spec(builtins, type);
    ASSERT_NE(spec, nullptr) << type;
    for (const auto &value : values)
      for (const auto &shape : shapes)
        for (const auto dtype : {DType::U8, DType::F32, DType::CF32})
          expect_no_blame(
              builtins, *spec, core::TDesc(shape, dtype, core::MemLoc::Host),
              settings_of(*spec, value));
  }
}

TEST_F(Reasons, SettingsThatCannotWorkAreRefusedWithNumbers) {
  const auto faults = [&](const core::TDesc &frames, const std::string &chain) {
    const auto spec = core::GraphSpec::from_chain(chain, builtins.keys());
    runtime::CompilerConfig config;
    config.inputs.emplace("input", frames);
    return core::to_text(runtime::Compiler(builtins, config).infer(spec).faults);
  };
  const auto u8 = [](std::vector<size_t> shape) {
    return core::TDesc(std::move(shape), core::DType::U8, core::MemLoc::Host);
  };
  EXPECT_THAT(
      faults(u8({2, 4, 4}), "slice slices=[{\"start\":2},{},{}] ! ratelimiter max_fps=1"),
      testing::HasSubstr("(RateLimiter), input 0: expected at least one frame along axis 0, got "
                         "U8 [0, 4, 4]"));
  for (const char *chain :
       {"batchqueue output_size=281474976710656", "batchqueue output_size=17592186044416",
        "batchqueue output_size=1 target_capacity=281474976710656"}) {
    const auto text = faults(u8({1, 64, 64}), chain);
    EXPECT_THAT(text, testing::HasSubstr("(BatchQueue)"));
    EXPECT_THAT(text, testing::HasSubstr("expected at most"));
    EXPECT_THAT(text, Not(testing::HasSubstr("broke its contract")));
  }
  const auto batch =
      faults(u8({1, size_t{1} << 20, size_t{1} << 20}), "input batch=1048576 ! copy");
  EXPECT_THAT(
      batch,
      testing::HasSubstr("output 0: expected at most 64 axes and 281474976710656 bytes, got U8 "
                         "[1048576, 1048576, 1048576] on Host for the params {\"as\":null,"
                         "\"batch\":1048576,"));
}

}  // namespace holoflow::test
