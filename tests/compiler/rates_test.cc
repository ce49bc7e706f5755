// SPDX-License-Identifier: LGPL-2.1-or-later
// Rates and depths of queues where paths meet: compiled, then run to see that nothing hangs.
#include <thread>

#include "compile_fixture.hh"
#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/tensor.hh"
#include "holoflow/runtime/graph_runner.hh"
#include "tests/support/watchdog.hh"

namespace holoflow::test {

using testing::HasSubstr;

class RatesTest : public testing::Test {
protected:
  RatesTest() {
    register_builtin_tasks(registry);
    config.device = runtime::CompilerConfig::Device::Cpu;
    config.inputs = {{"in", frame(1)}};
  }

  static core::TDesc frame(size_t frames) {
    return {{frames, 2, 2}, core::DType::U8, core::MemLoc::Host};
  }

  std::unique_ptr<runtime::CompilerOutput> plan(const std::string &json) {
    return runtime::Compiler(registry, config).plan(core::GraphSpec::from_json(json));
  }

  std::string faults_of(const std::string &json) {
    try {
      (void)plan(json);
      return {};
    } catch (const core::CompileError &error) {
      return error.what();
    }
  }

  static size_t min_slots(const runtime::CompilerOutput &output, const std::string &name) {
    for (const auto &node : output.graph.nodes)
      if (node.spec.name == name)
        return node.min_slots;
    throw std::out_of_range(name);
  }

  /// First value of each tensor that leaves "out" while `frames` frames 0, 1, 2, … come in.
  std::vector<int> run(const std::string &json, int frames) {
    auto runner = runtime::GraphRunner::from_json(json, config, &registry);
    const auto input = config.inputs.at("in");
    std::thread feeder([&] {
      for (int i = 0; i < frames; i += static_cast<int>(input.shape[0])) {
        std::vector<uint8_t> pixels(input.num_elements());
        for (size_t k = 0; k < pixels.size(); ++k)
          pixels[k] = static_cast<uint8_t>(i + static_cast<int>(k / 4));
        const auto shared = std::make_shared<std::vector<uint8_t>>(std::move(pixels));
        if (!runner.push("in", shared->data(), input, {}, [shared] {}))
          break;
      }
      runner.end();
    });
    std::vector<int> result;
    while (const auto tensor = runner.pop("out"))
      result.push_back(static_cast<int>(tensor->data()[0]));
    feeder.join();
    return result;
  }

  core::Registry registry;
  runtime::CompilerConfig config;
};

/// Two paths from `in` to a difference; the first shows frame k of each window.
std::string two_paths(const std::string &first, const std::string &second) {
  return R"({"nodes": {
    "in": {"type": "Input"},
    "q1": {"type": "BatchQueue", "params": )" +
      first + R"(},
    "q2": {"type": "BatchQueue", "params": )" +
      second + R"(},
    "first": {"type": "Slice", "params": {"slices": [{"start": 0, "stop": 1}, {}, {}]}},
    "difference": {"type": "Subtract"}, "out": {"type": "Output"}},
    "edges": ["in -> q1", "in -> q2", "q1 -> first", "first -> difference:0",
              "q2 -> difference:1", "difference -> out"]})";
}

TEST_F(RatesTest, AQueueBesideAWideWindowGetsTheRoomItNeeds) {
  const auto graph =
      two_paths(R"({"output_size": 32, "output_stride": 1})", R"({"target_capacity": 4})");
  const auto output = plan(graph);
  EXPECT_EQ(min_slots(*output, "q2"), 32u);
  EXPECT_EQ(min_slots(*output, "q1"), 0u);
  EXPECT_THAT(
      output->report.notes,
      testing::Contains(
          HasSubstr("node \"q2\" (BatchQueue) holds at least 32 frames instead of 4")));
  // The bill knows the deeper queue.
  size_t bytes = 0;
  for (const auto &item : output->bill.task_items)
    if (item.node == "q2")
      bytes += item.need.bytes;
  EXPECT_EQ(bytes, 32u * 4u);
  const auto result = run(graph, 100);
  EXPECT_EQ(result, std::vector<int>(69, 0));  // both paths begin with frame 0
}

