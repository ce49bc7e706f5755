// SPDX-License-Identifier: LGPL-2.1-or-later
// What bench, check, plan and run take alike: a graph, what its Inputs get, a device.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/registry.hh"
#include "holoflow/runtime/compiler.hh"
#include "holoflow/tools/media_frame.hh"

namespace holoflow::tools {

/// An option's [NODE=]VALUE.
struct Assignment {
  std::string option;
  std::string text;  ///< as it came
  std::string node;  ///< "" where it names none
  std::string value;
};

/// As on the command line; `caps` and `like` hold [NODE=]VALUE, and what names no node is for
/// every Input that has none of its own.
struct GraphArguments {
  std::string graph;
  std::vector<std::string> caps;
  std::vector<std::string> like;
  std::optional<Assignment> for_the_rest = {};  ///< caps; no fault where no Input is left
  std::string device = "auto";
  std::string replay = "auto";
  size_t max_recordings = runtime::CompilerConfig().max_recordings;
};

/// Adds GRAPH, --caps, --device, --replay and --max-recordings.
void add_graph_arguments(CLI::App &command, GraphArguments &arguments);
/// Adds --like; it and --caps may serve different Inputs.
void add_like_argument(CLI::App &command, GraphArguments &arguments);

/// A graph as far as it could be read, and what is known of its Inputs.
struct LoadedGraph {
  core::GraphSpec graph;
  core::GraphSpec expanded;  ///< with sub-graphs in place of Graph nodes, for looking nodes up
  std::unordered_map<std::string, size_t> node_index;  ///< by name, into expanded.nodes
  core::BasicFaultList<std::string> faults;  ///< one line each: text of the graph, caps, files
  bool whole = true;  ///< nothing of the graph is missing for faults in its text
  bool is_expanded = true;  ///< nothing of `expanded` is missing for faults in sub-graphs
  std::map<std::string, MediaFrame> frames;  ///< by Input
  runtime::CompilerConfig config;  ///< `inputs` and `device` are set
};

/// Never throws for a faulty graph, caps or file.
[[nodiscard]] LoadedGraph load_graph(
    const GraphArguments &arguments, const core::Registry &registry);

/// Names of the graph's nodes of a type ("Input", "Output"), in its order.
[[nodiscard]] std::vector<std::string> nodes_of_type(
    const core::GraphSpec &graph, const std::string &type);

/// Nothing where NODE is none of the nodes of a type, which is a fault then. What has a "/" in
/// front of its first "=" is a VALUE: a path or caps.
[[nodiscard]] std::optional<Assignment> read_assignment(
    LoadedGraph &loaded, const std::string &option, const std::string &type,
    const std::string &text);

/// The Input's tensor for a frame; faults go to `loaded`.
void set_input(LoadedGraph &loaded, const std::string &node, const MediaFrame &frame);

/// The plan of the graph without opening a device, or null and every fault in `loaded.faults`.
[[nodiscard]] std::unique_ptr<runtime::CompilerOutput> plan_graph(
    LoadedGraph &loaded, core::Registry &registry);

/// What a graph that is good will surprise with, to standard error.
void print_warnings(const runtime::CompilerOutput &plan);

}  // namespace holoflow::tools
