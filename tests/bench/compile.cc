// SPDX-License-Identifier: LGPL-2.1-or-later
// Time of the passes that judge a graph (1 to 6 and 9), for graphs of growing size.
//
//   bench_compile [REPETITIONS]      median of so many compiles of each graph (default 5)
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/compiler/passes.hh"
#include "holoflow/tools/measuring.hh"

namespace {

using namespace holoflow;
using core::GraphSpec;

constexpr size_t sizes[] = {10, 100, 1000, 10000};

std::string node(size_t i) {
  return "n" + std::to_string(i);
}

/// Input → Sqrt → Sqrt → … → Output.
GraphSpec make_chain(size_t nodes) {
  GraphSpec graph;
  graph.add_node("in", "Input");
  std::string last = "in";
  for (size_t i = 2; i < nodes; ++i) {
    graph.add_node(node(i), "Sqrt").connect(last, 0, node(i), 0);
    last = node(i);
  }
  return graph.add_node("out", "Output").connect(last, 0, "out", 0);
}

/// One tensor read by all others.
GraphSpec make_fan_out(size_t nodes) {
  GraphSpec graph;
  graph.add_node("in", "Input").add_node("first", "Affine").connect("in", 0, "first", 0);
  for (size_t i = 2; i < nodes; ++i)
    graph.add_node(node(i), "Sqrt").connect("first", 0, node(i), 0);
  return graph;
}

/// Sums of two random earlier tensors.
GraphSpec make_random(size_t nodes) {
  GraphSpec graph;
  std::mt19937 random(1);
  graph.add_node(node(0), "Input");
  for (size_t i = 1; i < nodes; ++i) {
    graph.add_node(node(i), i % 2 == 0 ? "Add" : "Multiply");
    for (int slot = 0; slot < 2; ++slot)
      graph.connect(node(random() % i), 0, node(i), slot);
  }
  return graph;
}

/// Input → BatchQueue → Copy → BatchQueue → …: a section for every second node.
GraphSpec make_queues(size_t nodes) {
  GraphSpec graph;
  graph.add_node("in", "Input");
  std::string last = "in";
  for (size_t i = 1; i + 2 < nodes; i += 2) {
    graph.add_node(node(i), "BatchQueue").connect(last, 0, node(i), 0);
    graph.add_node(node(i + 1), "Copy").connect(node(i), 0, node(i + 1), 0);
    last = node(i + 1);
  }
  return graph.add_node("out", "Output").connect(last, 0, "out", 0);
}

struct Pass {
  const char *name;
  void (*run)(compiler::Plan &);
};
constexpr std::array passes = {
    Pass{"validate", compiler::validate},           Pass{"build", compiler::build_plan},
    Pass{"infer", compiler::infer_types},           Pass{"tensors", compiler::assign_tensors},
    Pass{"storage", compiler::map_storage},         Pass{"owners", compiler::check_ownership},
    Pass{"sections", compiler::partition_sections},
};

void measure(
    const char *shape, size_t size, const GraphSpec &graph, core::Registry &registry,
    size_t repetitions) {
  runtime::CompilerConfig config;
  const core::TDesc frame({1, 64, 64}, core::DType::F32, core::MemLoc::Host);
  config.inputs = {{graph.nodes[0].name, frame}};
  std::vector<double> totals;
  std::array<std::vector<double>, passes.size()> times;
  for (size_t i = 0; i <= repetitions; ++i) {
    compiler::Plan plan;
    plan.spec = &graph;
    plan.registry = &registry;
    plan.config = &config;
    double total = 0;
    for (size_t pass = 0; pass < passes.size(); ++pass) {
      const auto begin = std::chrono::steady_clock::now();
      passes[pass].run(plan);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      total += took.count();
      if (i > 0)  // the first one warms up
        times[pass].push_back(took.count());
    }
    if (!plan.faults.empty()) {
      std::fprintf(stderr, "%s of %zu: %s\n", shape, size, plan.faults[0].what());
      std::exit(1);
    }
    if (i > 0)
      totals.push_back(total);
  }
  std::printf("%-8s %6zu nodes  %8.3f ms ", shape, size, tools::median(totals));
  for (size_t pass = 0; pass < passes.size(); ++pass)
    std::printf(" %s %.3f", passes[pass].name, tools::median(times[pass]));
  std::printf("\n");
}

}  // namespace

int main(int argc, char **argv) {
  const size_t repetitions = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 5;
  core::Registry registry;
  register_builtin_tasks(registry);
  const std::pair<const char *, GraphSpec (*)(size_t)> shapes[] = {
      {"chain", make_chain},
      {"fan-out", make_fan_out},
      {"random", make_random},
      {"queues", make_queues}};
  for (const auto &[name, make] : shapes)
    for (const auto size : sizes)
      measure(name, size, make(size), registry, std::max<size_t>(repetitions, 1));
  return 0;
}
