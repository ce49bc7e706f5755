// SPDX-License-Identifier: LGPL-2.1-or-later
// A graph as its author wrote it: nodes, edges, sub-graphs; read from JSON or from a chain.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holoflow::core {

struct NodeSpec {
  std::string name;  ///< unique in its graph
  std::string kind;  ///< registry key, "FFT2"
  nlohmann::json settings;  ///< the task's params, an object or null
  bool debug = true;  ///< accepted for the ancestor's files
  std::string pointer = {};  ///< JSON pointer of its description, "" = /nodes/<name>
  std::string group = {};  ///< the Graph node it was expanded from, "" for none
  std::string key = {};  ///< the param "key" of that Graph node, "" for none
};

/// Output `out_idx` of node `from` feeds input `in_idx` of node `to`.
struct EdgeSpec {
  std::string from;
  int out_idx = 0;
  std::string to;
  int in_idx = 0;
  std::string pointer = {};  ///< JSON pointer of its description, "" = /edges/<index>
};

/// Where each JSON value of a graph text, and the key in front of it, begins. Built by a scan of
/// the text; of a huge text only what fits 64 MiB is recorded.
class SourceMap {
public:
  struct Position {
    int line = 0;  ///< from 1
    int column = 0;  ///< from 1, in bytes
  };

  void add(std::string_view pointer, Position position) { record(values_, pointer, position); }
  void add_key(std::string_view pointer, Position position) { record(keys_, pointer, position); }
  /// Position of the value at `pointer`, or of its nearest recorded parent; {0, 0} if empty.
  [[nodiscard]] Position find(std::string_view pointer) const;
  /// Position of the key whose value is at `pointer`; where there is none, as find().
  [[nodiscard]] Position find_key(std::string_view pointer) const;
  [[nodiscard]] bool empty() const noexcept { return values_.empty(); }

private:
  using Positions = std::map<std::string, Position, std::less<>>;

  void record(Positions &positions, std::string_view pointer, Position position);

  Positions values_;
  Positions keys_;
  size_t recorded_bytes_ = 0;
};

/// RFC 6901: `~` becomes `~0`, `/` becomes `~1`.
[[nodiscard]] std::string escape_pointer_token(std::string_view token);

/// What a graph may hold; more is refused with a message that names the limit.
inline constexpr size_t max_graph_bytes = size_t{8} << 20;  ///< of a graph text
inline constexpr int max_graph_depth = 64;  ///< objects, arrays, sub-graphs within each other
inline constexpr size_t max_graph_nodes = 100'000;  ///< after sub-graphs are expanded
inline constexpr size_t max_graph_edges = 400'000;  ///< after sub-graphs are expanded
inline constexpr size_t max_name_bytes = 4096;  ///< of a node, after sub-graphs are expanded too
inline constexpr size_t max_sub_graph_name_bytes = 256;
inline constexpr size_t max_expanded_bytes = size_t{256} << 20;  ///< of names, places and params
inline constexpr size_t max_tensor_bytes = size_t{1} << 48;  ///< offset and extent
inline constexpr size_t max_tensor_rank = 64;
inline constexpr size_t max_string_bytes = size_t{1} << 20;  ///< of any string in a graph text

struct GraphSpec {
  std::vector<NodeSpec> nodes;
  std::vector<EdgeSpec> edges;
  /// Named sub-graphs as written, for nodes of type Graph: {"nodes", "edges", "inputs": ["x:0"],
  /// "outputs": ["y:0"]}.
  std::map<std::string, nlohmann::json> graphs = {};
  /// Places in the text the graph came from; null for graphs built in code.
  std::shared_ptr<const SourceMap> source = {};  // shared by copies of the graph, never changed

  /// Adds a node and returns the graph, so that calls chain.
  GraphSpec &add_node(NodeSpec node);
  GraphSpec &add_node(
      std::string name, std::string kind, nlohmann::json settings = nlohmann::json::object());
  GraphSpec &connect(std::string from, int out_idx, std::string to, int in_idx);

  /// Reads a graph file's text; `//` comments are allowed. Throws GraphError with every fault: JSON
  /// pointer, line, column, expected, got and the nearest valid name. Nodes keep the order of the
  /// text. Whether types exist and edges meet nodes and slots is the compiler's to say.
  [[nodiscard]] static GraphSpec from_json(std::string_view text);
  /// The same of parsed JSON, without lines and columns. Nodes are in the order of the JSON object.
  [[nodiscard]] static GraphSpec from_json(const nlohmann::json &json);
  [[nodiscard]] static GraphSpec from_json(const char *text) {
    return from_json(std::string_view(text));
  }
  [[nodiscard]] static GraphSpec from_json(const std::string &text) {
    return from_json(std::string_view(text));
  }
  /// Reads `upload ! conversion target=F32 ! download` as the graph between an implied Input
  /// ("input") and Output ("output"). Type names match `known_types` without regard to case. Throws
  /// GraphError with the column of the fault.
  [[nodiscard]] static GraphSpec from_chain(
      std::string_view chain, const std::vector<std::string> &known_types);
  /// Throws GraphError with Reason::FileNotFound where the file cannot be read.
  [[nodiscard]] static GraphSpec from_file(const std::filesystem::path &path);
  /// An existing file; else JSON when the first non-blank character is `{`; else a missing file
  /// when the text has no blank and contains `/` or ends in `.json`; else a chain.
  [[nodiscard]] static GraphSpec from_text(
      std::string_view text, const std::vector<std::string> &known_types);

  /// The graph with every node of type Graph replaced by its sub-graph's nodes, which are then
  /// called "outer/inner"; edges to its slots go where "inputs" and "outputs" say. Throws
  /// GraphError with every fault: unknown or recursive sub-graphs (with the path), slots that do
  /// not exist.
  [[nodiscard]] GraphSpec expanded() const;

  /// A graph file that from_json reads back to an equal graph, apart from the order of the nodes.
  /// Throws GraphError with every fault where none can be written: two nodes of one name, names and
  /// slots that a file may not have, params that are no object or hold what JSON does not know
  /// (NaN, infinity, text that is no UTF-8), more than a file may hold.
  [[nodiscard]] nlohmann::json to_json() const;
  /// Graphviz source with one node per task and slot numbers on edges.
  [[nodiscard]] std::string to_dot() const;
};

}  // namespace holoflow::core
