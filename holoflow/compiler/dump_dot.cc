// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures and timings of a compile.
#include "holoflow/compiler/dump_dot.hh"

#include <fstream>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "holoflow/core/logging.hh"
#include "holoflow/runtime/graph_display.hh"

namespace holoflow::compiler {

void write_diagnostic(
    const std::filesystem::path &folder, const std::string &name,
    const std::string &text) noexcept {
  try {
    std::filesystem::create_directories(folder);
    std::ofstream file(folder / name);
    file << text;
    file.flush();
    if (!file)
      core::make_logger("compiler")->warn("cannot write {}", (folder / name).string());
  } catch (const std::exception &error) {
    core::make_logger("compiler")->warn("cannot write {}: {}", name, error.what());
  }
}

std::string trace_of(const std::vector<PassTiming> &timings) {
  auto events = nlohmann::json::array();
  for (const auto &timing : timings) {
    const auto micros = [](auto duration) {
      return std::chrono::duration<double, std::micro>(duration).count();
    };
    events.push_back(
        {{"name", timing.name},
         {"cat", "compile"},
         {"ph", "X"},
         {"pid", 1},
         {"tid", 1},
         {"ts", micros(timing.begin - timings.front().begin)},
         {"dur", micros(timing.end - timing.begin)}});
  }
  return nlohmann::json{{"traceEvents", std::move(events)}}.dump(1);
}

}  // namespace holoflow::compiler

namespace holoflow::runtime {

namespace {

/// A Graphviz string: quoted, with quotes and backslashes escaped, line breaks kept.
std::string dot_string(const std::string &text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string node_label(const NodePlan &node, const core::Registry &registry) {
  std::string label = node.spec.name + "\n" + node.spec.kind;
  if (!registry.is_registered(node.spec.kind))
    label += " (no longer registered)";
  if (!node.spec.settings.is_null() && !node.spec.settings.empty())
    label +=
        "\n" + node.spec.settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return label;
}

void write_node(
    std::string &dot, const CompilerOutput &output, const core::Registry &registry, size_t index,
    const char *indent) {
  const auto &node = output.graph.nodes[index];
  const bool async = node.infer.kind == core::TaskKind::Async;
  dot += indent + ("n" + std::to_string(index)) +
      " [label=" + dot_string(node_label(node, registry)) +
      (async ? ", shape=cds" : ", shape=box") + "];\n";
}

}  // namespace

std::string to_dot(const CompilerOutput &output, const core::Registry &registry) {
  std::string dot = "digraph holoflow {\n  rankdir=LR;\n  node [fontname=sans];\n"
                    "  edge [fontname=sans, fontsize=10];\n";
  for (const auto &section : output.sections) {
    const auto label = section.name +
        (section.device < 0 ? std::string(", CPU") : ", GPU " + std::to_string(section.device));
    dot += "  subgraph cluster_" + std::to_string(section.id) +
        " {\n    label=" + dot_string(label) + ";\n";
    for (const auto node : section.sync_topo)
      write_node(dot, output, registry, node, "    ");
    dot += "  }\n";
  }
  for (size_t i = 0; i < output.graph.nodes.size(); ++i)
    if (output.graph.nodes[i].infer.kind == core::TaskKind::Async)
      write_node(dot, output, registry, i, "  ");
  for (const auto &edge : output.graph.edges) {
    const auto sid = output.resources.tid_to_sid[static_cast<size_t>(edge.tid)];
    const auto label = core::to_string(edge.desc) + "\ntensor " + std::to_string(edge.tid) +
        ", storage " + std::to_string(sid);
    dot += "  n" + std::to_string(edge.from) + " -> n" + std::to_string(edge.to) +
        " [label=" + dot_string(label) +
        ", taillabel=" + dot_string(std::to_string(edge.spec.out_idx)) +
        ", headlabel=" + dot_string(std::to_string(edge.spec.in_idx)) + "];\n";
  }
  return dot + "}\n";
}

}  // namespace holoflow::runtime