TEST_F(RatesTest, AHugeWindowOnASinglePathAsksForNothing) {
  for (const size_t size : {1'000'000, 1'000'001, 3'000'001}) {
    const auto output = plan(
        R"({"nodes": {"in": {"type": "Input"}, "q": {"type": "BatchQueue", "params":
          {"output_size": )" +
        std::to_string(size) + R"(}}, "f": {"type": "Copy"},
          "q2": {"type": "BatchQueue"}, "o": {"type": "Output"}},
          "edges": ["in -> q", "q -> f", "f -> q2", "q2 -> o"]})");
    EXPECT_EQ(min_slots(*output, "q"), 0u) << size;
  }
}

TEST_F(RatesTest, TheLimitIsExact) {
  // 32 frames are enough and asked for by nobody: no note, no extra room.
  const auto output =
      plan(two_paths(R"({"output_size": 32, "output_stride": 1})", R"({"target_capacity": 32})"));
  EXPECT_EQ(min_slots(*output, "q2"), 0u);
}

TEST_F(RatesTest, BatchesAndStridesOfBothSidesCount) {
  config.inputs = {{"in", frame(3)}};
  // Pushes of 3 frames; windows of 10 every 4 frames; the other path also advances by 4.
  const auto graph = two_paths(
      R"({"output_size": 10, "output_stride": 4})",
      R"({"output_size": 1, "output_stride": 4, "target_capacity": 1})");
  const auto output = plan(graph);
  EXPECT_EQ(min_slots(*output, "q2"), 12u);  // 3 + 9
  EXPECT_EQ(run(graph, 99).size(), 23u);  // ⌊(99 − 10) / 4⌋ + 1
}

/// A SlidingAverage beside a queue for `depth` frames.
std::string average_beside_queue(const std::string &average, const std::string &depth) {
  return R"({"nodes": {
    "in": {"type": "Input"}, "average": {"type": "SlidingAverage", "params": )" +
      average + R"(}, "q": {"type": "BatchQueue", "params": {"target_capacity": )" + depth +
      R"(}}, "difference": {"type": "Subtract"}, "out": {"type": "Output"}},
    "edges": ["in -> average", "in -> q", "average -> difference:0", "q -> difference:1",
              "difference -> out"]})";
}

TEST_F(RatesTest, AQueueBesideATaskThatLeavesItsFirstFramesOutGetsTheRoomItNeeds) {
  config.inputs = {{"in", core::TDesc({1, 2, 2}, core::DType::F32, core::MemLoc::Host)}};
  const auto slots = [&](const std::string &average, const std::string &depth) {
    return min_slots(*plan(average_beside_queue(average, depth)), "q");
  };
  EXPECT_EQ(slots(R"({"window_size": 4, "discard_first": 3})", "1"), 7u);  // 1 + (3 + 4 − 1)
  EXPECT_EQ(slots(R"({"window_size": 1, "discard_first": 9})", "4"), 10u);
  EXPECT_EQ(slots(R"({"window_size": 1, "discard_first": 3})", "4"), 0u);  // it fits
  EXPECT_EQ(slots(R"({"window_size": 1, "discard_first": 3})", "3"), 4u);
  // Pushes of 2 frames. Windows of one frame of the queue advance by one as the averages do:
  // 2 + (5 + 3 − 1).
  config.inputs = {{"in", core::TDesc({2, 2, 2}, core::DType::F32, core::MemLoc::Host)}};
  EXPECT_EQ(slots(R"({"window_size": 3, "discard_first": 5})", "1"), 9u);
}

