// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults with their place.
#include "holoflow/compiler/plan.hh"

namespace holoflow::compiler {

namespace {

std::string pointer_of(const Plan &plan, const Place &place) {
  if (plan.spec->source == nullptr)
    return {};
  if (place.edge >= 0)
    return "/edges/" + std::to_string(place.edge);
  if (place.node < 0)
    return {};
  const auto &name = plan.spec->nodes[static_cast<size_t>(place.node)].name;
  auto pointer = "/nodes/" + core::escape_pointer_token(name);
  if (!place.pointer.empty())
    pointer += "/params" + place.pointer;
  return pointer;
}

bool names_a_slot(const std::string &text) {
  return text.rfind("input ", 0) == 0 || text.rfind("output ", 0) == 0;
}

}  // namespace

std::string quoted(const core::NodeSpec &node) {
  return "\"" + node.name + "\" (" + node.kind + ")";
}

void add_fault(Plan &plan, const Place &place, const std::string &text) {
  std::string message = std::string(place.pass) + ": ";
  std::string name;
  if (place.node >= 0) {
    const auto &node = plan.spec->nodes[static_cast<size_t>(place.node)];
    name = node.name;
    message += "node " + quoted(node) + (names_a_slot(text) ? ", " : ": ");
  }
  message += text;

  const auto pointer = pointer_of(plan, place);
  core::SourceMap::Position position;
  if (!pointer.empty()) {
    position = plan.spec->source->find(pointer);
    message += " [" + pointer;
    if (position.line > 0)
      message +=
          ", line " + std::to_string(position.line) + ", column " + std::to_string(position.column);
    message += "]";
  }

  core::Error fault(message);
  fault.pass = place.pass;
  fault.node = name;
  fault.slot = place.slot;
  fault.pointer = pointer;
  fault.line = position.line;
  fault.column = position.column;
  plan.faults.push_back(std::move(fault));
}

}  // namespace holoflow::compiler
