// SPDX-License-Identifier: LGPL-2.1-or-later
// The specs in words: for docs/tasks.md and for `holoflow tasks TYPE`.
#include "holoflow/core/near_name.hh"
#include "holoflow/tools/graph_schema.hh"

namespace holoflow::tools {

namespace {

using tasks::ParamSpec;
using tasks::SlotSpec;
using tasks::TaskSpec;

/// In a cell of a table a bar would end the cell.
std::string cell(const std::string &text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|')
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void add_slots(std::string &text, const std::string &title, const std::vector<SlotSpec> &slots) {
  for (size_t i = 0; i < slots.size(); ++i)
    text += "- " + title + " " + std::to_string(i) + " `" + slots[i].name + "`" +
        (slots[i].optional ? " (optional)" : "") + ": " +
        describe_slot(slots[i], title == "output") + "\n";
}

std::string section(const TaskSpec &spec) {
  std::string text = "## " + spec.type + "\n\n" + spec.doc + "\n\n";
  if (spec.make_async)
    text += "Cuts the graph into sections: what is before and behind it runs at the same time.\n\n";
  add_slots(text, "input", spec.inputs);
  add_slots(text, "output", spec.outputs);
  if (!spec.inputs.empty() || !spec.outputs.empty())
    text += "\n";
  if (spec.params.empty())
    return text + "No params.\n\n";
  text += "| param | value | default | |\n|---|---|---|---|\n";
  for (const ParamSpec &param : spec.params)
    text += "| `" + param.name + "` | " + cell(describe_values(param)) + " | " +
        (param.default_value ? "`" + cell(param.default_value->dump()) + "`" : "required") + " | " +
        cell(param.doc) + " |\n";
  return text + "\n";
}

}  // namespace

std::string describe_slot(const SlotSpec &slot, bool is_output) {
  std::vector<std::string> names;
  for (const core::DType dtype : slot.dtypes)
    names.emplace_back(core::to_string(dtype));
  // Specs say nothing of most outputs' types, since those follow from the inputs.
  std::string types = !names.empty() ? core::alternatives(names) : is_output ? "" : "any type";
  return slot.doc + (slot.doc.empty() || types.empty() ? "" : "; ") + types;
}

std::string describe_values(const ParamSpec &param) {
  std::vector<std::string> parts;
  const std::string range = param.minimum ? " " + tasks::minimum_text(param) : "";
  if ((param.types & tasks::Number) != 0)
    parts.push_back("number" + range);
  else if ((param.types & tasks::Int) != 0)
    parts.push_back("integer" + range);
  if ((param.types & tasks::String) != 0) {
    if (param.choices.empty())
      parts.emplace_back("string");
    for (const std::string &choice : param.choices)
      parts.push_back("\"" + choice + "\"");
  }
  if ((param.types & tasks::NumberArray) != 0)
    parts.push_back("array of numbers" + range);
  else if ((param.types & tasks::IntArray) != 0)
    parts.push_back("array of integers" + range);
  if ((param.types & tasks::SliceArray) != 0)
    parts.emplace_back("array of integers and {start, stop, step}");
  if ((param.types & tasks::Bool) != 0)
    parts.emplace_back("true or false");
  if ((param.types & tasks::Null) != 0)
    parts.emplace_back("null");
  return core::alternatives(parts);
}

std::string tasks_markdown(const core::Registry &registry) {
  std::string text =
      "# Task types\n\n"
      "<!-- Written by \"holoflow tasks --markdown\" from the task specs; do not edit. -->\n\n"
      "`holoflow tasks TYPE` shows the same in a terminal, and `graph.schema.json` beside this "
      "page "
      "tells an editor.\n"
      "Element types are `U8`, `U16`, `F32` and `CF32` (complex). Unknown params are refused.\n\n";
  std::string sections;
  for (const TaskSpec &spec : all_specs(registry)) {
    std::string anchor;
    for (const char c : spec.type)
      anchor += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    text += "- [" + spec.type + "](#" + anchor + "): " + spec.doc + "\n";
    sections += section(spec);
  }
  sections.pop_back();  // the blank line behind the last
  return text + "\n" + sections;
}

}  // namespace holoflow::tools