TEST_F(RatesTest, ADelayOfItsOwnTakesNoRoomOfAnAverage) {
  config.inputs = {{"in", core::TDesc({1, 2, 2}, core::DType::F32, core::MemLoc::Host)}};
  const auto graph = [](const std::string &first, const std::string &second) {
    const auto node = [](const std::string &params) {
      return R"({"type": "SlidingAverage", "params": )" + params + "}";
    };
    return R"({"nodes": {"in": {"type": "Input"}, "a": )" + node(first) + R"(, "b": )" +
        node(second) + R"(, "difference": {"type": "Subtract"}, "out": {"type": "Output"}},
        "edges": ["in -> a", "in -> b", "a -> difference:0", "b -> difference:1",
                  "difference -> out"]})";
  };
  // "b" begins 9 frames after "in" does, "a" may begin after 7: 1 + 9 frames come, 6 are left out.
  const auto late = R"({"window_size": 2, "discard_first": 8})";
  const auto output = plan(graph(R"({"window_size": 1, "discard_first": 6})", late));
  EXPECT_EQ(min_slots(*output, "a"), 4u);
  EXPECT_EQ(min_slots(*output, "b"), 0u);
}

TEST_F(RatesTest, AGraphWithADelayRunsToItsEnd) {
  config.inputs = {{"in", core::TDesc({1, 1, 1}, core::DType::F32, core::MemLoc::Host)}};
  const Watchdog watchdog("a graph with a delay hangs");
  const float pixel = 1;  // borrowed by the runner until it has been used
  for (const auto *average :
       {R"({"window_size": 1, "discard_first": 3})",
        R"({"window_size": 4, "discard_first": 25})"}) {
    auto runner =
        runtime::GraphRunner::from_json(average_beside_queue(average, "1"), config, &registry);
    std::thread feeder([&] {
      for (int i = 0; i < 40; ++i)
        if (!runner.push("in", &pixel, config.inputs.at("in")))
          break;
      runner.end();
    });
    size_t count = 0;
    while (runner.pop("out"))
      ++count;
    feeder.join();
    EXPECT_EQ(count, std::string(average).find("25") == std::string::npos ? 37u : 12u);
  }
}

TEST_F(RatesTest, ADelayThatNoQueueCanHoldIsRefused) {
  config.inputs = {{"in", core::TDesc({1, 2, 2}, core::DType::F32, core::MemLoc::Host)}};
  EXPECT_THAT(
      faults_of(
          average_beside_queue(R"({"window_size": 1000000000, "discard_first": 1000000000})", "1")),
      HasSubstr("node \"q\" (BatchQueue): it needs room for 200000000"));
}

TEST_F(RatesTest, DisagreeingRatesAreRefusedWithBothRates) {
  const auto faults = faults_of(two_paths(R"({"output_stride": 4})", R"({"output_stride": 2})"));
  EXPECT_THAT(faults, HasSubstr("frame rates disagree where paths meet"));
  EXPECT_THAT(faults, HasSubstr("1/4"));
  EXPECT_THAT(faults, HasSubstr("1/2"));
  EXPECT_THAT(faults, HasSubstr("\"q1\""));
  EXPECT_THAT(faults, HasSubstr("\"q2\""));
  EXPECT_THAT(faults, HasSubstr("choose \"output_stride\""));
}

TEST_F(RatesTest, RatesAreComparedOverSeveralQueues) {
  const auto graph = [](const std::string &strides) {
    return R"({"nodes": {
      "in": {"type": "Input"}, "copy": {"type": "Copy"}, "sum": {"type": "Add"},
      "q1": {"type": "BatchQueue", "params": {"output_stride": 2}},
      "q2": {"type": "BatchQueue", "params": {"output_stride": 3}},
      "q3": {"type": "BatchQueue", "params": {"output_stride": )" +
        strides + R"(}},
      "out": {"type": "Output"}},
      "edges": ["in -> q1", "q1 -> copy", "copy -> q2", "in -> q3", "q2 -> sum:0", "q3 -> sum:1",
                "sum -> out"]})";
  };
  EXPECT_EQ(run(graph("6"), 61).size(), 11u);  // frames 0, 6, … 60
  EXPECT_THAT(faults_of(graph("5")), HasSubstr("frame rates disagree"));
}

