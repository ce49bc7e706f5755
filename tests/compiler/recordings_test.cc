// SPDX-License-Identifier: LGPL-2.1-or-later
// What is recorded: runs, their ends, their identity, and why the rest is not. No device is opened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/error.hh"
#include "holoflow/runtime/compiler.hh"
#include "tests/support/cleared_variable.hh"

namespace holoflow::test {

using runtime::CompilerConfig;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RecordingsTest : public testing::Test {
protected:
  RecordingsTest() { register_builtin_tasks(registry); }

  std::unique_ptr<runtime::CompilerOutput> plan(const core::GraphSpec &spec) {
    for (const auto &node : spec.nodes)
      if (node.kind == "Input")
        config.inputs[node.name] = {{1, 8, 16}, core::DType::F32, core::MemLoc::Host};
    return runtime::Compiler(registry, config).plan(spec);
  }
  std::unique_ptr<runtime::CompilerOutput> plan_chain(const std::string &chain) {
    return plan(core::GraphSpec::from_chain(chain, registry.keys()));
  }

  /// The names in each run, section after section.
  static std::vector<std::string> runs(const runtime::CompilerOutput &output) {
    std::vector<std::string> result;
    for (const auto &section : output.sections)
      for (const auto &run : section.runs) {
        auto &names = result.emplace_back();
        for (size_t i = run.first; i < run.first + run.count; ++i)
          names += (names.empty() ? "" : " ") + output.graph.nodes[section.sync_topo[i]].spec.name;
      }
    return result;
  }
  static std::string explanations(const runtime::CompilerOutput &output) {
    std::string text;
    for (const auto &decision : output.report.decisions)
      if (decision.kind == runtime::Decision::Kind::Replay)
        text += decision.text + "\n";
    return text;
  }
  std::string error_of(const std::string &chain) {
    try {
      (void)plan_chain(chain);
      return "";
    } catch (const core::CompileError &error) {
      return error.what();
    }
  }
  static std::string repeated(const std::string &task, int times) {
    std::string chain;
    for (int i = 0; i < times; ++i)
      chain += " ! " + task;
    return chain;
  }

  const test::ClearedVariable replay{"HOLOFLOW_REPLAY"};
  core::Registry registry;
  CompilerConfig config{.device = CompilerConfig::Device::Cuda};
};

TEST_F(RecordingsTest, TasksBetweenQueuesAreOneRunAndSingleOnesStayByThemselves) {
  const auto output =
      plan_chain("upload ! batchqueue ! affine ! sqrt ! clip ! batchqueue ! download");
  EXPECT_THAT(runs(*output), ElementsAre("affine sqrt clip"));
  const auto text = explanations(*output);
  EXPECT_THAT(
      text,
      HasSubstr("section 1 records 3 tasks and launches them as one: \"affine\" (Affine), "
                "\"sqrt\" (Sqrt), \"clip\" (Clip); definition "));
  EXPECT_THAT(
      text,
      HasSubstr("node \"upload\" (Upload) is launched by itself: a run of one task gains "
                "nothing by a recording"));
  EXPECT_THAT(text, HasSubstr("node \"download\" (Download) is launched by itself"));
  ASSERT_EQ(output->recordings.size(), 1u);
  EXPECT_EQ(output->recordings[0].tasks, 3u);
  EXPECT_EQ(output->recordings[0].key.size(), 16u);
}

TEST_F(RecordingsTest, CopiesToAndFromTheHostAreRecordedWithTheirNeighbours) {
  EXPECT_THAT(
      runs(*plan_chain("upload ! affine ! sqrt ! download")),
      ElementsAre("upload affine sqrt download"));
}

TEST_F(RecordingsTest, ATaskWithStateEndsARun) {
  const auto output = plan_chain(
      "upload ! affine ! sqrt ! causalslidingaverage window_size=3 ! abs ! clip ! download");
  EXPECT_THAT(runs(*output), ElementsAre("upload affine sqrt", "abs clip download"));
  EXPECT_THAT(
      explanations(*output),
      HasSubstr("node \"causalslidingaverage\" (CausalSlidingAverage) is not recorded: its task "
                "does not promise (InferResult::capturable) that it only enqueues"));
}

TEST_F(RecordingsTest, LongRunsAreCutIntoEqualPieces) {
  const auto output =
      plan_chain("upload ! batchqueue" + repeated("affine", 101) + " ! batchqueue ! download");
  ASSERT_EQ(output->sections[1].runs.size(), 2u);
  EXPECT_EQ(output->sections[1].runs[0].count, 50u);
  EXPECT_EQ(output->sections[1].runs[1].count, 51u);
  const auto hundred =
      plan_chain("upload ! batchqueue" + repeated("affine", 100) + " ! batchqueue ! download");
  EXPECT_EQ(hundred->sections[1].runs.size(), 1u);
}

TEST_F(RecordingsTest, SameWorkHasOneDefinitionOtherWorkAnother) {
  const std::string same = "affine ! sqrt", queue = " ! batchqueue ! ";
  const auto keys = [&](const std::string &first, const std::string &second) {
    const auto output = plan_chain("upload" + queue + first + queue + second + queue + "download");
    std::vector<size_t> occurrences;
    for (const auto &recording : output->recordings)
      occurrences.push_back(recording.occurrences);
    return occurrences;
  };
  EXPECT_THAT(keys("affine ! sqrt", "affine ! sqrt"), ElementsAre(2));
  EXPECT_THAT(keys("affine ! sqrt", "sqrt ! affine"), ElementsAre(1, 1));
  EXPECT_THAT(keys("affine ! sqrt", "affine scale=2 ! sqrt"), ElementsAre(1, 1));
  EXPECT_THAT(
      keys(
          "affine ! slice slices=[{},{\"stop\":4},{}] ! copy",
          "affine ! slice "
          "slices=[{},{\"stop\":4},{}] ! copy"),
      ElementsAre(1, 1))
      << "the second gets other descriptors";
}

TEST_F(RecordingsTest, WhatComesAfterTheLastDefinitionStaysEager) {
  config.max_recordings = 1;
  const auto output = plan_chain("upload ! batchqueue ! affine ! sqrt ! batchqueue ! abs ! clip ! "
                                 "batchqueue ! affine ! sqrt ! "
                                 "batchqueue ! download");
  EXPECT_THAT(runs(*output), ElementsAre("affine sqrt", "affine1 sqrt1"));
  EXPECT_THAT(
      explanations(*output),
      HasSubstr("node \"abs\" (Abs) is not recorded: cache full: 1 different pieces of work are "
                "recorded already (max_recordings)"));
}

namespace {

core::GraphSpec with_blurs(const std::string &first_params, const std::string &second_params) {
  return core::GraphSpec::from_json(
      R"({"graphs": {"blur": {"nodes": {"a": {"type": "Affine"}, "b": {"type": "Sqrt"}},
                              "edges": ["a -> b"], "inputs": ["a:0"], "outputs": ["b:0"]},
                     "twin": {"nodes": {"a": {"type": "Affine"}, "b": {"type": "Sqrt"}},
                              "edges": ["a -> b"], "inputs": ["a:0"], "outputs": ["b:0"]},
                     "other": {"nodes": {"a": {"type": "Affine", "params": {"scale": 3}},
                                         "b": {"type": "Sqrt"}},
                               "edges": ["a -> b"], "inputs": ["a:0"], "outputs": ["b:0"]}},
          "nodes": {"in": {"type": "Input"}, "up": {"type": "Upload"}, "x": {"type": "Abs"},
                    "first": {"type": "Graph", "params": )" +
      first_params + R"(}, "second": {"type": "Graph", "params": )" + second_params +
      R"(}, "y": {"type": "Abs"}, "z": {"type": "Clip"}, "down": {"type": "Download"},
                    "out": {"type": "Output"}},
          "edges": ["in -> up", "up -> x", "x -> first", "first -> second", "second -> y",
                    "y -> z", "z -> down", "down -> out"]})");
}

}  // namespace

