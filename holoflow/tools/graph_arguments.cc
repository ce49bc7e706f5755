// SPDX-License-Identifier: LGPL-2.1-or-later
// From arguments to a graph whose Inputs have tensors, collecting every fault on the way.
#include "holoflow/tools/graph_arguments.hh"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <unordered_set>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/graph_json.hh"
#include "holoflow/core/near_name.hh"
#include "holoflow/tools/command.hh"
#include "holoflow/tools/frame_files.hh"

namespace holoflow::tools {

namespace {

namespace fs = std::filesystem;

const core::NodeSpec &node_of(const LoadedGraph &loaded, const std::string &name) {
  return loaded.expanded.nodes[loaded.node_index.at(name)];
}

std::string text_param(const core::NodeSpec &node, const char *name) {
  if (!node.settings.is_object())
    return "";
  const auto found = node.settings.find(name);
  return found != node.settings.end() && found->is_string() ? found->get<std::string>() : "";
}

bool knows_every_node(const LoadedGraph &loaded) {
  return loaded.whole && loaded.is_expanded;
}

/// NODE of NODE=VALUE, "" for a VALUE alone. Names may hold "=": the longest that fits is meant.
std::string node_in_front(const std::string &text, const std::vector<std::string> &nodes) {
  std::string node;
  for (const std::string &name : nodes)
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=' &&
        name.size() > node.size())
      node = name;
  return node;
}

/// Whether what stands in front of "=" is meant as a node's name, as far as one can tell.
bool is_meant_as_node(const std::string &prefix, const std::vector<std::string> &nodes) {
  if (prefix.find('/') == std::string::npos)
    return true;
  // Nodes of sub-graphs are named with "/" too.
  const bool is_path = prefix.starts_with('/') || prefix.starts_with('.');
  return !is_path && core::nearest_name(prefix, nodes).find('/') != std::string::npos;
}

bool names_a_file(const std::string &option) {
  return option == "--in" || option == "--out" || option == "--like";
}

/// An Input takes the first that fits; one that none is left for is a fault.
void apply(
    LoadedGraph &loaded, const Assignment &given, const std::vector<std::string> &inputs,
    bool may_be_idle) {
  std::vector<std::string> targets;
  for (const std::string &input : inputs)
    if ((given.node.empty() || given.node == input) && !loaded.frames.contains(input))
      targets.push_back(input);
  if (targets.empty() && !inputs.empty()) {
    if (!may_be_idle)
      loaded.faults.add(
          given.option + " " + given.text + ": expected --caps or --like once for " +
          (given.node.empty() ? "each Input, all have theirs; "
                              : "node \"" + given.node + "\" (Input), got a second; ") +
          "leave one out");
    return;
  }
  try {
    const MediaFrame frame =
        given.option == "--like" ? frame_of_file(given.value) : frame_of_caps(given.value);
    for (const std::string &input : targets)
      set_input(loaded, input, frame);
  } catch (const std::exception &error) {
    loaded.faults.add(given.option + " " + given.text + ": " + error.what());
    for (const std::string &input : targets)
      loaded.frames.try_emplace(input);  // this fault is enough
  }
}

// An Input that restricts itself to one size needs no option.
void use_own_caps(LoadedGraph &loaded, const std::string &input) {
  const auto own = text_param(node_of(loaded, input), "caps");
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

/// What --caps, --like and the Inputs themselves say.
void read_inputs(LoadedGraph &loaded, const GraphArguments &arguments) {
  const auto inputs = nodes_of_type(loaded.expanded, "Input");
  std::vector<Assignment> all;
  bool is_misnamed = false;
  const auto read = [&](const char *option, const std::vector<std::string> &texts) {
    for (const std::string &text : texts) {
      auto assignment = read_assignment(loaded, option, "Input", text);
      is_misnamed |= !assignment.has_value();
      if (assignment)
        all.push_back(std::move(*assignment));
    }
  };
  read("--caps", arguments.caps);
  read("--like", arguments.like);
  // The others are for the Inputs that are left.
  std::stable_partition(
      all.begin(), all.end(), [](const Assignment &given) { return !given.node.empty(); });
  for (const Assignment &given : all)
    apply(loaded, given, inputs, false);
  if (arguments.for_the_rest)
    apply(loaded, *arguments.for_the_rest, inputs, true);
  for (const std::string &input : inputs) {
    use_own_caps(loaded, input);
    if (is_misnamed)
      loaded.frames.try_emplace(input);  // the fault in the name is enough
  }
}

void read_graph(
    LoadedGraph &loaded, const std::string &text, const std::vector<std::string> &types) {
  std::error_code error;
  try {
    if (fs::is_directory(fs::path(text), error)) {
      loaded.faults.add("graph file " + core::quote(text) + ": expected a file, got a folder");
      loaded.whole = false;
      return;
    }
    auto read = core::read_graph_text(text, types);
    loaded.graph = std::move(read.graph);
    loaded.whole = read.faults.empty();
    for (const core::Error &fault : read.faults)
      loaded.faults.add(fault.what());
    loaded.faults.add_unlisted(read.faults.unlisted());
  } catch (const core::GraphError &missing) {
    loaded.faults.add(missing.what());
    loaded.whole = false;
  }
}

/// Edges whose node was left out for a fault would be faults of their own.
void drop_loose_edges(core::GraphSpec &graph) {
  std::unordered_set<std::string_view> names;
  for (const core::NodeSpec &node : graph.nodes)
    names.insert(node.name);
  std::erase_if(graph.edges, [&](const core::EdgeSpec &edge) {
    return !names.contains(edge.from) || !names.contains(edge.to);
  });
}

/// A list of nodes that were not checked, because of another fault.
bool is_unchecked(const core::Error &fault) {
  return fault.reason == core::Reason::NotChecked;
}

/// Nobody said what this Input gets, or what was said is a fault that is told already.
bool asks_for_tensor(const core::Error &fault) {
  return fault.reason == core::Reason::MissingTensor;
}

/// Whether what stands behind a fault tells a reader something: not where the fault is in the
/// command line, or in what is written at the node.
bool is_failed_inference(const core::Error &fault) {
  return fault.pass == "type inference" && !is_unchecked(fault) && !asks_for_tensor(fault);
}

/// Whether a fault may only be there because parts of the graph could not be read.
bool may_be_a_consequence(const core::Error &fault) {
  const bool early =
      fault.pass == "sub-graphs" || fault.pass == "validate" || fault.pass == "type inference";
  return !early || fault.reason == core::Reason::MissingInput || is_unchecked(fault);
}

std::string ask_for_tensor(const LoadedGraph &loaded, const std::string &input) {
  const bool several = nodes_of_type(loaded.expanded, "Input").size() > 1;
  return "node " + core::quote(input) +
      " (Input): expected to know what it gets, got nothing; say it with --caps " +
      (several ? "\"" + input + "=video/x-raw" : std::string("\"video/x-raw")) +
      ",format=GRAY8,width=640,height=480\" or with --like " + (several ? input + "=" : "") +
      "FILE";
}

void add_compiler_fault(LoadedGraph &loaded, const core::Error &fault) {
  if (!loaded.whole && may_be_a_consequence(fault))
    return;
  if (!asks_for_tensor(fault))
    loaded.faults.add(fault.what());
  else if (!loaded.frames.contains(fault.node))  // else the fault in its caps or file is enough
    loaded.faults.add(ask_for_tensor(loaded, fault.node));
}

/// A graph that gives nothing is not what anyone means.
void refuse_empty_outputs(LoadedGraph &loaded, const runtime::CompilerOutput &plan) {
  for (const auto &node : plan.graph.nodes)
    if (node.spec.kind == "Output" && node.infer.input_descs[0].num_elements() == 0)
      loaded.faults.add(
          "node " + core::quote(node.spec.name) +
          " (Output): expected a tensor with elements, got " +
          core::to_string(node.infer.input_descs[0]) + "; change the nodes before it");
}

}  // namespace

void add_graph_arguments(CLI::App &command, GraphArguments &arguments) {
  command.add_option("GRAPH", arguments.graph, "A graph file, the JSON itself, or a chain")
      ->required();
  command
      .add_option(
          "--caps", arguments.caps,
          "What an Input gets, as GStreamer caps; [NODE=]CAPS, without NODE= for every Input that "
          "has none of its own")
      ->type_name("CAPS")
      ->allow_extra_args(false);
  command
      .add_option(
          "--device", arguments.device,
          "auto: a GPU where there is one and the graph has a use for it")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  command
      .add_option(
          "--replay", arguments.replay,
          "Whether GPU tasks in a row are recorded and launched as one; require: an error if one "
          "cannot be")
      ->check(CLI::IsMember({"off", "auto", "require"}))
      ->capture_default_str();
  command
      .add_option(
          "--max-recordings", arguments.max_recordings,
          "Maximum number of different pieces of work that are recorded")
      ->capture_default_str();
}

void add_like_argument(CLI::App &command, GraphArguments &arguments) {
  command
      .add_option(
          "--like", arguments.like,
          "What an Input gets, as in this media file; [NODE=]FILE, without NODE= for every Input "
          "that has none of its own; a FILE with \"=\" in its name as ./FILE")
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

std::optional<Assignment> read_assignment(
    LoadedGraph &loaded, const std::string &option, const std::string &type,
    const std::string &text) {
  const auto nodes = nodes_of_type(loaded.expanded, type);
  if (const std::string node = node_in_front(text, nodes); !node.empty())
    return Assignment{option, text, node, text.substr(node.size() + 1)};
  const std::string prefix = text.substr(0, text.find('='));
  const bool holds_no_caps =
      option == "--caps" && text.find('/', prefix.size()) == std::string::npos;
  if (prefix.size() == text.size() || holds_no_caps || !is_meant_as_node(prefix, nodes))
    return Assignment{option, text, "", text};
  if (knows_every_node(loaded))
    loaded.faults.add(
        option + " " + text + ": expected the name of an " + type +
        " node in front of \"=\", got \"" + prefix + "\"" +
        core::suggestion_or_names(prefix, nodes, "the graph has") +
        (names_a_file(option) ? "; a file of this name is ./" + text : ""));
  return std::nullopt;
}

void set_input(LoadedGraph &loaded, const std::string &input, const MediaFrame &frame) {
  try {
    const auto as = text_param(node_of(loaded, input), "as");
    // What else "as" may be the compiler says.
    const bool known = as.empty() || as == "GRAY" || as == "RGB" || as == "RGBA" || as == "TENSOR";
    loaded.config.inputs[input] = known ? input_tensor(frame, as) : frame.tensor;
    loaded.frames[input] = frame;
  } catch (const std::exception &error) {
    loaded.frames[input] = frame;
    loaded.config.inputs.erase(input);
    loaded.faults.add("node " + core::quote(input) + " (Input): " + error.what());
  }
}

LoadedGraph load_graph(const GraphArguments &arguments, const core::Registry &registry) {
  LoadedGraph loaded;
  using Device = runtime::CompilerConfig::Device;
  loaded.config.device = arguments.device == "cpu" ? Device::Cpu
      : arguments.device == "cuda"                 ? Device::Cuda
                                                   : Device::Auto;
  using Replay = runtime::CompilerConfig::Replay;
  loaded.config.replay = arguments.replay == "off" ? Replay::Off
      : arguments.replay == "require"              ? Replay::Require
                                                   : Replay::Auto;
  loaded.config.max_recordings = arguments.max_recordings;
  read_graph(loaded, arguments.graph, registry.keys());
  core::FaultList told_by_the_compiler;
  loaded.expanded = core::expand_graph(loaded.graph, told_by_the_compiler);
  loaded.is_expanded = told_by_the_compiler.empty();
  const auto &nodes = loaded.expanded.nodes;
  for (size_t i = 0; i < nodes.size(); ++i)
    loaded.node_index.emplace(nodes[i].name, i);
  read_inputs(loaded, arguments);
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
    const bool tells_unchecked =
        std::any_of(error.faults.begin(), error.faults.end(), is_failed_inference);
    for (const core::Error &fault : error.faults)
      if (tells_unchecked || !is_unchecked(fault))
        add_compiler_fault(loaded, fault);
    if (loaded.whole)
      loaded.faults.add_unlisted(error.faults.unlisted());
  }
  if (plan != nullptr)
    refuse_empty_outputs(loaded, *plan);
  return loaded.faults.empty() ? std::move(plan) : nullptr;
}

void print_warnings(const runtime::CompilerOutput &plan) {
  for (const auto &decision : plan.report.decisions)
    if (decision.kind == runtime::Decision::Kind::Warning)
      print_fault("warning: " + decision.text);
}

}  // namespace holoflow::tools