TEST_F(RatesTest, AQueueThatDropsFramesMayNotMeetAnotherPath) {
  for (const std::string policy : {"drop-oldest", "drop-newest"}) {
    const auto faults =
        faults_of(two_paths("{\"policy\": \"" + policy + "\"}", R"({"target_capacity": 9})"));
    EXPECT_THAT(faults, HasSubstr("node \"q1\" (BatchQueue): it drops frames when it is full"));
    EXPECT_THAT(faults, HasSubstr("drop frames before the paths part"));
  }
  // A preview that drops frames beside a recording that does not: the paths never meet.
  EXPECT_EQ(
      faults_of(R"({"nodes": {
        "in": {"type": "Input"}, "q1": {"type": "BatchQueue", "params": {"policy": "drop-oldest"}},
        "q2": {"type": "BatchQueue"}, "preview": {"type": "Output"}, "out": {"type": "Output"}},
        "edges": ["in -> q1", "in -> q2", "q1 -> preview", "q2 -> out"]})"),
      "");
}

TEST_F(RatesTest, IndependentSourcesMayDiffer) {
  config.inputs = {{"a", frame(1)}, {"b", frame(1)}};
  EXPECT_EQ(
      faults_of(R"({"nodes": {
        "a": {"type": "Input"}, "b": {"type": "Input"}, "sum": {"type": "Add"},
        "q1": {"type": "BatchQueue", "params": {"output_stride": 2}}, "q2": {"type": "BatchQueue"},
        "out": {"type": "Output"}},
        "edges": ["a -> q1", "b -> q2", "q1 -> sum:0", "q2 -> sum:1", "sum -> out"]})"),
      "");
}

TEST_F(RatesTest, ARateLimiterOnTheShortPathGetsSlots) {
  const std::string graph = R"({"nodes": {
    "in": {"type": "Input"},
    "q1": {"type": "BatchQueue", "params": {"output_size": 8, "output_stride": 1}},
    "limit": {"type": "RateLimiter", "params": {"max_fps": 1000000}},
    "first": {"type": "Slice", "params": {"slices": [{"start": 0, "stop": 1}, {}, {}]}},
    "sum": {"type": "Add"}, "out": {"type": "Output"}},
    "edges": ["in -> q1", "in -> limit", "q1 -> first", "first -> sum:0", "limit -> sum:1",
              "sum -> out"]})";
  EXPECT_EQ(min_slots(*plan(graph), "limit"), 8u);
  EXPECT_EQ(run(graph, 20).size(), 13u);
}

TEST_F(RatesTest, RatesBeyondAllNumbersAreRefused) {
  std::string nodes = R"("in": {"type": "Input"}, "out": {"type": "Output"})", edges;
  std::string last = "in";
  for (int i = 0; i < 70; ++i) {
    const auto q = "q" + std::to_string(i), c = "c" + std::to_string(i);
    nodes += R"(, ")" + q + R"(": {"type": "BatchQueue", "params": {"output_stride": 2}}, ")" + c +
        R"(": {"type": "Copy"})";
    edges += "\"" + last + " -> " + q + "\", \"" + q + " -> " + c + "\", ";
    last = c;
  }
  EXPECT_THAT(
      faults_of("{\"nodes\": {" + nodes + "}, \"edges\": [" + edges + "\"" + last + " -> out\"]}"),
      HasSubstr("too far from the rate of \"in\" to be computed"));
}

TEST_F(RatesTest, AForeignQueueOnSuchAPathIsWarnedOf) {
  core::Registry fakes_registry;
  FakeTasks fakes(fakes_registry);
  core::GraphSpec spec;
  spec.add_node("A", "Source").add_node("Q", "Queue").add_node("R", "Queue");
  spec.add_node("S", "Sum").add_node("D", "Sink");
  spec.connect("A", 0, "Q", 0).connect("A", 0, "R", 0).connect("Q", 0, "S", 0);
  spec.connect("R", 0, "S", 1).connect("S", 0, "D", 0);
  config.inputs.clear();
  const auto output = runtime::Compiler(fakes_registry, config).plan(spec);
  EXPECT_THAT(
      output->report.notes,
      testing::Contains(HasSubstr("node \"R\" (Queue) does not say how many frames it takes")));
}

}  // namespace holoflow::test