TEST_F(RecordingsTest, AGraphNodeIsAUnitOfItsOwn) {
  const auto output = plan(with_blurs(R"({"graph": "blur"})", R"({"graph": "blur"})"));
  EXPECT_THAT(
      runs(*output), ElementsAre("up x", "first/a first/b", "second/a second/b", "y z down"));
  ASSERT_EQ(output->recordings.size(), 3u);
  EXPECT_EQ(output->recordings[1].occurrences, 2u) << "one definition, used twice";
}

TEST_F(RecordingsTest, OneKeyForOneDefinitionHoweverItIsCalled) {
  const auto output =
      plan(with_blurs(R"({"graph": "blur", "key": "k"})", R"({"graph": "twin", "key": "k"})"));
  EXPECT_EQ(output->recordings[1].occurrences, 2u);
}

TEST_F(RecordingsTest, OneKeyForTwoDefinitionsIsRefusedWithBothNodes) {
  try {
    (void)plan(with_blurs(R"({"graph": "blur", "key": "k"})", R"({"graph": "other", "key": "k"})"));
    FAIL() << "compiled";
  } catch (const core::CompileError &error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr("node \"second\" (Graph): the key \"k\" is that of node \"first\", whose "
                  "sub-graph \"blur\" has other nodes, edges or params than \"other\"; give each "
                  "definition a key of its own, or none"));
    EXPECT_EQ(error.faults.begin()->reason, core::Reason::BadParam);
  }
}

