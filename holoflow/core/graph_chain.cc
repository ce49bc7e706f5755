// SPDX-License-Identifier: LGPL-2.1-or-later
// The short form of a linear graph: `upload ! conversion target=F32 ! download`.
//
//   chain = node { "!" node }        node = type { param "=" value }
//   value = JSON string, array or object | word; a word that is JSON stands for what JSON says
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/json_reader.hh"
#include "holoflow/core/near_name.hh"

namespace holoflow::core {

namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return result;
}

class ChainReader {
public:
  ChainReader(std::string_view text, const std::vector<std::string> &known_types)
      : text_(text), known_types_(known_types) {
    for (size_t i = text.find('\n'); i != std::string_view::npos; i = text.find('\n', i + 1))
      line_starts_.push_back(i + 1);
  }

  GraphSpec read() {
    source_.add("", {1, 1});
    check_utf8();
    skip_blanks();
    if (at_end())
      fault(offset_, "", "expected a task type, the chain is empty");
    while (!at_end()) {
      if (nodes_.size() == max_graph_nodes) {
        fault(
            offset_, "", "expected at most " + std::to_string(max_graph_nodes) + " nodes, got more",
            Reason::TooLarge);
        break;
      }
      read_node();
      if (at_end())
        break;
      const size_t mark = offset_++;  // read_node() stops at "!"
      skip_blanks();
      if (at_end())
        fault(mark, "", "expected a task type behind \"!\", got the end of the chain");
    }
    auto nodes = with_rims();
    if (!faults_.empty())
      throw GraphError(std::move(faults_));
    GraphSpec graph;
    for (auto &node : nodes)
      graph.add_node(std::move(node));
    for (size_t i = 0; i + 1 < graph.nodes.size(); ++i)
      graph.connect(graph.nodes[i].name, 0, graph.nodes[i + 1].name, 0);
    // Shared by the copies of the graph; see GraphSpec::source.
    graph.source = std::make_shared<const SourceMap>(std::move(source_));
    return graph;
  }

private:
  [[nodiscard]] bool at_end() const noexcept { return offset_ >= text_.size(); }
  [[nodiscard]] char peek() const noexcept { return text_[offset_]; }

  [[nodiscard]] SourceMap::Position position_of(size_t offset) const {
    const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
    const size_t line_start = *(next - 1);
    return {
        static_cast<int>(next - line_starts_.begin()), static_cast<int>(offset - line_start) + 1};
  }

  // Most chains are one line, so the column alone says where.
  void fault(
      size_t offset, const std::string &node, const std::string &message,
      Reason reason = Reason::BadGraph) {
    if (faults_.is_full())
      return faults_.add_unlisted();
    const auto position = position_of(offset);
    const std::string origin = "chain, " +
        (line_starts_.size() > 1 ? "line " + std::to_string(position.line) + ", " : std::string()) +
        "column " + std::to_string(position.column);
    Error fault = graph_fault(origin, {}, "", message, reason);
    fault.node = node;
    fault.line = position.line;
    fault.column = position.column;
    faults_.add(std::move(fault));
  }

  // What is no UTF-8 could not be written as JSON later.
  void check_utf8() {
    for (size_t i = 0; i < text_.size();) {
      const size_t length = utf8_length(text_.substr(i));
      if (length == 0) {
        fault(i, "", describe_byte(text_[i]) + " is no UTF-8 text");
        throw GraphError(std::move(faults_));
      }
      i += length;
    }
  }

  void skip_blanks() { offset_ = std::min(text_.find_first_not_of(blanks, offset_), text_.size()); }

  // Up to a blank, "!" or one of `stops`.
  std::string_view read_word(std::string_view stops) {
    const size_t begin = offset_;
    const std::string ends = std::string(blanks) + "!" + std::string(stops);
    offset_ = std::min(text_.find_first_of(ends, offset_), text_.size());
    return text_.substr(begin, offset_ - begin);
  }

  // After a fault: on to the next "!" that stands outside of strings.
  void skip_node() {
    bool in_string = false;
    for (; !at_end(); ++offset_) {
      if (in_string && peek() == '\\')
        ++offset_;
      else if (peek() == '"')
        in_string = !in_string;
      else if (peek() == '!' && !in_string)
        return;
    }
    offset_ = text_.size();
  }

  void read_node() {
    const size_t begin = offset_;
    const std::string_view word = read_word("=");
    if (word.empty() || (!at_end() && peek() == '=')) {
      const std::string got = word.empty() ? describe_byte(peek()) : quote(word) + " with \"=\"";
      fault(begin, "", "expected a task type, got " + got);
      skip_node();
      return;
    }
    const std::string kind = known_type(word, begin);
    NodeSpec node{new_name(kind), kind, nlohmann::json::object()};
    const std::string pointer = "/nodes/" + escape_pointer_token(node.name);
    for (const char *suffix : {"", "/type", "/params"})
      source_.add(pointer + suffix, position_of(begin));
    begins_.push_back(begin);
    for (skip_blanks(); !at_end() && peek() != '!'; skip_blanks()) {
      if (read_param(node, pointer + "/params/"))
        continue;
      skip_node();
      break;
    }
    nodes_.push_back(std::move(node));
  }

