// SPDX-License-Identifier: LGPL-2.1-or-later
// holoflow plan: what the compiler makes of a graph and why, as text, JSON or a picture.
#include <memory>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/graph_display.hh"
#include "holoflow/tools/command.hh"
#include "holoflow/tools/graph_arguments.hh"
#include "holoflow/tools/plan_text.hh"
#include "holoflow/tools/subprocess.hh"

namespace holoflow::tools {

namespace {

struct PlanArguments {
  GraphArguments graph;
  bool dot = false;
  bool json = false;
  bool svg = false;
};

int print_svg(const std::string &dot) {
  const auto result = run_process({"dot", "-Tsvg"}, dot);
  if (!result.started) {
    print_fault(
        "plan: --svg needs Graphviz's program \"dot\", which is not there (" + result.errors +
        "); install graphviz, or use --dot");
    return Bad;
  }
  if (result.status != 0) {
    print_fault(
        "plan: Graphviz's dot failed with status " + std::to_string(result.status) + ": " +
        result.errors + "; --dot shows what it was given");
    return Bad;
  }
  print(result.output);
  return Good;
}

int plan(const PlanArguments &arguments) {
  core::Registry registry;
  register_builtin_tasks(registry);
  LoadedGraph loaded = load_graph(arguments.graph, registry);
  const auto plan = plan_graph(loaded, registry);
  print_faults(loaded.faults);
  if (plan == nullptr)
    return Bad;
  if (arguments.svg)
    return print_svg(runtime::to_dot(*plan, registry));
  if (arguments.dot)
    print(runtime::to_dot(*plan, registry));
  else if (arguments.json)
    print(plan_json(*plan).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  else
    print(plan_text(*plan));
  return Good;
}

}  // namespace

void add_plan(CLI::App &app, int &status) {
  auto *command = app.add_subcommand(
      "plan", "Shows a graph's sections, tensors and memory, and why they are as they are");
  const auto arguments = std::make_shared<PlanArguments>();  // shared: callbacks are copied
  add_graph_arguments(*command, arguments->graph);
  add_like_argument(*command, arguments->graph);
  auto *dot = command->add_flag("--dot", arguments->dot, "Graphviz source");
  auto *json = command->add_flag("--json", arguments->json, "JSON, for programs");
  auto *svg = command->add_flag("--svg", arguments->svg, "A picture (needs Graphviz)");
  dot->excludes(json)->excludes(svg);
  json->excludes(svg);
  command->callback([arguments, &status] { status = plan(*arguments); });
}

}  // namespace holoflow::tools
