// SPDX-License-Identifier: LGPL-2.1-or-later
// From arguments to a graph whose Inputs have tensors, collecting every fault on the way.
#include "holoflow/tools/graph_arguments.hh"

#include <algorithm>
#include <filesystem>

#include "holoflow/core/graph_json.hh"
#include "holoflow/core/near_name.hh"
#include "holoflow/tools/frame_files.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

const core::NodeSpec &node_of(const core::GraphSpec &graph, const std::string &name) {
  return *std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const core::NodeSpec &node) {
    return node.name == name;
  });
}

std::string text_param(const core::NodeSpec &node, const char *name) {
  if (!node.settings.is_object())
    return "";
  const auto found = node.settings.find(name);
  return found != node.settings.end() && found->is_string() ? found->get<std::string>() : "";
}

/// A value of --caps or --like for one Input, or for every Input that has none of its own.
struct Assignment {
  std::string node;
  std::string value;
};

// The node in front of "=": node names hold no "/", media types do.
Assignment read_caps(
    LoadedGraph &loaded, const std::string &text, const std::vector<std::string> &inputs) {
  const auto [node, value] = split_assignment(text, inputs);
  const std::string prefix = text.substr(0, text.find('='));
  if (node.empty() && prefix.size() < text.size() && prefix.find('/') == std::string::npos)
    loaded.faults.push_back(
        "--caps " + text + ": expected the name of an Input node in front of \"=\", got \"" +
        prefix + "\"" + core::suggestion(prefix, inputs));
  return {node, value};
}

void apply(
    LoadedGraph &loaded, const std::string &option, const std::vector<Assignment> &assignments,
    const std::vector<std::string> &inputs, MediaFrame (*frame_of)(const std::string &)) {
  for (const Assignment &assignment : assignments) {
    std::vector<std::string> targets;
    for (const std::string &input : inputs)
      if (assignment.node == input || (assignment.node.empty() && !loaded.frames.contains(input)))
        targets.push_back(input);
    try {
      const MediaFrame frame = frame_of(assignment.value);
      for (const std::string &input : targets)
        set_input(loaded, input, frame);
    } catch (const std::exception &error) {
      loaded.faults.push_back(option + " " + assignment.value + ": " + error.what());
      for (const std::string &input : targets)
        loaded.frames.try_emplace(input);  // this fault is enough
    }
  }
}

/// Named assignments first: the others are for the Inputs that are left.
void named_first(std::vector<Assignment> &assignments) {
  std::stable_partition(assignments.begin(), assignments.end(), [](const Assignment &assignment) {
    return !assignment.node.empty();
  });
}

// An Input that restricts itself to one size needs no option.
void use_own_caps(LoadedGraph &loaded, const std::string &input) {
  const auto own = text_param(node_of(loaded.expanded, input), "caps");
  if (own.empty() || loaded.frames.contains(input))
    return;
  MediaFrame frame;
  try {
    frame = frame_of_caps(own);
  } catch (const std::exception &) {
    return;  // open in format or size: an option has to say
  }
  set_input(loaded, input, frame);
}

void read_graph(
    LoadedGraph &loaded, const std::string &text, const std::vector<std::string> &types) {
  std::error_code error;
  try {
    if (fs::is_directory(fs::path(text), error)) {
      loaded.faults.push_back("graph file \"" + text + "\": expected a file, got a folder");
      loaded.whole = false;
      return;
    }
    auto read = core::read_graph_text(text, types);
    loaded.graph = std::move(read.graph);
    loaded.whole = read.faults.empty();
    for (const core::Error &fault : read.faults)
      loaded.faults.emplace_back(fault.what());
  } catch (const core::GraphError &missing) {
    loaded.faults.emplace_back(missing.what());
    loaded.whole = false;
  }
}

/// Edges whose node was left out for a fault would be faults of their own.
void drop_loose_edges(core::GraphSpec &graph) {
  const auto missing = [&](const std::string &name) {
    return std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const core::NodeSpec &node) {
      return node.name == name;
    });
  };
  std::erase_if(graph.edges, [&](const core::EdgeSpec &edge) {
    return missing(edge.from) || missing(edge.to);
  });
}

/// Whether a fault may only be there because parts of the graph could not be read.
bool may_be_a_consequence(const core::Error &fault) {
  const std::string text = fault.what();
  const bool early =
      fault.pass == "sub-graphs" || fault.pass == "validate" || fault.pass == "type inference";
  return !early || text.find("connect a node") != std::string::npos;
}

std::string ask_for_tensor(const LoadedGraph &loaded, const std::string &input) {
  const bool several = nodes_of_type(loaded.expanded, "Input").size() > 1;
  return "node \"" + input +
      "\" (Input): expected to know what it gets, got nothing; say it with --caps " +
      (several ? "\"" + input + "=video/x-raw" : std::string("\"video/x-raw")) +
      ",format=GRAY8,width=640,height=480\" or with --like " + (several ? input + "=" : "") +
      "FILE";
}

