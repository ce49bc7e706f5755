// SPDX-License-Identifier: LGPL-2.1-or-later
// Building a graph in code and writing it as JSON or for Graphviz.
#include "holoflow/core/graph_spec.hh"

#include "holoflow/core/graph_json.hh"

namespace holoflow::core {

namespace {

// Text between double quotes of a DOT file; "\n" there is a line break of the label.
std::string dot_text(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\')
      escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

constexpr size_t max_recorded_bytes = size_t{64} << 20;
constexpr size_t entry_bytes = 128;  // of a node of the map beside its text, roughly

}  // namespace

void SourceMap::record(Positions &positions, std::string_view pointer, Position position) {
  if (recorded_bytes_ > max_recorded_bytes)
    return;
  recorded_bytes_ += pointer.size() + entry_bytes;
  positions.emplace(pointer, position);
}

SourceMap::Position SourceMap::find(std::string_view pointer) const {
  while (true) {
    if (const auto entry = values_.find(pointer); entry != values_.end())
      return entry->second;
    const size_t slash = pointer.rfind('/');
    if (slash == std::string_view::npos)
      return {};
    pointer = pointer.substr(0, slash);
  }
}

SourceMap::Position SourceMap::find_key(std::string_view pointer) const {
  const auto entry = keys_.find(pointer);
  return entry != keys_.end() ? entry->second : find(pointer);
}

std::string escape_pointer_token(std::string_view token) {
  std::string escaped;
  for (char c : token) {
    if (c == '~')
      escaped += "~0";
    else if (c == '/')
      escaped += "~1";
    else
      escaped += c;
  }
  return escaped;
}

GraphSpec &GraphSpec::add_node(NodeSpec node) {
  nodes.push_back(std::move(node));
  return *this;
}

GraphSpec &GraphSpec::add_node(std::string name, std::string kind, nlohmann::json settings) {
  return add_node(NodeSpec{std::move(name), std::move(kind), std::move(settings)});
}

GraphSpec &GraphSpec::connect(std::string from, int out_idx, std::string to, int in_idx) {
  edges.push_back(EdgeSpec{std::move(from), out_idx, std::move(to), in_idx});
  return *this;
}

nlohmann::json GraphSpec::to_json() const {
  return write_graph_json(*this);
}

std::string GraphSpec::to_dot() const {
  std::string dot = "digraph holoflow {\n  rankdir=LR;\n  node [shape=box];\n";
  for (const NodeSpec &node : nodes) {
    const std::string name = dot_text(node.name);
    dot += "  \"" + name + "\" [label=\"" + name + "\\n" + dot_text(node.kind) + "\"];\n";
  }
  for (const EdgeSpec &edge : edges)
    dot += "  \"" + dot_text(edge.from) + "\" -> \"" + dot_text(edge.to) + "\" [taillabel=\"" +
        std::to_string(edge.out_idx) + "\", headlabel=\"" + std::to_string(edge.in_idx) + "\"];\n";
  return dot + "}\n";
}

}  // namespace holoflow::core
