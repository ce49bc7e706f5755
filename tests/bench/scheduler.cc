// SPDX-License-Identifier: LGPL-2.1-or-later
// What the scheduler itself costs on the host, with tasks that do nothing.
//
//   bench_scheduler [REPETITIONS [ITERATIONS]] [--idle-seconds S] [--json FILE]
//
//   task       one synchronous task more in a section
//   hand-over  one frame through a queue between two sections: with nothing else to do, so that
//   both
//              sleep often; and beside work of 2 µs on each side, over that work alone
//   idle       share of a core that a graph of five sections takes while no frame comes
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "arguments.hh"
#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/compiler.hh"
#include "holoflow/runtime/graph_runner.hh"
#include "holoflow/tools/measuring.hh"
#include "holoflow/tools/number_text.hh"

namespace {

using namespace holoflow;

constexpr size_t few_tasks = 8;
constexpr size_t many_tasks = 72;
constexpr int64_t work_ns = 2000;

core::TDesc small_tensor() {
  return {{1, 8, 8}, core::DType::U8, core::MemLoc::Host};
}

/// Keeps the core busy.
void work(std::chrono::nanoseconds duration) {
  if (duration.count() == 0)
    return;
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// What a node is to work in each iteration.
std::chrono::nanoseconds work_of(const nlohmann::json &settings) {
  return std::chrono::nanoseconds(settings.is_null() ? 0 : settings.value("work_ns", int64_t{0}));
}

/// Gives `iterations` tensors that nobody wrote.
class Ticks final : public core::ISyncTask {
public:
  Ticks(size_t iterations, std::chrono::nanoseconds duration)
      : left_(iterations), duration_(duration) {}
  core::OpResult execute(core::SyncCtx &) override {
    if (left_ == 0)
      return core::OpResult::Eof;
    --left_;
    work(duration_);
    return core::OpResult::Ok;
  }
  bool ready() const noexcept override { return true; }

private:
  size_t left_;
  std::chrono::nanoseconds duration_;
};

/// Passes its tensor on in place; counts.
class Nothing final : public core::ISyncTask {
public:
  explicit Nothing(std::chrono::nanoseconds duration) : duration_(duration) {}
  core::OpResult execute(core::SyncCtx &) override {
    ++count;
    work(duration_);
    return core::OpResult::Ok;
  }
  size_t count = 0;

private:
  std::chrono::nanoseconds duration_;
};

class TicksFactory final : public core::ISyncTaskFactory {
public:
  core::InferResult infer(std::span<const core::TDesc>, const nlohmann::json &) const override {
    core::InferResult result;
    result.output_descs = {small_tensor()};
    return result;
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc>, const nlohmann::json &settings,
      const core::SyncCreateCtx &) const override {
    return std::make_unique<Ticks>(settings.at("iterations").get<size_t>(), work_of(settings));
  }
};

/// `End`: no output.
enum class Place { Middle, End };

class NothingFactory final : public core::ISyncTaskFactory {
public:
  explicit NothingFactory(Place place) : place_(place) {}
  core::InferResult infer(
      std::span<const core::TDesc> inputs, const nlohmann::json &) const override {
    core::InferResult result;
    result.input_descs.assign(inputs.begin(), inputs.end());
    if (place_ == Place::End)
      return result;
    result.output_descs = result.input_descs;
    result.in_place = {{0, 0, true, false}};
    return result;
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc>, const nlohmann::json &settings,
      const core::SyncCreateCtx &) const override {
    return std::make_unique<Nothing>(work_of(settings));
  }

private:
  Place place_;
};

core::GraphSpec chain(const std::vector<core::NodeSpec> &nodes) {
  core::GraphSpec graph;
  for (size_t i = 0; i < nodes.size(); ++i) {
    graph.add_node(nodes[i]);
    if (i > 0)
      graph.connect(nodes[i - 1].name, 0, nodes[i].name, 0);
  }
  return graph;
}

core::GraphSpec one_section(size_t tasks, size_t iterations) {
  std::vector<core::NodeSpec> nodes{{"ticks", "Ticks", {{"iterations", iterations}}}};
  for (size_t i = 0; i < tasks; ++i)
    nodes.push_back({"nothing" + std::to_string(i), "Nothing", {}});
  nodes.push_back({"end", "End", {}});
  return chain(nodes);
}

core::GraphSpec two_sections(size_t iterations, int64_t work_on_each_side_ns) {
  return chain(
      {{"ticks", "Ticks", {{"iterations", iterations}, {"work_ns", work_on_each_side_ns}}},
       {"queue", "BatchQueue", {{"target_capacity", 8}}},
       {"end", "End", {{"work_ns", work_on_each_side_ns}}}});
}

/// What one side of two_sections does without a queue.
core::GraphSpec one_side(size_t iterations) {
  return chain(
      {{"ticks", "Ticks", {{"iterations", iterations}, {"work_ns", work_ns}}}, {"end", "End", {}}});
}

struct Run {
  double seconds;
  double busy_cores;
};

/// Runs a graph to its end on the CPU.
Run run(core::Registry &registry, const core::GraphSpec &graph, size_t iterations) {
  const auto compiled =
      runtime::Compiler(registry, {.device = runtime::CompilerConfig::Device::Cpu}).compile(graph);
  runtime::Scheduler scheduler(compiled->graph, compiled->sections, compiled->resources);
  const tools::Stopwatch stopwatch;
  scheduler.start();
  scheduler.wait();
  const Run result{stopwatch.seconds(), stopwatch.busy_cores()};
  const auto &end = dynamic_cast<const Nothing &>(*compiled->resources.tasks.at("end"));
  if (end.count != iterations)
    throw std::runtime_error(
        "frames were lost: " + std::to_string(end.count) + " of " + std::to_string(iterations) +
        " came");
  return result;
}

/// One value for each repetition.
struct Figures {
  std::vector<double> task_ns, hand_over_ns, hand_over_cores, busy_hand_over_ns,
      busy_hand_over_cores;
};

Figures measure_running(core::Registry &registry, size_t repetitions, size_t iterations) {
  Figures figures;
  const auto count = static_cast<double>(iterations);
  for (size_t i = 0; i <= repetitions; ++i) {
    const auto few = run(registry, one_section(few_tasks, iterations), iterations);
    const auto many = run(registry, one_section(many_tasks, iterations), iterations);
    const auto idle = run(registry, two_sections(iterations, 0), iterations);
    const auto side = run(registry, one_side(iterations), iterations);
    const auto busy = run(registry, two_sections(iterations, work_ns), iterations);
    if (i == 0)
      continue;  // warms up
    figures.task_ns.push_back(
        (many.seconds - few.seconds) / (many_tasks - few_tasks) / count * 1e9);
    figures.hand_over_ns.push_back(idle.seconds / count * 1e9);
    figures.hand_over_cores.push_back(idle.busy_cores);
    figures.busy_hand_over_ns.push_back((busy.seconds - side.seconds) / count * 1e9);
    figures.busy_hand_over_cores.push_back(busy.busy_cores);
  }
  return figures;
}

/// Share of a core while Input waits for the first frame.
double idle_share(double seconds) {
  runtime::CompilerConfig config{.device = runtime::CompilerConfig::Device::Cpu};
  config.inputs["input"] = small_tensor();
  auto runner = runtime::GraphRunner::from_chain(
      "batchqueue ! copy ! batchqueue ! copy ! batchqueue ! copy ! batchqueue", config);
  if (const auto sections = runner.compiled().sections.size(); sections != 5)
    throw std::logic_error("expected 5 sections, got " + std::to_string(sections));
  const tools::Stopwatch stopwatch;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return stopwatch.busy_cores();
}

void measure(const bench::Arguments &arguments) {
  const size_t repetitions = arguments.number(0, 7);
  const size_t iterations = arguments.number(1, 100'000);
  const auto idle_text = arguments.text("--idle-seconds");
  const double idle_seconds = idle_text.empty() ? 3 : tools::parse_seconds(idle_text);
  core::Registry registry;
  register_builtin_tasks(registry);
  registry.register_sync("Ticks", std::make_unique<TicksFactory>());
  registry.register_sync("Nothing", std::make_unique<NothingFactory>(Place::Middle));
  registry.register_sync("End", std::make_unique<NothingFactory>(Place::End));

  const Figures figures = measure_running(registry, repetitions, iterations);
  std::printf("CPU, medians of %zu, %zu iterations\n", repetitions, iterations);
  std::printf("one synchronous task in a section: %.1f ns\n", tools::median(figures.task_ns));
  std::printf(
      "one hand-over between two sections: %.0f ns, on %.2f cores\n",
      tools::median(figures.hand_over_ns), tools::median(figures.hand_over_cores));
  std::printf(
      "the same beside %.0f µs of work on each side: %.0f ns more than the work, on %.2f cores\n",
      static_cast<double>(work_ns) / 1000, tools::median(figures.busy_hand_over_ns),
      tools::median(figures.busy_hand_over_cores));
  const double idle = idle_share(idle_seconds);
  std::printf("idle, five sections, %.1f s: %.3f %% of a core\n", idle_seconds, idle * 100);
  if (const auto file = arguments.text("--json"); !file.empty()) {
    auto report = tools::new_report("bench_scheduler", "CPU");
    report["iterations"] = iterations;
    report["task_ns"] = tools::summary(figures.task_ns);
    report["hand_over_ns"] = tools::summary(figures.hand_over_ns);
    report["hand_over_busy_cores"] = tools::summary(figures.hand_over_cores);
    report["hand_over_beside_work_ns"] = tools::summary(figures.busy_hand_over_ns);
    report["hand_over_beside_work_busy_cores"] = tools::summary(figures.busy_hand_over_cores);
    report["idle_seconds"] = idle_seconds;
    report["idle_busy_cores"] = idle;
    tools::write_report(file, report);
  }
}

}  // namespace

int main(int argc, char **argv) {
  try {
    measure(bench::parse_arguments(argc, argv, {"--idle-seconds", "--json"}));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "bench_scheduler: %s\n", error.what());
    return 1;
  }
  return 0;
}