void add_compiler_fault(LoadedGraph &loaded, const core::Error &fault) {
  if (!loaded.whole && may_be_a_consequence(fault))
    return;
  const std::string text = fault.what();
  const bool asks_for_tensor =
      text.find("expected the tensor that one push brings") != std::string::npos;
  if (!asks_for_tensor)
    loaded.faults.push_back(text);
  else if (!loaded.frames.contains(fault.node))  // else the fault in its caps or file is enough
    loaded.faults.push_back(ask_for_tensor(loaded, fault.node));
}

}  // namespace

void add_graph_arguments(CLI::App &command, GraphArguments &arguments) {
  command.add_option("GRAPH", arguments.graph, "A graph file, the JSON itself, or a chain")
      ->required();
  command
      .add_option(
          "--caps", arguments.caps,
          "What an Input gets, as GStreamer caps; [NODE=]CAPS, once for each Input")
      ->type_name("CAPS")
      ->allow_extra_args(false);
  command
      .add_option(
          "--device", arguments.device,
          "auto: a GPU where there is one and the graph has a use for it")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
}

void add_like_argument(CLI::App &command, GraphArguments &arguments) {
  command
      .add_option(
          "--like", arguments.like,
          "What an Input gets, as in this media file; [NODE=]FILE, once for each Input")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

std::vector<std::string> nodes_of_type(const core::GraphSpec &graph, const std::string &type) {
  std::vector<std::string> names;
  for (const core::NodeSpec &node : graph.nodes)
    if (node.kind == type)
      names.push_back(node.name);
  return names;
}

std::pair<std::string, std::string> split_assignment(
    const std::string &text, const std::vector<std::string> &nodes) {
  // Names may hold "=": the longest that fits is meant.
  std::string node;
  for (const std::string &name : nodes)
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=' &&
        name.size() > node.size())
      node = name;
  return {node, node.empty() ? text : text.substr(node.size() + 1)};
}

void set_input(LoadedGraph &loaded, const std::string &input, const MediaFrame &frame) {
  try {
    const auto as = text_param(node_of(loaded.expanded, input), "as");
    // What else "as" may be the compiler says.
    const bool known = as.empty() || as == "GRAY" || as == "RGB" || as == "RGBA";
    loaded.config.inputs[input] = known ? input_tensor(frame, as) : frame.tensor;
    loaded.frames[input] = frame;
  } catch (const std::exception &error) {
    loaded.frames[input] = frame;
    loaded.config.inputs.erase(input);
    loaded.faults.push_back("node \"" + input + "\" (Input): " + error.what());
  }
}

LoadedGraph load_graph(const GraphArguments &arguments, const core::Registry &registry) {
  LoadedGraph loaded;
  using Device = runtime::CompilerConfig::Device;
  loaded.config.device = arguments.device == "cpu" ? Device::Cpu
      : arguments.device == "cuda"                 ? Device::Cuda
                                                   : Device::Auto;
  read_graph(loaded, arguments.graph, registry.keys());
  std::vector<core::Error> told_by_the_compiler;
  loaded.expanded = core::expand_graph(loaded.graph, told_by_the_compiler);
  const auto inputs = nodes_of_type(loaded.expanded, "Input");
  std::vector<Assignment> caps, like;
  for (const std::string &text : arguments.caps)
    caps.push_back(read_caps(loaded, text, inputs));
  for (const std::string &text : arguments.like) {
    const auto [node, file] = split_assignment(text, inputs);
    like.push_back({node, file});
  }
  named_first(caps);
  named_first(like);
  apply(
      loaded, "--caps", caps, inputs, [](const std::string &text) { return frame_of_caps(text); });
  apply(
      loaded, "--like", like, inputs, [](const std::string &path) { return frame_of_file(path); });
  for (const std::string &input : inputs)
    use_own_caps(loaded, input);
  return loaded;
}

std::unique_ptr<runtime::CompilerOutput> plan_graph(LoadedGraph &loaded, core::Registry &registry) {
  if (!loaded.whole)
    drop_loose_edges(loaded.graph);
  if (loaded.graph.nodes.empty() && !loaded.faults.empty())
    return nullptr;
  std::unique_ptr<runtime::CompilerOutput> plan;
  try {
    plan = runtime::Compiler(registry, loaded.config).plan(loaded.graph);
  } catch (const core::CompileError &error) {
    for (const core::Error &fault : error.faults)
      add_compiler_fault(loaded, fault);
  }
  return loaded.faults.empty() ? std::move(plan) : nullptr;
}

}  // namespace holoflow::tools
