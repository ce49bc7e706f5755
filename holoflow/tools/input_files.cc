// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/input_files.hh"

#include <algorithm>
#include <stdexcept>

#include "holoflow/tools/number_text.hh"
#include "holoflow/tools/output_file.hh"

namespace holoflow::tools {

namespace {

/// Values of an option by node; "" holds the one for every other Input.
using ValueOfNode = std::map<std::string, std::string>;

ValueOfNode values_of_nodes(
    LoadedGraph &loaded, const std::string &option, const std::vector<std::string> &texts) {
  ValueOfNode values;
  for (const std::string &text : texts) {
    const auto given = read_assignment(loaded, option, "Input", text);
    if (given && !values.emplace(given->node, given->value).second)
      loaded.faults.add(
          option + " " + text + ": expected it once for " +
          (given->node.empty() ? "all Inputs" : "node \"" + given->node + "\" (Input)") +
          ", got a second; leave one out");
  }
  return values;
}

/// Null where there is none for the node.
const std::string *value_for(const ValueOfNode &values, const std::string &node) {
  auto found = values.find(node);
  if (found == values.end())
    found = values.find("");
  return found != values.end() ? &found->second : nullptr;
}

/// 0 where the option does not say it.
size_t bytes_for(const ValueOfNode &values, const std::string &node, const char *option) {
  const std::string *text = value_for(values, node);
  if (text == nullptr)
    return 0;
  try {
    return parse_count(*text);
  } catch (const std::exception &error) {
    throw std::invalid_argument(std::string(option) + ": " + error.what() + " bytes");
  }
}

/// Reads the file once more where its headers do not say it.
size_t count_all(
    const FrameReader &reader, const std::string &file, const std::optional<RawLayout> &raw) {
  if (const auto total = reader.total())
    return *total;
  if (file == standard_stream || is_pipe_or_device(file))
    throw FileError(
        file, "expected a file whose frames can be counted for --batch all, got a stream");
  const auto again = open_reader(file, raw);
  const std::unique_ptr<std::byte[]> frame(new std::byte[again->frame().bytes]);
  size_t frames = 0;
  while (again->read(frame.get()))
    ++frames;
  return frames;
}

void set_batch(LoadedGraph &loaded, const std::string &input, size_t frames) {
  if (loaded.is_expanded)
    loaded.graph = loaded.expanded;  // the Input may be one of a sub-graph
  for (core::GraphSpec *graph : {&loaded.graph, &loaded.expanded})
    for (core::NodeSpec &node : graph->nodes)
      if (node.name == input)
        node.settings["batch"] = std::max<size_t>(frames, 1);
}

class InputOpener {
public:
  InputOpener(LoadedGraph &loaded, const InputArguments &arguments)
      : loaded_(loaded), partial_(arguments.partial),
        skip_(values_of_nodes(loaded, "--skip", arguments.skip)),
        gap_(values_of_nodes(loaded, "--gap", arguments.gap)),
        batch_(values_of_nodes(loaded, "--batch", arguments.batch)) {
    for (const auto &[node, value] : batch_)
      if (value != "all")
        loaded.faults.add(
            "--batch " + (node.empty() ? "" : node + "=") + value +
            ": expected all, the whole file as one window, got \"" + value +
            "\"; a number is the param \"batch\" of the Input node");
  }

  /// Null where its caps have a fault already.
  std::unique_ptr<FrameReader> open(const std::string &node, const std::string &file) {
    const auto raw = layout_of(node);
    if (raw && raw->frame.bytes == 0)
      return nullptr;
    auto reader = open_reader(file, raw);
    const MediaFrame &frame = reader->frame();
    if (raw && frame.tensor != raw->frame.tensor)
      throw FileError(
          file,
          "expected " + core::to_string(raw->frame.tensor) + " as the caps say, got " +
              core::to_string(frame.tensor) + "; leave --caps out, the file says what it is");
    if (!raw)
      set_input(loaded_, node, frame);
    if (const auto text = reader->left_unread(); !text.empty() && !partial_)
      loaded_.faults.add(advise_partial(text));
    if (const std::string *batch = value_for(batch_, node); batch != nullptr && *batch == "all")
      set_batch(loaded_, node, count_all(*reader, file, raw));
    return reader;
  }

private:
  [[nodiscard]] std::optional<RawLayout> layout_of(const std::string &node) const {
    const size_t skip = bytes_for(skip_, node, "--skip"), gap = bytes_for(gap_, node, "--gap");
    if (const auto caps = loaded_.frames.find(node); caps != loaded_.frames.end())
      return RawLayout{caps->second, skip, gap};
    if (skip != 0 || gap != 0)
      throw std::invalid_argument(
          "--skip, --gap: expected raw frames, which --caps describes, for node \"" + node +
          "\" (Input), got no --caps");
    return std::nullopt;
  }

  LoadedGraph &loaded_;
  bool partial_;
  ValueOfNode skip_, gap_, batch_;
};

}  // namespace

void add_input_arguments(CLI::App &command, InputArguments &arguments) {
  command
      .add_option(
          "--in", arguments.in,
          "Frames to read: .npy, .png, .tif, numbered files (name-%04d.png), - for standard input, "
          "or raw with --caps; [NODE=]FILE; a FILE with \"=\" in its name as ./FILE")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->required();
  command
      .add_option(
          "--skip", arguments.skip,
          "Bytes before the first frame of a raw file; [NODE=]BYTES, without NODE= for every Input "
          "not named otherwise")
      ->type_name("BYTES")
      ->allow_extra_args(false);
  command
      .add_option("--gap", arguments.gap, "Bytes between two frames of a raw file; [NODE=]BYTES")
      ->type_name("BYTES")
      ->allow_extra_args(false);
  command
      .add_option(
          "--batch", arguments.batch,
          "all: the whole file as one window, as the Input's \"batch\" of its number of frames; "
          "[NODE=]all")
      ->type_name("all")
      ->allow_extra_args(false);
  command.add_flag(
      "--partial", arguments.partial,
      "Succeeds although frames of the files stay unread; without it that is an error");
}

Readers open_readers(
    LoadedGraph &loaded, const std::map<std::string, std::string> &files,
    const InputArguments &arguments) {
  Readers readers;
  InputOpener opener(loaded, arguments);
  for (const auto &[node, file] : files) {
    try {
      if (auto reader = opener.open(node, file))
        readers.emplace(node, std::move(reader));
    } catch (const std::exception &error) {
      loaded.faults.add(error.what());
      // Its tensor is not worth a fault of its own.
      loaded.frames.try_emplace(node);
    }
  }
  return readers;
}

std::string advise_partial(const std::string &sentence) {
  return sentence + "; --partial goes on without them";
}

}  // namespace holoflow::tools
