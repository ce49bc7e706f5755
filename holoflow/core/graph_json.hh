// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads a graph file and keeps going past its faults; writes one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"

namespace holoflow::core {

/// A graph with everything that could be read of it, and the faults of the rest in the text's
/// order. For callers that add faults found later (types, params) before they show them all.
struct GraphText {
  GraphSpec graph;
  FaultList faults;
};

/// Never throws for a faulty text. `origin` names the text in messages: "graph" or a file's path.
[[nodiscard]] GraphText read_graph_json(std::string_view text, const std::string &origin);
/// The same of parsed JSON, without places.
[[nodiscard]] GraphText read_parsed_graph(const nlohmann::json &json, const std::string &origin);
/// What GraphSpec::to_json gives.
[[nodiscard]] nlohmann::json write_graph_json(const GraphSpec &graph);
/// What GraphSpec::from_text reads. A faulty chain gives no graph, only its faults. Throws
/// GraphError with Reason::FileNotFound where a file cannot be read.
[[nodiscard]] GraphText read_graph_text(
    std::string_view text, const std::vector<std::string> &known_types);

/// The node type that stands for a sub-graph.
inline constexpr const char *graph_node_type = "Graph";

/// A slot of a node inside a sub-graph.
struct SubGraphPort {
  std::string node;
  int slot = 0;
  std::string pointer;
};

/// The definition of a sub-graph; its `body` has pointers into the graph file.
struct SubGraph {
  GraphSpec body;
  std::vector<SubGraphPort> inputs, outputs;
};

/// Reads `json` as the sub-graph called `name`. Faults are added to `faults`.
[[nodiscard]] SubGraph read_sub_graph(
    const nlohmann::json &json, const std::string &name, const SourceMap *source,
    FaultList &faults);

/// Replaces nodes of type Graph; one that cannot be expanded stays and is reported in `faults`.
[[nodiscard]] GraphSpec expand_graph(const GraphSpec &graph, FaultList &faults);

}  // namespace holoflow::core
