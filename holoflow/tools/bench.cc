// SPDX-License-Identifier: LGPL-2.1-or-later
// holoflow bench: how fast a graph is on this machine, with made-up frames.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/device_rates.hh"
#include "holoflow/tools/command.hh"
#include "holoflow/tools/copy_loop.hh"
#include "holoflow/tools/frame_files.hh"
#include "holoflow/tools/graph_arguments.hh"
#include "holoflow/tools/graph_bench.hh"
#include "holoflow/tools/measuring.hh"
#include "holoflow/tools/number_text.hh"

namespace holoflow::tools {

namespace {

struct BenchArguments {
  GraphArguments graph;
  std::string size;
  std::string frames;
  std::string seconds = "1";
  std::string repetitions = "5";
  std::string json;
};

constexpr double idle_seconds = 0.3;

/// Rates of the GPU, and what of those of its link the graph's frames took.
struct DeviceUse {
  double copy_loop = 0;  ///< frames per second where they are only copied
  runtime::DeviceRates rates;
  double share_to_device = 0;
  double share_to_host = 0;
};

struct BenchResult {
  std::string device;
  size_t frames = 0;  ///< of each Input and repetition
  std::vector<double> frames_per_second, busy_cores, latencies_us;
  GraphFigures last;
  double idle_cores = 0;
  GraphFigures measured;  ///< one more repetition, with the metrics of the scheduler
  std::optional<DeviceUse> use;
};

/// "" where `parse` takes the text, else why not: how CLI11 wants it.
template <typename Parse> CLI::Validator checked_by(Parse parse, const std::string &name) {
  return CLI::Validator(
      [parse](std::string &text) {
        try {
          (void)parse(text);
        } catch (const std::invalid_argument &error) {
          return std::string(error.what());
        }
        return std::string();
      },
      name);
}

double rate_of(const GraphFigures &figures) {
  return static_cast<double>(figures.frames_in) / figures.seconds;
}

/// What measuring leaves of the speed.
double measured_ratio(const BenchResult &result) {
  return rate_of(result.measured) / median(result.frames_per_second);
}

/// What the graph reaches of a loop that only copies.
double copy_ratio(const BenchResult &result) {
  return median(result.frames_per_second) / result.use->copy_loop;
}

// The link with copies of a frame.
DeviceUse measure_use(runtime::Device &device, const GraphFigures &run) {
  const auto mean = [](size_t bytes, size_t frames) { return frames == 0 ? 0 : bytes / frames; };
  DeviceUse use;
  use.copy_loop =
      copy_loop(device, mean(run.bytes_in, run.frames_in), mean(run.bytes_out, run.frames_in));
  use.rates = runtime::measure_device_rates(
      device, mean(run.bytes_in, run.frames_in), mean(run.bytes_out, run.frames_out));
  const auto share = [&](size_t bytes, double rate) {
    return rate > 0 ? static_cast<double>(bytes) / run.seconds / rate : 0;
  };
  use.share_to_device = share(run.bytes_in, use.rates.to_device);
  use.share_to_host = share(run.bytes_out, use.rates.to_host);
  return use;
}

// A run of a quarter of the length warms up and says how many frames a second brings.
BenchResult measure(const LoadedGraph &loaded, const BenchArguments &arguments) {
  GraphBench bench(loaded.graph, loaded.config);
  BenchResult result;
  const double seconds = parse_seconds(arguments.seconds);
  if (arguments.frames.empty()) {
    const auto warm_up = bench.run({0, seconds / 4});
    const auto inputs = static_cast<double>(loaded.config.inputs.size());
    const double rate = static_cast<double>(warm_up.frames_in) / inputs / warm_up.seconds;
    result.frames = static_cast<size_t>(std::ceil(std::max(rate * seconds, 1.0)));
  } else {
    result.frames = parse_count(arguments.frames);
    (void)bench.run({(result.frames + 3) / 4, 0});
  }
  for (size_t i = parse_count(arguments.repetitions); i > 0; --i) {
    result.last = bench.run({result.frames, 0});
    const auto &latencies = result.last.latencies_us;
    result.frames_per_second.push_back(rate_of(result.last));
    result.busy_cores.push_back(result.last.busy_cores);
    result.latencies_us.insert(result.latencies_us.end(), latencies.begin(), latencies.end());
  }
  result.idle_cores = bench.idle_cores(idle_seconds);
  result.device = bench.device_name();
  if (bench.device_index() >= 0)
    result.use = measure_use(runtime::cuda_device(bench.device_index()), result.last);
  result.measured = bench.run_measured(
      {result.frames, 0}, result.use ? result.use->rates : runtime::DeviceRates());
  return result;
}

std::string ledger_line(const std::string &node, const runtime::NodeLedger &ledger) {
  std::string line = fmt::format("  {}: entered {}, left {}", node, ledger.entered, ledger.left);
  for (const auto &[reason, count] : ledger.dropped)
    if (count > 0)
      line += fmt::format(", dropped {} ({})", count, reason);
  if (ledger.skipped > 0)
    line += fmt::format(", skipped {}", ledger.skipped);
  if (ledger.failed > 0)
    line += fmt::format(", failed {}", ledger.failed);
  if (ledger.held > 0)
    line += fmt::format(", held {}", ledger.held);
  return line + "\n";
}

std::string to_text(const LoadedGraph &loaded, const BenchResult &result) {
  std::string text = fmt::format(
      "{}: {} of {}, {} out, {} repetitions\n", result.device, count_frames(result.frames),
      core::to_string(loaded.config.inputs.begin()->second), result.last.frames_out,
      result.frames_per_second.size());
  const auto rates = summary(result.frames_per_second);
  text += fmt::format(
      "frames per second: {:.0f} ({:.0f} to {:.0f})\n", rates.at("median").get<double>(),
      rates.at("minimum").get<double>(), rates.at("maximum").get<double>());
  if (const auto &use = result.use)
    text += fmt::format(
        "copies alone, by a loop written by hand: {:.0f} frames per second, of which the graph "
        "reaches {:.0f} %\n",
        use->copy_loop, copy_ratio(result) * 100);
  text += fmt::format(
      "busy cores: {:.2f}; {:.4f} while it waits for frames\n", median(result.busy_cores),
      result.idle_cores);
  if (!result.latencies_us.empty())
    text += fmt::format(
        "latency from push to pop: median {:.0f} µs, 99 % below {:.0f} µs\n",
        median(result.latencies_us), quantile(result.latencies_us, 0.99));
  if (const auto &use = result.use)
    text += fmt::format(
        "link with copies of a frame: {:.1f} GB/s to the GPU, of which the graph took {:.0f} %; "
        "{:.1f} GB/s back, {:.0f} %\nmemory of the GPU, read and written: {:.0f} GB/s\n",
        use->rates.to_device * 1e-9, use->share_to_device * 100, use->rates.to_host * 1e-9,
        use->share_to_host * 100, use->rates.memory * 1e-9);
  if (result.last.frames_out == 0)
    text += "nothing came out: a window of the graph needs more frames; say --frames\n";
  text += "frames at each node:\n";
  for (const auto &[node, ledger] : result.last.ledger)
    text += ledger_line(node, ledger);
  text += fmt::format(
      "where the time goes, from one more repetition (with metrics {:.0f} % of the speed):\n",
      measured_ratio(result) * 100);
  text += section_lines(result.measured.metrics) + node_lines(result.measured.metrics);
  return text;
}

nlohmann::json to_json(
    const BenchArguments &arguments, const LoadedGraph &loaded, const BenchResult &result) {
  auto report = new_report("holoflow bench", result.device);
  report["graph"] = arguments.graph.graph;
  for (const auto &[input, tensor] : loaded.config.inputs)
    report["inputs"][input] = core::to_string(tensor);
  report["frames"] = result.frames;
  report["frames_in"] = result.last.frames_in;
  report["frames_out"] = result.last.frames_out;
  report["repetitions"] = result.frames_per_second.size();
  report["frames_per_second"] = summary(result.frames_per_second);
  report["busy_cores"] = summary(result.busy_cores);
  report["idle_cores"] = result.idle_cores;
  report["latency_us"] = nullptr;
  if (!result.latencies_us.empty())
    report["latency_us"] = {
        {"median", median(result.latencies_us)},
        {"percent_99", quantile(result.latencies_us, 0.99)}};
  for (const auto &[node, ledger] : result.last.ledger)
    report["nodes"][node] = {{"entered", ledger.entered}, {"left", ledger.left},
                             {"dropped", ledger.dropped}, {"skipped", ledger.skipped},
                             {"failed", ledger.failed},   {"held", ledger.held}};
  report["metrics"] = to_json(result.measured.metrics);
  report["metrics"]["frames_per_second"] = rate_of(result.measured);
  report["metrics"]["ratio_to_unmeasured"] = measured_ratio(result);
  report["link"] = nullptr;
  report["memory"] = report["copy_loop"] = nullptr;
  if (const auto &use = result.use) {
    report["copy_loop"] = {{"frames_per_second", use->copy_loop}, {"ratio", copy_ratio(result)}};
    report["link"] = {
        {"to_device_bytes_per_second", use->rates.to_device},
        {"to_host_bytes_per_second", use->rates.to_host},
        {"share_to_device", use->share_to_device},
        {"share_to_host", use->share_to_host}};
    report["memory"] = {{"bytes_per_second", use->rates.memory}};
  }
  return report;
}

int bench(BenchArguments arguments) {
  if (!arguments.size.empty()) {
    const auto size = parse_frame_size(arguments.size);
    arguments.graph.for_the_rest = {
        "--size", arguments.size, "",
        fmt::format("video/x-raw,format=GRAY8,width={},height={}", size.width, size.height)};
  }
  core::Registry registry;
  register_builtin_tasks(registry);
  LoadedGraph loaded = load_graph(arguments.graph, registry);
  for (const char *type : {"Input", "Output"})
    if (loaded.whole && nodes_of_type(loaded.expanded, type).empty())
      loaded.faults.add(
          "graph: expected a node of type " + std::string(type) + ", got none; add one");
  if (plan_graph(loaded, registry) == nullptr) {
    print_faults(loaded.faults);
    return Bad;
  }
  const auto result = measure(loaded, arguments);
  print(to_text(loaded, result));
  if (!arguments.json.empty())
    write_report(arguments.json, to_json(arguments, loaded, result));
  return Good;
}

}  // namespace

void add_bench(CLI::App &app, int &status) {
  auto *command = app.add_subcommand("bench", "Measures how fast a graph is, with made-up frames");
  const auto arguments = std::make_shared<BenchArguments>();  // shared: callbacks are copied
  add_graph_arguments(*command, arguments->graph);
  add_like_argument(*command, arguments->graph);
  command
      ->add_option(
          "--size", arguments->size,
          "WIDTHxHEIGHT: grey frames for Inputs that --caps and --like leave out")
      ->check(checked_by(parse_frame_size, "SIZE"));
  auto *frames =
      command->add_option("--frames", arguments->frames, "Frames of each Input and repetition")
          ->check(checked_by(parse_count, "NUMBER"));
  command->add_option("--seconds", arguments->seconds, "Time of each repetition, about")
      ->check(checked_by(parse_seconds, "SECONDS"))
      ->capture_default_str()
      ->excludes(frames);
  command->add_option("--repetitions", arguments->repetitions, "Runs of which the median is told")
      ->check(checked_by(parse_count, "NUMBER"))
      ->capture_default_str();
  command->add_option("--json", arguments->json, "Where a report for programs goes")
      ->type_name("FILE");
  command->callback([arguments, &status] { status = bench(*arguments); });
}

}  // namespace holoflow::tools
