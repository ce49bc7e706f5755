// SPDX-License-Identifier: LGPL-2.1-or-later
// Why the plan is as it is, for people: one sentence for each boundary, alias, owner, shared block.
#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

namespace {

using runtime::Decision;

std::string frames(size_t count) {
  return std::to_string(count) + (count == 1 ? " frame" : " frames");
}

std::string section_name(int section) {
  return section < 0 ? "nothing" : "section " + std::to_string(section);
}

void explain_boundary(Plan &plan, size_t index) {
  const auto &node = plan.graph.nodes[index];
  const auto from = plan.producer_section[index], to = plan.consumer_section[index];
  std::string text = "node " + quoted(node.spec) + " is asynchronous: " + section_name(from) +
      " pushes to it, " + section_name(to) + " pops from it, each in its own time";
  if (const auto &window = node.infer.window) {
    text += "; a push brings " + frames(window->frames_in) + ", a pop shows " +
        frames(window->size) + " and advances by " + std::to_string(window->stride);
    if (window->delay > 0)
      text += ", the first one " + frames(window->delay) + " late";
    if (window->capacity > 0)
      text += ", room for " + frames(window->capacity);
  }
  add_decision(plan, Decision::Kind::Section, static_cast<int>(index), std::move(text));
}

void explain_alias(Plan &plan, const Alias &alias) {
  const auto &node = plan.graph.nodes[alias.node];
  add_decision(
      plan, Decision::Kind::Alias, static_cast<int>(alias.node),
      "node " + quoted(node.spec) + ": output " + std::to_string(alias.out_idx) +
          " lives in the memory of input " + std::to_string(alias.in_idx) +
          (alias.writes ? ", which it overwrites and nobody reads later"
                        : ": a view, nothing is copied"));
}

void explain_owner(Plan &plan, const Owner &owner) {
  const auto &node = plan.graph.nodes[owner.node];
  const auto tid = (owner.is_input ? node.in_tids : node.out_tids)[static_cast<size_t>(owner.slot)];
  const auto &[producer, slot] = plan.tensor_producer[static_cast<size_t>(tid)];
  add_decision(
      plan, Decision::Kind::Owner, static_cast<int>(owner.node),
      "node " + quoted(node.spec) + " lends its own memory for " +
          (owner.is_input ? "input " : "output ") + std::to_string(owner.slot) +
          (owner.is_input
               ? ": " + output_name(plan, producer, slot) + " is written straight into it"
               : ": readers see it without a copy"));
}

void explain_lag(Plan &plan, const runtime::Section &section) {
  std::string names;
  for (const auto node : section.tail)
    names += (names.empty() ? "" : ", ") + quoted(plan.graph.nodes[node].spec);
  std::string text = section_name(section.id) + " runs " + names + " up to " +
      std::to_string(section.lag) + " iterations behind what it enqueues";
  if (!section.lagged.empty())
    text += ", with " + std::to_string(section.lag + 1) + " pieces of memory for what they read";
  add_decision(
      plan, Decision::Kind::Section, static_cast<int>(section.tail.front()), std::move(text));
}

}  // namespace

void explain(Plan &plan) {
  for (const auto &section : plan.sections)
    if (section.lag > 0)
      explain_lag(plan, section);
  for (size_t i = 0; i < plan.node_count(); ++i)
    if (plan.is_async(i))
      explain_boundary(plan, i);
  for (const auto &alias : plan.aliases)
    if (!alias.broken)
      explain_alias(plan, alias);
  for (const auto &owner : plan.owners)
    explain_owner(plan, owner);
  for (const auto &item : plan.bill.tensors)
    if (item.block >= 0 && item.block != item.sid)
      add_decision(
          plan, Decision::Kind::Sharing,
          static_cast<int>(plan.tensor_producer[static_cast<size_t>(item.tid)].first),
          "tensor \"" + item.node + ":" + std::to_string(item.slot) +
              "\" takes the block of storage " + std::to_string(item.block) +
              ", whose last reader has run before");
}

}  // namespace holoflow::compiler
