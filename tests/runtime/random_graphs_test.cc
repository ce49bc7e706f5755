// SPDX-License-Identifier: LGPL-2.1-or-later
// Random small graphs of built-in tasks: whatever compiles must run to its end, lose no frame, and
// give the same bytes with other queue depths, without shared memory and with every edge copied. On
// a GPU every tensor is uploaded first and downloaded last.
//
//   HOLOFLOW_SEARCH_GRAPHS=10000 HOLOFLOW_SEARCH_SEED=1 HOLOFLOW_SEARCH_DEVICE=cuda test_runtime
//   --gtest_filter='RandomGraphs.*'
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/graph_runner.hh"
#include "tests/support/watchdog.hh"

namespace holoflow::test {

namespace {

using core::GraphSpec;
using runtime::GraphRunner;

size_t setting(const char *name, size_t otherwise) {
  const char *text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Candidate {
  GraphSpec graph;
  std::map<std::string, core::TDesc> inputs;
  std::map<std::string, int> pushes;  ///< tensors that each Input gets
};

class GraphMaker {
public:
  GraphMaker(uint64_t seed, runtime::CompilerConfig::Device device)
      : random_(seed), on_gpu_(device == runtime::CompilerConfig::Device::Cuda) {}

  Candidate make() {
    candidate_ = {};
    open_.clear();
    unread_.clear();
    const int inputs = chance(25) ? 2 : 1;
    const auto frames = pick(1, 3);
    for (int i = 0; i < inputs; ++i)
      add_input("in" + std::to_string(i), chance(80) ? frames : pick(1, 3));
    for (int i = pick(1, 9 - inputs); i > 0; --i)
      add_random_node(i);
    int outputs = 0;
    for (const auto &node : unread_) {
      const auto number = std::to_string(outputs++);
      const auto name = "out" + number;
      const auto last = on_gpu_ ? add_after(node, "down" + number, "Download") : node;
      candidate_.graph.add_node(name, "Output").connect(last, 0, name, 0);
    }
    return candidate_;
  }

private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <typename T> T one_of(const std::vector<T> &list) {
    return list[static_cast<size_t>(pick(0, static_cast<int>(list.size()) - 1))];
  }

  void add_input(const std::string &name, int frames) {
    candidate_.graph.add_node(name, "Input");
    candidate_.inputs.emplace(
        name,
        core::TDesc({static_cast<size_t>(frames), 3, 4}, core::DType::F32, core::MemLoc::Host));
    candidate_.pushes[name] = pick(0, 40);
    const auto first = on_gpu_ ? add_after(name, "up_" + name, "Upload") : name;
    open_.push_back(first);
    unread_.push_back(first);
  }

  std::string add_after(const std::string &from, const std::string &name, const char *type) {
    candidate_.graph.add_node(name, type).connect(from, 0, name, 0);
    return name;
  }

  /// The newest tensor, or any other one, so that long chains and fan-out both come up.
  std::string source() { return chance(60) ? open_.back() : one_of(open_); }

  void add_random_node(int number) {
    struct Kind {
      const char *type;
      int weight, inputs;
    };
    static const std::vector<Kind> kinds = {
        {"BatchQueue", 8, 1}, {"RateLimiter", 2, 1}, {"Sqrt", 3, 1},      {"Abs", 2, 1},
        {"Affine", 2, 1},     {"Clip", 2, 1},        {"Normalize", 1, 1}, {"Copy", 1, 1},
        {"Upload", 1, 1},     {"Download", 1, 1},    {"Slice", 4, 1},     {"Transpose", 1, 1},
        {"Mean", 2, 1},       {"FFTShift", 1, 1},    {"Add", 4, 2},       {"Subtract", 3, 2},
        {"Multiply", 1, 2},   {"Reshape", 1, 1}};
    int total = 0;
    for (const auto &kind : kinds)
      total += kind.weight;
    int at = pick(1, total);
    const auto kind = *std::find_if(kinds.begin(), kinds.end(), [&](const Kind &each) {
      at -= each.weight;
      return at <= 0;
    });
    const auto name = "n" + std::to_string(number);
    candidate_.graph.add_node(name, kind.type, params_of(kind.type));
    for (int i = 0; i < kind.inputs; ++i) {
      const auto from = source();
      candidate_.graph.connect(from, 0, name, i);
      std::erase(unread_, from);
    }
    open_.push_back(name);
    unread_.push_back(name);
  }

  nlohmann::json params_of(const std::string &type) {
    if (type == "BatchQueue") {
      nlohmann::json params = {{"output_size", chance(50) ? 1 : pick(1, 6)}};
      if (chance(60))
        params["output_stride"] = chance(50) ? 1 : pick(1, 6);
      params["target_capacity"] = pick(1, 6);
      return params;
    }
    if (type == "RateLimiter")
      return {{"max_fps", 1e5}};
    if (type == "Affine")
      return {{"scale", 1.5}, {"offset", -0.25}};
    if (type == "Mean")
      return {{"axis", pick(0, 2)}, {"keepdims", true}};
    if (type == "Transpose")
      return {{"axes", {0, 2, 1}}};
    if (type == "Reshape")
      return {{"shape", one_of<nlohmann::json>({{-1, 4, 3}, {1, -1, 4}, {-1, 12, 1}})}};
    if (type == "Slice") {
      auto slices = nlohmann::json::array();
      for (int axis = 0; axis < 3; ++axis) {
        auto range = nlohmann::json::object();
        if (chance(40))
          range["stop"] = pick(1, 3);
        if (axis > 0 && chance(20))
          range["step"] = 2;
        slices.push_back(range);
      }
      return {{"slices", slices}};
    }
    return nlohmann::json::object();
  }

  std::mt19937_64 random_;
  const bool on_gpu_;
  Candidate candidate_;
  std::vector<std::string> open_, unread_;
};

using Bytes = std::vector<std::byte>;
using Results = std::map<std::string, std::vector<Bytes>>;

/// Runs the graph until it has drained. Fails where the ledger does not balance.
Results run(GraphRunner &runner, const Candidate &candidate) {
  Results results;
  std::vector<std::thread> threads;
  for (const auto &node : candidate.graph.nodes)
    if (node.kind == "Output")
      results[node.name];
  for (auto &[name, tensors] : results)
    threads.emplace_back([&runner, &name = name, &tensors = tensors] {
      while (const auto tensor = runner.pop(name)) {
        const auto *data = tensor->data();
        tensors.emplace_back(data, data + tensor->desc().num_bytes());
      }
    });
  std::vector<std::thread> feeders;
  for (const auto &[name, desc] : candidate.inputs)
    feeders.emplace_back([&runner, &candidate, &name = name, &desc = desc] {
      for (int i = 0; i < candidate.pushes.at(name); ++i) {
        const auto frame = std::make_shared<std::vector<float>>(desc.num_elements());
        for (size_t k = 0; k < frame->size(); ++k)
          (*frame)[k] = static_cast<float>(i) + 0.01f * static_cast<float>(k);
        if (!runner.push(name, frame->data(), desc, {}, [frame] {}))
          break;
      }
      runner.end(name);
    });
  for (auto &feeder : feeders)
    feeder.join();
  for (auto &thread : threads)
    thread.join();
  runner.scheduler().wait();
  for (const auto &[name, node] : runner.scheduler().ledger()) {
    uint64_t gone = node.left + node.skipped + node.failed + node.held;
    for (const auto &[reason, count] : node.dropped)
      gone += count;
    EXPECT_EQ(node.entered, gone) << name;
  }
  return results;
}

/// Tensors that each Output must give, from the queues' arithmetic alone.
std::map<std::string, uint64_t> expected_counts(
    const runtime::CompilerOutput &compiled, const Candidate &candidate) {
  const auto &nodes = compiled.graph.nodes;
  const auto unlimited = ~uint64_t{0};
  std::vector<uint64_t> iterations(compiled.sections.size(), unlimited);
  std::vector<uint64_t> pushes(nodes.size(), unlimited);  // by asynchronous node
  // Sections form an acyclic graph: as many rounds as sections settle it.
  for (size_t round = 0; round <= compiled.sections.size(); ++round)
    for (size_t id = 0; id < compiled.sections.size(); ++id) {
      const auto &section = compiled.sections[id];
      uint64_t least = unlimited;
      for (const auto node : section.sync_topo)
        if (nodes[node].spec.kind == "Input")
          least = std::min<uint64_t>(
              least, static_cast<uint64_t>(candidate.pushes.at(nodes[node].spec.name)));
      for (const auto node : section.async_cons) {
        const auto &window = *nodes[node].infer.window;
        if (pushes[node] == unlimited)
          continue;
        const auto frames = pushes[node] * window.frames_in;
        least = std::min<uint64_t>(
            least, frames < window.size ? 0 : (frames - window.size) / window.stride + 1);
      }
      iterations[id] = least;
      for (const auto node : section.async_prod)
        pushes[node] = least;
    }
  std::map<std::string, uint64_t> result;
  for (size_t id = 0; id < compiled.sections.size(); ++id)
    for (const auto node : compiled.sections[id].sync_topo)
      if (nodes[node].spec.kind == "Output")
        result[nodes[node].spec.name] = iterations[id];
  return result;
}

/// The graph with a Copy in every edge.
GraphSpec with_copies(const GraphSpec &graph) {
  GraphSpec result;
  result.nodes = graph.nodes;
  for (size_t i = 0; i < graph.edges.size(); ++i) {
    const auto &edge = graph.edges[i];
    const auto name = "copy" + std::to_string(i);
    result.add_node(name, "Copy");
    result.connect(edge.from, edge.out_idx, name, 0).connect(name, 0, edge.to, edge.in_idx);
  }
  return result;
}

GraphSpec with_deeper_queues(GraphSpec graph) {
  for (auto &node : graph.nodes)
    if (node.kind == "BatchQueue")
      node.settings["target_capacity"] = node.settings.value("target_capacity", 4) + 13;
  return graph;
}

}  // namespace

TEST(RandomGraphs, WhateverCompilesRunsToItsEndAndLosesNothing) {
  const auto wanted = setting("HOLOFLOW_SEARCH_GRAPHS", 150);
  const auto seed = setting("HOLOFLOW_SEARCH_SEED", 20261130);
  const char *wanted_device = std::getenv("HOLOFLOW_SEARCH_DEVICE");
  const auto device = wanted_device != nullptr && std::string(wanted_device) == "cuda"
      ? runtime::CompilerConfig::Device::Cuda
      : runtime::CompilerConfig::Device::Cpu;
  GraphMaker maker(seed, device);
  core::Registry registry;
  register_builtin_tasks(registry);
  size_t compiled = 0, refused = 0;
  while (compiled < wanted && !testing::Test::HasFailure()) {
    const auto candidate = maker.make();
    const auto text = candidate.graph.to_json().dump();
    SCOPED_TRACE(text);
    const Watchdog watchdog("this graph hangs: " + text);
    runtime::CompilerConfig config;
    config.device = device;
    config.inputs = candidate.inputs;
    Results first;
    try {
      auto runner = GraphRunner::from_json(text, config, &registry);
      first = run(runner, candidate);
      for (const auto &[name, count] : expected_counts(runner.compiled(), candidate))
        EXPECT_EQ(first.at(name).size(), count) << name;
    } catch (const core::CompileError &) {
      ++refused;
      continue;
    }
    ++compiled;
    config.share_memory = false;
    auto apart = GraphRunner::from_json(
        with_deeper_queues(candidate.graph).to_json().dump(), config, &registry);
    EXPECT_EQ(run(apart, candidate), first) << "deeper queues, no shared memory";
    auto copied =
        GraphRunner::from_json(with_copies(candidate.graph).to_json().dump(), config, &registry);
    EXPECT_EQ(run(copied, candidate), first) << "a Copy in every edge";
  }
  std::cout << compiled << " graphs compiled, " << refused << " were refused\n";
  // The search is worth little where the compiler refuses nearly everything, or nothing.
  EXPECT_GT(compiled, refused / 20);
  EXPECT_GT(refused, 0u);
}

}  // namespace holoflow::test
