// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 2: nodes and edges with indices instead of names.
#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

void build_plan(Plan &plan) {
  const auto &spec = *plan.spec;
  plan.graph.nodes.resize(spec.nodes.size());
  for (size_t i = 0; i < spec.nodes.size(); ++i) {
    plan.graph.nodes[i].spec = spec.nodes[i];
    plan.graph.nodes[i].group = spec.nodes[i].group;
  }

  plan.in_edges.assign(spec.nodes.size(), {});
  plan.out_edges.assign(spec.nodes.size(), {});
  for (size_t i = 0; i < spec.edges.size(); ++i) {
    if (plan.edge_faulty[i])
      continue;
    runtime::EdgePlan edge;
    edge.spec = spec.edges[i];
    edge.from = plan.node_index.at(edge.spec.from);
    edge.to = plan.node_index.at(edge.spec.to);
    const auto index = plan.graph.edges.size();
    plan.in_edges[edge.to].push_back(index);
    plan.out_edges[edge.from].push_back(index);
    plan.graph.edges.push_back(std::move(edge));
    plan.edge_spec_index.push_back(i);
  }
}

}  // namespace holoflow::compiler
