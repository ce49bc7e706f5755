// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures and timings of a compile.
#include "holoflow/compiler/dump_dot.hh"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "holoflow/core/logging.hh"
#include "holoflow/runtime/graph_display.hh"
#include "holoflow/runtime/compile_trace.hh"

namespace holoflow::compiler {

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

std::string params_of(const core::NodeSpec &spec) {
  constexpr size_t longest = 200;
  if (spec.settings.is_null() || spec.settings.empty())
    return {};
  auto text = spec.settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > longest)
    text = text.substr(0, longest) + "…";
  return "\n" + text;
}

/// What a picture shows; a failed compile has empty parts.
struct Picture {
  const runtime::GraphPlan &graph;
  const std::vector<runtime::Section> &sections;
  const std::vector<int> &tid_to_sid;
  std::map<int, int> block_of = {};  ///< by sid, where it is another's
  std::map<std::string, std::string> faults = {};  ///< by node name, "" for those of no node
};

class DotWriter {
public:
  DotWriter(const Picture &picture, const core::Registry &registry)
      : picture_(picture), registry_(registry) {}

  std::string write() {
    dot_ = "digraph holoflow {\n  rankdir=LR;\n  node [fontname=sans];\n"
           "  edge [fontname=sans, fontsize=10];\n"
           "  label=\"boxes: sections, one thread each; flags: asynchronous nodes; diamond: the "
           "task there owns the memory\";\n  fontname=sans;\n  fontsize=10;\n";
    if (const auto fault = picture_.faults.find(""); fault != picture_.faults.end())
      dot_ += "  faults [label=" + dot_string(fault->second) +
          ", shape=note, color=red, fontcolor=red];\n";
    std::vector<bool> drawn(picture_.graph.nodes.size(), false);
    for (const auto &section : picture_.sections) {
      dot_ += "  subgraph cluster_" + std::to_string(section.id) +
          " {\n    label=" + dot_string(section_label(section)) + ";\n";
      for (const auto node : section.sync_topo) {
        write_node(node, "    ");
        drawn[node] = true;
      }
      dot_ += "  }\n";
    }
    for (size_t i = 0; i < drawn.size(); ++i)
      if (!drawn[i])
        write_node(i, "  ");
    for (const auto &edge : picture_.graph.edges)
      write_edge(edge);
    return dot_ + "}\n";
  }

private:
  static std::string section_label(const runtime::Section &section) {
    if (section.device < 0)
      return section.name + ", CPU";
    return section.name + ", GPU " + std::to_string(section.device) + ", stream " +
        std::to_string(section.id);
  }

  int sid_of(int tid) const {
    const auto known = tid >= 0 && static_cast<size_t>(tid) < picture_.tid_to_sid.size();
    return known ? picture_.tid_to_sid[static_cast<size_t>(tid)] : -1;
  }

  /// "out 0 in place of in 0", for each alias that the compiler kept.
  std::string aliases_of(const runtime::NodePlan &node) const {
    std::string text;
    for (const auto &alias : node.infer.in_place) {
      const auto in = static_cast<size_t>(alias.in_idx), out = static_cast<size_t>(alias.out_idx);
      if (in >= node.in_tids.size() || out >= node.out_tids.size())
        continue;
      const auto sid = sid_of(node.in_tids[in]);
      if (sid >= 0 && sid == sid_of(node.out_tids[out]))
        text += "\nout " + std::to_string(out) + (alias.writes ? " overwrites in " : " views in ") +
            std::to_string(in);
    }
    return text;
  }

  void write_node(size_t index, const char *indent) {
    const auto &node = picture_.graph.nodes[index];
    std::string label = node.spec.name + "\n" + node.spec.kind;
    if (!registry_.is_registered(node.spec.kind))
      label += " (not registered)";
    label += params_of(node.spec) + aliases_of(node);
    if (node.min_slots > 0)
      label += "\nholds at least " + std::to_string(node.min_slots) + " frames";
    const bool async = node.infer.kind == core::TaskKind::Async;
    std::string style = async ? ", shape=cds" : ", shape=box";
    if (const auto fault = picture_.faults.find(node.spec.name); fault != picture_.faults.end()) {
      label += "\n" + fault->second;
      style += ", color=red, fontcolor=red";
    }
    dot_ +=
        indent + ("n" + std::to_string(index)) + " [label=" + dot_string(label) + style + "];\n";
  }

  void write_edge(const runtime::EdgePlan &edge) {
    const auto &from = picture_.graph.nodes[edge.from].infer;
    const auto &to = picture_.graph.nodes[edge.to].infer;
    const auto out = static_cast<size_t>(edge.spec.out_idx);
    const auto in = static_cast<size_t>(edge.spec.in_idx);
    std::string label;
    if (out < from.output_descs.size())
      label = core::to_string(from.output_descs[out]);
    if (edge.tid >= 0)
      label += "\ntensor " + std::to_string(edge.tid);
    if (const auto sid = sid_of(edge.tid); sid >= 0) {
      label += ", storage " + std::to_string(sid);
      if (const auto block = picture_.block_of.find(sid); block != picture_.block_of.end())
        label += " in the block of " + std::to_string(block->second);
    }
    const bool owned_out = out < from.owned_outputs.size() && from.owned_outputs[out];
    const bool owned_in = in < to.owned_inputs.size() && to.owned_inputs[in];
    dot_ += "  n" + std::to_string(edge.from) + " -> n" + std::to_string(edge.to) +
        " [label=" + dot_string(label) +
        ", taillabel=" + dot_string(std::to_string(edge.spec.out_idx)) +
        ", headlabel=" + dot_string(std::to_string(edge.spec.in_idx)) +
        (owned_out ? ", dir=both, arrowtail=diamond" : "") +
        (owned_in ? ", arrowhead=diamond" : "") + "];\n";
  }

  const Picture &picture_;
  const core::Registry &registry_;
  std::string dot_;
};

}  // namespace

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

std::string failure_dot(const Plan &plan) {
  // Sections of a failed partition may not be ordered yet.
  static const std::vector<runtime::Section> none;
  const bool ordered =
      std::none_of(plan.sections.begin(), plan.sections.end(), [](const runtime::Section &section) {
        return section.sync_topo.empty();
      });
  Picture picture{plan.graph, ordered ? plan.sections : none, plan.tid_to_sid};
  for (const auto &fault : plan.faults) {
    auto &text = picture.faults[fault.node];
    text += (text.empty() ? "" : "\n") + std::string(fault.what());
  }
  return DotWriter(picture, *plan.registry).write();
}

std::string trace_of(const std::vector<runtime::CompileSpan> &spans) {
  auto first = std::chrono::steady_clock::time_point::max();
  for (const auto &span : spans)
    first = std::min(first, span.begin);
  return nlohmann::json{{"traceEvents", runtime::chrome_events(spans, first)}}.dump(
      1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace holoflow::compiler

namespace holoflow::runtime {

std::string to_dot(const CompilerOutput &output, const core::Registry &registry) {
  compiler::Picture picture{output.graph, output.sections, output.resources.tid_to_sid};
  for (const auto &item : output.bill.tensors)
    if (item.block >= 0 && item.block != item.sid)
      picture.block_of.emplace(item.sid, item.block);
  return compiler::DotWriter(picture, registry).write();
}

}  // namespace holoflow::runtime