  bool read_param(NodeSpec &node, const std::string &pointer) {
    const size_t begin = offset_;
    const std::string name(read_word("="));
    skip_blanks();
    if (name.empty() || at_end() || peek() != '=') {
      fault(
          begin, node.name,
          "expected param=value or \"!\", got " +
              (name.empty() ? describe_byte(text_[begin]) : quote(name)));
      return false;
    }
    ++offset_;
    skip_blanks();
    const std::string at = pointer + escape_pointer_token(name);
    source_.add_key(at, position_of(begin));
    source_.add(at, position_of(std::min(offset_, text_.size())));
    nlohmann::json value;
    if (!read_value(node.name, name, at, value))
      return false;
    if (!node.settings.emplace(name, std::move(value)).second)
      fault(begin, node.name, "param " + quote(name) + " is there twice");
    return true;
  }

  bool read_value(
      const std::string &node, const std::string &param, const std::string &pointer,
      nlohmann::json &value) {
    if (at_end() || peek() == '!') {
      fault(
          std::min(offset_, text_.size() - 1), node,
          "expected a value for " + quote(param) + ", got " +
              (at_end() ? std::string("the end of the chain") : describe_byte(peek())));
      return false;
    }
    if (peek() == '"' || peek() == '[' || peek() == '{')
      return read_json(node, pointer, value);
    const size_t begin = offset_;
    const std::string_view word = read_word("");
    if (word.front() == '\'') {
      fault(begin, node, "expected a value, got \"'\"; strings stand in double quotes");
      return false;
    }
    // A word that is one JSON value is that value: 4, 0.5, true, null; else it is a string.
    value = nlohmann::json::parse(word, nullptr, false);
    if (value.is_discarded())
      value = std::string(word);
    return true;
  }

  bool read_json(const std::string &node, const std::string &pointer, nlohmann::json &value) {
    JsonReader reader(text_, "chain");
    try {
      value = reader.read_value_at(offset_, position_of(offset_), pointer);
    } catch (Error &error) {
      error.node = node;
      faults_.add(error);
      return false;
    }
    for (Error error : reader.faults()) {
      error.node = node;
      faults_.add(std::move(error));
    }
    faults_.add_unlisted(reader.faults().unlisted());
    offset_ = reader.offset();
    if (at_end() || peek() == '!' || blanks.find(peek()) != std::string_view::npos)
      return true;
    fault(
        offset_, node, "expected a blank or \"!\" behind the value, got " + describe_byte(peek()));
    return false;
  }

  // The registered spelling of a type's name; without a list every name is taken as it stands.
  std::string known_type(std::string_view word, size_t offset) {
    for (const auto &type : known_types_)
      if (type == word)
        return type;
    for (const auto &type : known_types_)
      if (lower(type) == lower(word))
        return type;
    for (const char *rim : {"Input", "Output"})
      if (lower(rim) == lower(word))
        return rim;
    if (!known_types_.empty() && faults_.is_full())
      faults_.add_unlisted();
    else if (!known_types_.empty())
      fault(
          offset, "", "unknown task type " + quote(word) + type_suggestion(word, known_types_),
          Reason::UnknownType);
    return std::string(word);
  }

  std::string new_name(const std::string &kind) {
    const std::string base = lower(kind);
    std::string name = base;
    size_t &count = counts_[base];
    if (count > 0)
      name = base + std::to_string(count);
    // "fft" for the third time and a type "fft2" must not meet in one name.
    while (!names_.insert(name).second)
      name = base + std::to_string(++count);
    ++count;
    return name;
  }

  // The nodes between an Input and an Output; those that the chain does not write are added.
  std::vector<NodeSpec> with_rims() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].kind == "Input" && i != 0)
        fault(begins_[i], nodes_[i].name, "\"Input\" stands first in a chain or not at all");
      if (nodes_[i].kind == "Output" && i + 1 != nodes_.size())
        fault(begins_[i], nodes_[i].name, "\"Output\" stands last in a chain or not at all");
    }
    std::vector<NodeSpec> nodes = std::move(nodes_);
    if (nodes.empty() || nodes.front().kind != "Input")
      nodes.insert(nodes.begin(), NodeSpec{"input", "Input", nlohmann::json::object()});
    if (nodes.back().kind != "Output")
      nodes.push_back(NodeSpec{"output", "Output", nlohmann::json::object()});
    return nodes;
  }

  std::string_view text_;
  const std::vector<std::string> &known_types_;
  size_t offset_ = 0;
  std::vector<size_t> line_starts_{0};
  std::vector<NodeSpec> nodes_;
  std::vector<size_t> begins_;  // of each node in the text
  std::map<std::string, size_t> counts_;
  std::set<std::string> names_;
  SourceMap source_;
  FaultList faults_;
};

}  // namespace

GraphSpec GraphSpec::from_chain(
    std::string_view chain, const std::vector<std::string> &known_types) {
  if (chain.size() > max_graph_bytes)
    throw GraphError({graph_fault(
        "chain", {}, "", "expected at most " + std::to_string(max_graph_bytes) + " bytes, got more",
        Reason::TooLarge)});
  return ChainReader(chain, known_types).read();
}

}  // namespace holoflow::core
