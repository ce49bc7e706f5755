// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults with their place.
#include "holoflow/compiler/plan.hh"

#include "holoflow/core/graph_fault.hh"

namespace holoflow::compiler {

namespace {

std::string pointer_of(const Plan &plan, const Place &place) {
  if (plan.spec->source == nullptr)
    return {};
  if (place.edge >= 0) {
    const auto &edge = plan.spec->edges[static_cast<size_t>(place.edge)];
    return edge.pointer.empty() ? "/edges/" + std::to_string(place.edge) : edge.pointer;
  }
  if (place.node < 0)
    return {};
  const auto &node = plan.spec->nodes[static_cast<size_t>(place.node)];
  auto pointer =
      node.pointer.empty() ? "/nodes/" + core::escape_pointer_token(node.name) : node.pointer;
  if (!place.pointer.empty())
    pointer += "/params" + place.pointer;
  return pointer;
}

bool names_a_slot(const std::string &text) {
  return text.rfind("input ", 0) == 0 || text.rfind("output ", 0) == 0;
}

}  // namespace

std::string quoted(const core::NodeSpec &node) {
  return core::quote(node.name) + " (" + core::printable(node.kind) + ")";
}

std::string slot_name(const std::string &node, int slot) {
  return '"' + core::printable(node) + ":" + std::to_string(slot) + '"';
}

std::string output_name(const Plan &plan, size_t node, int slot) {
  return slot_name(plan.spec->nodes[node].name, slot);
}

void add_decision(Plan &plan, runtime::Decision::Kind kind, int node, std::string text) {
  auto name = node < 0 ? std::string() : plan.spec->nodes[static_cast<size_t>(node)].name;
  plan.decisions.push_back({kind, std::move(name), std::move(text)});
}

void throw_with_bill(const Plan &plan, const std::string &place, const core::DeviceError &error) {
  core::DeviceError told(place + error.what() + "\n" + runtime::to_text(plan.bill), error.reason);
  told.pass = "allocate";
  throw told;
}

void add_fault(Plan &plan, const Place &place, core::Reason reason, const std::string &text) {
  if (plan.faults.is_full())
    return plan.faults.add_unlisted();
  std::string message = std::string(place.pass) + ": ";
  std::string name;
  if (place.node >= 0) {
    const auto &node = plan.spec->nodes[static_cast<size_t>(place.node)];
    name = node.name;
    message += "node " + quoted(node) + (names_a_slot(text) ? ", " : ": ");
  }
  message += core::cut(text, core::max_message_bytes);

  const auto pointer = pointer_of(plan, place);
  core::SourceMap::Position position;
  if (!pointer.empty()) {
    position = plan.spec->source->find(pointer);
    message += " [" + core::printable(pointer);
    if (position.line > 0)
      message +=
          ", line " + std::to_string(position.line) + ", column " + std::to_string(position.column);
    message += "]";
  }

  core::Error fault(message, reason);
  fault.pass = place.pass;
  fault.node = name;
  fault.slot = place.slot;
  fault.pointer = core::short_pointer(pointer);
  fault.line = position.line;
  fault.column = position.column;
  plan.faults.add(std::move(fault));
}

}  // namespace holoflow::compiler
