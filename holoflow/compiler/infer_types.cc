// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 3: topological order and the factories' contracts.
#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "holoflow/compiler/passes.hh"
#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/near_name.hh"

namespace holoflow::compiler {

namespace {

constexpr const char *pass = "type inference";

Place at(size_t node, int slot = -1) {
  return {.pass = pass, .node = static_cast<int>(node), .slot = slot};
}

/// A cycle among the nodes that Kahn's algorithm could not order, as node indices, the smallest
/// first and again at the end. Every such node has a predecessor among them, so walking backwards
/// must meet a node twice.
std::vector<size_t> find_cycle(const Plan &plan, const std::vector<size_t> &unordered_in_degree) {
  size_t node = 0;
  while (unordered_in_degree[node] == 0)
    ++node;
  std::vector<size_t> path;
  std::vector<int> seen_at(plan.node_count(), -1);
  while (seen_at[node] < 0) {
    seen_at[node] = static_cast<int>(path.size());
    path.push_back(node);
    for (const auto edge : plan.in_edges[node]) {
      const auto before = plan.graph.edges[edge].from;
      if (unordered_in_degree[before] == 0)
        continue;
      node = before;
      break;
    }
  }
  std::vector<size_t> cycle(path.begin() + seen_at[node], path.end());
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  cycle.push_back(cycle.front());
  return cycle;
}

/// Returns the nodes of the cycle.
std::vector<size_t> refuse_cycle(Plan &plan, const std::vector<size_t> &in_degree) {
  const auto cycle = find_cycle(plan, in_degree);
  std::vector<std::string> names;
  std::unordered_map<size_t, size_t> next;  // in the cycle, by node
  for (size_t i = 0; i < cycle.size(); ++i) {
    names.push_back(plan.graph.nodes[cycle[i]].spec.name);
    if (i + 1 < cycle.size())
      next.emplace(cycle[i], cycle[i + 1]);
  }
  const auto in_cycle = [&](size_t edge) {
    const auto found = next.find(plan.graph.edges[edge].from);
    return found != next.end() && found->second == plan.graph.edges[edge].to;
  };
  int spec_edge = -1;
  for (size_t edge = 0; edge < plan.graph.edges.size() && spec_edge < 0; ++edge)
    if (in_cycle(edge))
      spec_edge = static_cast<int>(plan.edge_spec_index[edge]);
  add_fault(
      plan, {.pass = pass, .edge = spec_edge}, core::Reason::Cycle,
      "the graph has a cycle: " + core::quoted_names(names, " -> ") +
          "; a graph must be acyclic, remove one of its edges");
  return cycle;
}

/// Nodes that Kahn's algorithm did not reach: those of a cycle, which is reported; all of them once
/// no more faults are listed, for the search for a cycle looks at every edge.
std::vector<size_t> nodes_to_give_up(Plan &plan, const std::vector<size_t> &in_degree) {
  if (!plan.faults.is_full())
    return refuse_cycle(plan, in_degree);
  plan.faults.add_unlisted();
  std::vector<size_t> nodes;
  for (size_t i = 0; i < in_degree.size(); ++i)
    if (in_degree[i] > 0)
      nodes.push_back(i);
  return nodes;
}

/// Kahn's algorithm; ready nodes leave in the order of the specification. The nodes of a cycle are
/// reported and marked as faulty, and the search goes on behind them.
void order_nodes(Plan &plan) {
  const auto count = plan.node_count();
  std::vector<size_t> in_degree(count);
  for (size_t i = 0; i < count; ++i)
    in_degree[i] = plan.in_edges[i].size();
  auto &order = plan.topo_order;
  order.reserve(count);
  for (size_t i = 0; i < count; ++i)
    if (in_degree[i] == 0)
      order.push_back(i);
  std::vector<bool> given_up(count, false);
  for (size_t next = 0;;) {
    for (; next < order.size(); ++next)
      for (const auto edge : plan.out_edges[order[next]]) {
        const auto to = plan.graph.edges[edge].to;
        if (!given_up[to] && --in_degree[to] == 0)
          order.push_back(to);
      }
    if (order.size() == count)
      break;
    for (const auto node : nodes_to_give_up(plan, in_degree)) {
      if (given_up[node])
        continue;  // the first node of a cycle is also its last
      given_up[node] = true;
      plan.node_faulty[node] = true;
      in_degree[node] = 0;
      order.push_back(node);
    }
  }
  plan.topo_rank.resize(count);
  for (size_t i = 0; i < count; ++i)
    plan.topo_rank[order[i]] = i;
}

/// The descriptors of the node's inputs in slot order. False where slots are sparse, or where a
/// producer is unknown (then nothing is reported: the producer's fault says it).
bool gather_inputs(Plan &plan, size_t node, std::vector<core::TDesc> &inputs, bool &blocked) {
  const auto &edges = plan.in_edges[node];
  inputs.resize(edges.size());
  for (const auto index : edges) {
    const auto &edge = plan.graph.edges[index];
    const auto slot = static_cast<size_t>(edge.spec.in_idx);
    if (slot >= edges.size()) {
      add_fault(
          plan, at(node, edge.spec.in_idx), core::Reason::BadEdge,
          "input " + std::to_string(slot) + " is out of range: " + std::to_string(edges.size()) +
              (edges.size() == 1 ? " input is connected, it must be input 0"
                                 : " inputs are connected, they must be inputs 0 to " +
                       std::to_string(edges.size() - 1)) +
              " without gaps");
      return false;
    }
    if (!plan.inferred[edge.from]) {
      blocked = true;
      continue;
    }
    const auto &outputs = plan.graph.nodes[edge.from].infer.output_descs;
    const auto out = static_cast<size_t>(edge.spec.out_idx);
    if (out >= outputs.size()) {
      add_fault(
          plan,
          {.pass = pass,
           .node = static_cast<int>(edge.from),
           .slot = edge.spec.out_idx,
           .edge = static_cast<int>(plan.edge_spec_index[index])},
          core::Reason::BadEdge,
          "output " + std::to_string(out) + " is out of range: the node has " +
              std::to_string(outputs.size()) + (outputs.size() == 1 ? " output" : " outputs") +
              ", " + slot_name(edge.spec.to, edge.spec.in_idx) + " cannot read it");
      return false;
    }
    inputs[slot] = outputs[out];
  }
  return !blocked;
}

core::InferResult call_factory(Plan &plan, size_t node, std::span<const core::TDesc> inputs) {
  const auto &spec = plan.graph.nodes[node].spec;
  const auto &factory = plan.registry->get(spec.kind);
  const auto begin = std::chrono::steady_clock::now();
  const auto *contextual = dynamic_cast<const tasks::IContextualFactory *>(&factory);
  auto result = contextual != nullptr
      ? contextual->infer_in(plan.context(node), inputs, spec.settings)
      : factory.infer(inputs, spec.settings);
  if (plan.config->verbose_tracing)
    plan.spans.push_back(
        {"infer " + spec.name, "factory", begin, std::chrono::steady_clock::now()});
  return result;
}

/// A mask must be empty or have one flag per slot; an empty one is filled with `false`.
void check_mask(std::vector<bool> &mask, size_t slots, const char *name) {
  if (mask.empty())
    mask.assign(slots, false);
  if (mask.size() != slots)
    throw std::logic_error(
        std::string(name) + " has " + std::to_string(mask.size()) + " entries for " +
        std::to_string(slots) + " slots");
}

/// Shape, strides and offset that later passes can compute with.
void check_descriptor(const core::TDesc &desc, const std::string &slot) {
  const auto refuse = [&](const std::string &why) { throw std::logic_error(slot + " " + why); };
  if (desc.dtype > core::DType::CF32 || desc.mem_loc > core::MemLoc::Device)
    refuse("has an element type or memory location that does not exist");
  if (desc.strides.size() != desc.shape.size())
    refuse(
        "has " + std::to_string(desc.strides.size()) + " strides for " +
        std::to_string(desc.shape.size()) + " axes");
  if (desc.rank() > core::max_tensor_rank)
    refuse(
        "has rank " + std::to_string(desc.rank()) + ", more than " +
        std::to_string(core::max_tensor_rank));
  if (!tasks::is_possible(desc))
    refuse("is larger than " + std::to_string(core::max_tensor_bytes) + " bytes");
  const auto size = core::size_of(desc.dtype);
  const auto alignment = desc.dtype == core::DType::CF32 ? size / 2 : size;
  const bool aligned = desc.offset % alignment == 0 &&
      std::all_of(desc.strides.begin(), desc.strides.end(),
                  [&](size_t stride) { return stride % alignment == 0; });
  if (!aligned)
    refuse(
        "has strides or an offset that are no multiples of " + std::to_string(alignment) +
        " bytes, the alignment of " + std::string(core::to_string(desc.dtype)));
}

void check_aliases(const core::InferResult &result) {
  std::vector<bool> aliased(result.output_descs.size(), false);
  for (const auto &alias : result.in_place) {
    const auto in = static_cast<size_t>(alias.in_idx), out = static_cast<size_t>(alias.out_idx);
    if (alias.in_idx < 0 || in >= result.input_descs.size() || alias.out_idx < 0 ||
        out >= aliased.size())
      throw std::logic_error(
          "in_place maps input " + std::to_string(alias.in_idx) + " to output " +
          std::to_string(alias.out_idx) + ", one of which does not exist");
    if (aliased[out])
      throw std::logic_error("in_place maps output " + std::to_string(out) + " twice");
    aliased[out] = true;
    if (result.input_descs[in].mem_loc != result.output_descs[out].mem_loc && alias.required)
      throw std::logic_error(
          "in_place maps input " + std::to_string(in) + " to output " + std::to_string(out) +
          " in another memory location");
  }
}

void check_inputs(std::span<const core::TDesc> offered, const core::InferResult &result) {
  if (result.input_descs.size() != offered.size())
    throw std::logic_error(
        "input_descs has " + std::to_string(result.input_descs.size()) + " entries for " +
        std::to_string(offered.size()) + " connected inputs");
  for (size_t i = 0; i < offered.size(); ++i)
    if (!(result.input_descs[i] == offered[i]))
      throw std::logic_error(
          "input_descs[" + std::to_string(i) + "] is " + core::to_string(result.input_descs[i]) +
          ", but the input is " + core::to_string(offered[i]));
}

/// What every later pass relies on. Throws std::logic_error naming the broken rule.
void check_contract(
    const Plan &plan, size_t node, std::span<const core::TDesc> offered,
    core::InferResult &result) {
  check_inputs(offered, result);
  check_mask(result.owned_inputs, offered.size(), "owned_inputs");
  const auto outputs = result.output_descs.size();
  check_mask(result.owned_outputs, outputs, "owned_outputs");
  check_mask(result.const_outputs, outputs, "const_outputs");
  check_mask(result.optional_outputs, outputs, "optional_outputs");
  check_mask(result.writes_records, outputs, "writes_records");
  for (size_t i = 0; i < outputs; ++i)
    check_descriptor(result.output_descs[i], "output " + std::to_string(i));
  check_aliases(result);
  if (const auto &window = result.window;
      window && (window->frames_in == 0 || window->size == 0 || window->stride == 0))
    throw std::logic_error("frames_in, size and stride of its window must be at least 1");
  const bool registered_async =
      plan.registry->is_async_registered(plan.graph.nodes[node].spec.kind);
  if ((result.kind == core::TaskKind::Async) != registered_async)
    throw std::logic_error(
        std::string("kind is ") +
        (registered_async ? "Sync, but the factory is registered as asynchronous"
                          : "Async, but the factory is registered as synchronous"));
}

void inherit_media(core::InferResult &result) {
  if (result.input_descs.empty() || !result.input_descs[0].media)
    return;
  for (auto &output : result.output_descs)
    if (!output.media && output.shape == result.input_descs[0].shape)
      output.media = result.input_descs[0].media;
}

void infer_node(Plan &plan, size_t node, std::span<const core::TDesc> inputs) {
  try {
    auto result = call_factory(plan, node, inputs);
    try {
      check_contract(plan, node, inputs, result);
    } catch (const std::logic_error &error) {
      add_fault(
          plan, at(node), core::Reason::BrokenTask,
          std::string("the factory of this type broke its contract: ") + error.what());
      return;
    }
    inherit_media(result);
    plan.graph.nodes[node].infer = std::move(result);
    plan.inferred[node] = true;
  } catch (const tasks::ParamError &error) {
    auto place = at(node);
    place.pointer = error.pointer;
    add_fault(plan, place, core::Reason::Incompatible, error.what());
  } catch (const core::Refusal &error) {
    add_fault(plan, at(node), error.reason, error.what());
  } catch (const std::exception &error) {
    add_fault(plan, at(node), core::Reason::Incompatible, error.what());
  } catch (...) {
    add_fault(
        plan, at(node), core::Reason::BrokenTask,
        "the factory of this type broke its contract: infer threw something that is no "
        "std::exception");
  }
}

}  // namespace

void infer_types(Plan &plan) {
  plan.inferred.assign(plan.node_count(), false);
  order_nodes(plan);
  std::vector<std::string> not_checked;
  std::vector<core::TDesc> inputs;
  for (const auto node : plan.topo_order) {
    if (plan.node_faulty[node])
      continue;
    bool blocked = false;
    inputs.clear();
    if (gather_inputs(plan, node, inputs, blocked)) {
      infer_node(plan, node, inputs);
    } else if (blocked) {
      not_checked.push_back(plan.graph.nodes[node].spec.name);
    }
  }
  if (!not_checked.empty())
    add_fault(
        plan, {.pass = pass}, core::Reason::NotChecked,
        "not checked, because a node before them has a fault: " + core::quoted_names(not_checked));
  for (auto &edge : plan.graph.edges) {
    const auto &outputs = plan.graph.nodes[edge.from].infer.output_descs;
    const auto out = static_cast<size_t>(edge.spec.out_idx);
    if (plan.inferred[edge.from] && out < outputs.size())
      edge.desc = outputs[out];
  }
}

}  // namespace holoflow::compiler
