// SPDX-License-Identifier: LGPL-2.1-or-later
// holoflow tasks: what task types there are and what they take.
#include <algorithm>
#include <cctype>
#include <memory>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/near_name.hh"
#include "holoflow/tools/command.hh"
#include "holoflow/tools/graph_schema.hh"

namespace holoflow::tools {

namespace {

struct Arguments {
  std::string type;
  bool schema = false;
  bool markdown = false;
};

std::string padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

void list(const std::vector<tasks::TaskSpec> &specs) {
  size_t width = 0;
  for (const auto &spec : specs)
    width = std::max(width, spec.type.size());
  for (const auto &spec : specs)
    print(padded(spec.type, width) + "  " + spec.doc + "\n");
}

void show_slots(const std::string &title, const std::vector<tasks::SlotSpec> &slots) {
  for (size_t i = 0; i < slots.size(); ++i)
    print(
        "  " + title + " " + std::to_string(i) + " " + slots[i].name +
        (slots[i].optional ? " (optional): " : ": ") + describe_slot(slots[i], title == "output") +
        "\n");
}

void show(const tasks::TaskSpec &spec) {
  print(spec.type + ": " + spec.doc + "\n");
  show_slots("input", spec.inputs);
  show_slots("output", spec.outputs);
  if (spec.params.empty())
    print("  no params\n");
  for (const tasks::ParamSpec &param : spec.params)
    print(
        "  param " + param.name + ": " + describe_values(param) + "; " +
        (param.default_value ? "default " + param.default_value->dump() : "required") +
        (param.doc.empty() ? "" : "; " + param.doc) + "\n");
}

/// Upper and lower case do not matter, as in chains.
bool same_name(const std::string &left, const std::string &right) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), same);
}

int show_type(const std::vector<tasks::TaskSpec> &specs, const std::string &type) {
  std::vector<std::string> types;
  for (const auto &spec : specs) {
    if (same_name(spec.type, type)) {
      show(spec);
      return Good;
    }
    types.push_back(spec.type);
  }
  print_fault("tasks: unknown type \"" + type + "\"" + core::type_suggestion(type, types));
  return Bad;
}

int run(const Arguments &arguments) {
  core::Registry registry;
  register_builtin_tasks(registry);
  if (arguments.schema)
    print(graph_schema(registry).dump(1) + "\n");
  else if (arguments.markdown)
    print(tasks_markdown(registry));
  else if (!arguments.type.empty())
    return show_type(all_specs(registry), arguments.type);
  else
    list(all_specs(registry));
  return Good;
}

}  // namespace

void add_tasks(CLI::App &app, int &status) {
  auto *command = app.add_subcommand("tasks", "Lists the task types, or shows one");
  const auto arguments = std::make_shared<Arguments>();  // shared: callbacks are copied
  auto *type = command->add_option("TYPE", arguments->type, "A task type, like Filter2D");
  auto *schema =
      command->add_flag("--schema", arguments->schema, "Print the JSON Schema of graph files");
  auto *markdown = command->add_flag("--markdown", arguments->markdown, "Print docs/tasks.md");
  schema->excludes(type)->excludes(markdown);
  markdown->excludes(type);
  command->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace holoflow::tools
