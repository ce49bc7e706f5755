// SPDX-License-Identifier: LGPL-2.1-or-later
// holoflow check: every fault of a graph, or one line that says what it is.
#include "holoflow/builtin_tasks.hh"
#include "holoflow/tools/command.hh"
#include "holoflow/tools/graph_arguments.hh"

namespace holoflow::tools {

namespace {

std::string count(size_t number, const std::string &what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string summary(const runtime::CompilerOutput &plan) {
  std::string text = "good: " + count(plan.graph.nodes.size(), "node") + " in " +
      count(plan.sections.size(), "section");
  for (const auto &node : plan.graph.nodes) {
    if (node.spec.kind == "Input")
      text += "; \"" + node.spec.name + "\" takes " + core::to_string(node.infer.output_descs[0]);
    if (node.spec.kind == "Output")
      text += "; \"" + node.spec.name + "\" gives " + core::to_string(node.infer.input_descs[0]);
  }
  return text + "\n";
}

int check(const GraphArguments &arguments) {
  core::Registry registry;
  register_builtin_tasks(registry);
  LoadedGraph loaded = load_graph(arguments, registry);
  const auto plan = plan_graph(loaded, registry);
  print_faults(loaded.faults);
  if (plan == nullptr)
    return Bad;
  print(summary(*plan));
  print_warnings(*plan);
  return Good;
}

}  // namespace

void add_check(CLI::App &app, int &status) {
  auto *command = app.add_subcommand("check", "Says everything that is wrong with a graph");
  const auto arguments = std::make_shared<GraphArguments>();  // shared: callbacks are copied
  add_graph_arguments(*command, *arguments);
  add_like_argument(*command, *arguments);
  command->callback([arguments, &status] { status = check(*arguments); });
}

}  // namespace holoflow::tools