TEST_F(RecordingsTest, OffRecordsNothingAndSaysSo) {
  config.replay = CompilerConfig::Replay::Off;
  const auto output = plan_chain("upload ! affine ! sqrt ! download");
  EXPECT_THAT(runs(*output), IsEmpty());
  EXPECT_EQ(explanations(*output), "nothing is recorded: replay is off\n");
}

TEST_F(RecordingsTest, TheEnvironmentOverridesAutoOnly) {
  ::setenv("HOLOFLOW_REPLAY", "off", 1);
  EXPECT_THAT(runs(*plan_chain("upload ! affine ! download")), IsEmpty());
  config.replay = CompilerConfig::Replay::Require;
  EXPECT_EQ(runs(*plan_chain("upload ! affine ! download")).size(), 1u);
  config.replay = CompilerConfig::Replay::Auto;
  ::setenv("HOLOFLOW_REPLAY", "perhaps", 1);
  EXPECT_THAT(
      error_of("upload ! affine ! download"),
      HasSubstr("recordings: environment variable HOLOFLOW_REPLAY: expected off, auto or require, "
                "got \"perhaps\""));
}

TEST_F(RecordingsTest, RequireRefusesWhatCannotBeRecordedWithTheReason) {
  config.replay = CompilerConfig::Replay::Require;
  EXPECT_EQ(error_of("upload ! affine ! sqrt ! download"), "");
  EXPECT_EQ(error_of("upload ! batchqueue ! affine ! batchqueue ! download"), "")
      << "a run of one task is one launch anyway";
  EXPECT_THAT(
      error_of("upload ! affine ! causalslidingaverage window_size=3 ! download"),
      HasSubstr("recordings: node \"causalslidingaverage\" (CausalSlidingAverage): cannot be "
                "recorded, but replay is required: its task does not promise "
                "(InferResult::capturable) that it only enqueues; use replay = auto, or another "
                "task"));
  config.device = CompilerConfig::Device::Cpu;
  EXPECT_THAT(
      error_of("upload ! affine ! sqrt ! download"),
      HasSubstr("replay is required, but the graph runs on the CPU, where there is nothing to "
                "record"));
}

TEST_F(RecordingsTest, TheMemoryBillCountsRecordings) {
  const auto with = plan_chain("upload ! affine ! sqrt ! download");
  config.replay = CompilerConfig::Replay::Off;
  const auto without = plan_chain("upload ! affine ! sqrt ! download");
  EXPECT_EQ(
      with->bill.tasks.device - without->bill.tasks.device,
      4 * 2 * runtime::recorded_bytes_per_operation);
  EXPECT_THAT(to_text(with->bill), HasSubstr("recording of 4 tasks, estimated"));
}

}  // namespace holoflow::test
