// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures, traces, and that nothing is written unasked.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "compile_fixture.hh"
#include "holoflow/runtime/graph_display.hh"

namespace holoflow::test {

using testing::HasSubstr;
using testing::Not;

class DiagnosticsTest : public CompilerTest {
protected:
  ~DiagnosticsTest() override { std::filesystem::remove_all(folder); }

  runtime::CompilerConfig writing_config() const {
    runtime::CompilerConfig config;
    config.log_dir = folder;
    config.enable_profiling = true;
    config.device = runtime::CompilerConfig::Device::Cpu;
    return config;
  }

  std::string read(const std::string &name) const {
    std::ifstream file(folder / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  static std::vector<std::string> files_in(const std::filesystem::path &path) {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      names.push_back(entry.path().filename());
    return names;
  }

  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
      ("holoflow-diagnostics-" + std::to_string(::getpid()));
};

TEST_F(DiagnosticsTest, TraceHoldsOneEventPerPass) {
  (void)runtime::Compiler(registry, writing_config())
      .compile(chain({{"A", "Source"}, {"B", "Sink"}}));
  const auto trace = nlohmann::json::parse(read("trace_events.json"));
  ASSERT_EQ(trace.at("traceEvents").size(), 12u);
  for (const auto &event : trace.at("traceEvents")) {
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_GE(event.at("dur"), 0.0);
  }
}

TEST_F(DiagnosticsTest, TheReportHoldsTheSameSpansWhereTheyAreWanted) {
  const auto spec = chain({{"A", "Source"}, {"B", "Sink"}});
  auto config = writing_config();
  config.log_dir.clear();
  const auto output = runtime::Compiler(registry, config).compile(spec);
  EXPECT_EQ(output->report.spans.size(), 12u);
  for (const auto &span : output->report.spans)
    EXPECT_EQ(span.category, "compile") << span.name;
  config.enable_profiling = false;
  EXPECT_TRUE(runtime::Compiler(registry, config).compile(spec)->report.spans.empty());
}

TEST_F(DiagnosticsTest, VerboseTraceHoldsEveryFactoryCallAndAnyName) {
  auto config = writing_config();
  config.verbose_tracing = true;
  const std::string strange = "a\"b\\c\n\xff\x01";
  (void)runtime::Compiler(registry, config).compile(chain({{strange, "Source"}, {"B", "Sink"}}));
  const auto trace = nlohmann::json::parse(read("trace_events.json"));
  std::vector<std::string> names;
  for (const auto &event : trace.at("traceEvents"))
    if (event.at("cat") == "factory")
      names.push_back(event.at("name"));
  ASSERT_EQ(names.size(), 4u);
  EXPECT_THAT(names, testing::Contains("infer B"));
  EXPECT_THAT(names, testing::Contains("create B"));
  EXPECT_THAT(names, testing::Contains(testing::StartsWith("infer a\"b\\c\n")));
}

TEST_F(DiagnosticsTest, SuccessPictureShowsSectionsTensorsStoragesAndOwners) {
  auto spec =
      chain({{"A", "Source"}, {"B", "InPlace"}, {"Q", "OwnedQueue"}, {"C", "Add"}, {"D", "Sink"}});
  spec.nodes[3].settings = {{"value", 2.5}};
  const auto output = runtime::Compiler(registry, writing_config()).compile(spec);
  const auto dot = read("compilation_success.dot");
  EXPECT_EQ(dot, runtime::to_dot(*output, registry));
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_0"));
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_1"));
  EXPECT_THAT(dot, HasSubstr("section 0, CPU"));
  EXPECT_THAT(dot, HasSubstr("{\\\"value\\\":2.5}"));
  EXPECT_THAT(dot, HasSubstr("F32 [1] on Host\\ntensor 0, storage "));
  EXPECT_THAT(dot, HasSubstr("out 0 overwrites in 0"));
  EXPECT_THAT(dot, HasSubstr("shape=cds"));
  EXPECT_THAT(dot, HasSubstr("arrowhead=diamond"));
  EXPECT_THAT(dot, HasSubstr("dir=both, arrowtail=diamond"));
}

TEST_F(DiagnosticsTest, FailurePictureShowsWhatWasFoundAndMarksFaults) {
  auto spec = chain({{"A", "Source"}, {"B", "Add"}, {"C", "Sink"}});
  spec.connect("A", 0, "B", 3);
  EXPECT_THROW(
      (void)runtime::Compiler(registry, writing_config()).compile(spec), core::CompileError);
  const auto dot = read("compilation_failure.dot");
  EXPECT_THAT(dot, HasSubstr("F32 [1] on Host"));
  EXPECT_THAT(dot, HasSubstr("color=red"));
  EXPECT_THAT(dot, HasSubstr("input 3 is out of range"));
  EXPECT_THAT(nlohmann::json::parse(read("trace_events.json")).at("traceEvents").size(), 3u);
}

TEST_F(DiagnosticsTest, FailurePictureOfEveryPassIsWritten) {
  for (const auto &spec : {
           chain({{"A", "Nope"}}),
           chain({{"A", "Source"}, {"Q", "Queue"}}),
           chain({{"A", "Source"}, {"Q", "Queue"}, {"R", "Queue"}, {"B", "Sink"}}),
           chain({{"A", "FirmSource"}, {"B", "FirmSink"}}),
       }) {
    std::filesystem::remove_all(folder);
    EXPECT_THROW(
        (void)runtime::Compiler(registry, writing_config()).compile(spec), core::CompileError);
    EXPECT_THAT(read("compilation_failure.dot"), HasSubstr("color=red"));
  }
}

TEST_F(DiagnosticsTest, NothingIsWrittenWithoutAFolder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  runtime::CompilerConfig config;
  config.enable_profiling = true;
  config.verbose_tracing = true;
  config.device = runtime::CompilerConfig::Device::Cpu;
  runtime::Compiler compiler(registry, config);
  (void)compiler.compile(chain({{"A", "Source"}, {"B", "Sink"}}));
  EXPECT_THROW((void)compiler.compile(chain({{"A", "Nope"}})), core::CompileError);
  std::filesystem::current_path(before);
  EXPECT_TRUE(files_in(folder).empty());
}

TEST_F(DiagnosticsTest, AFolderThatCannotBeWrittenChangesNothing) {
  auto config = writing_config();
  config.log_dir = "/dev/null/below";
  EXPECT_NE(
      runtime::Compiler(registry, config).compile(chain({{"A", "Source"}, {"B", "Sink"}})),
      nullptr);
}

TEST_F(DiagnosticsTest, PlanExplainsItself) {
  auto spec =
      chain({{"A", "Source"}, {"B", "InPlace"}, {"Q", "OwnedQueue"}, {"C", "Add"}, {"D", "Sink"}});
  const auto output = runtime::Compiler(registry, {}).plan(spec);
  EXPECT_TRUE(output->resources.storages.empty());
  EXPECT_TRUE(output->resources.tasks.empty());
  std::string text;
  for (const auto &decision : output->report.decisions)
    text += std::string(to_string(decision.kind)) + ": " + decision.text + "\n";
  EXPECT_THAT(
      text,
      HasSubstr("section: node \"Q\" (OwnedQueue) is asynchronous: section 0 pushes "
                "to it, section 1 pops from it"));
  EXPECT_THAT(
      text, HasSubstr("alias: node \"B\" (InPlace): output 0 lives in the memory of input 0"));
  EXPECT_THAT(text, HasSubstr("owner: node \"Q\" (OwnedQueue) lends its own memory for input 0"));
  EXPECT_EQ(fakes.journal.lines().size(), 0u) << "plan creates no task";
}

}  // namespace holoflow::test
