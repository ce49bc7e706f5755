// SPDX-License-Identifier: LGPL-2.1-or-later
// holoflow run: a graph from files to files, without GStreamer.
#include <cstdio>
#include <memory>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/near_name.hh"
#include "holoflow/tools/command.hh"
#include "holoflow/tools/frame_transfer.hh"
#include "holoflow/tools/graph_arguments.hh"
#include "holoflow/tools/interruption.hh"
#include "holoflow/tools/run_record.hh"

namespace holoflow::tools {

namespace {

struct RunArguments {
  GraphArguments graph;
  std::vector<std::string> in;  ///< [NODE=]FILE
  std::vector<std::string> out;
  RecordArguments record;
};

using Files = std::map<std::string, std::string>;

/// What is written must be no file of `others`, whose nodes read or write it.
void refuse_shared_file(
    LoadedGraph &loaded, const std::string &option, const std::string &file, const Files &others,
    const std::string &verb) {
  for (const auto &[node, other] : others)
    if (share_a_file(file, other)) {
      loaded.faults.add(
          option + file + ": node \"" + node + "\" " + verb +
          " this file already; name another one");
      return;
    }
}

void refuse_shared_files(
    LoadedGraph &loaded, const Files &in, const Files &out, const std::string &trace) {
  Files before;
  for (const auto &[node, file] : out) {
    const std::string option = "--out " + node + "=";
    refuse_shared_file(loaded, option, file, before, "writes");
    refuse_shared_file(loaded, option, file, in, "reads");
    before.emplace(node, file);
  }
  if (trace.empty())
    return;
  refuse_shared_file(loaded, "--trace ", trace, out, "writes");
  refuse_shared_file(loaded, "--trace ", trace, in, "reads");
}

/// Which file belongs to which node of a type; faults where one has none or two.
Files files_of_nodes(
    LoadedGraph &loaded, const std::string &type, const std::string &option,
    const std::vector<std::string> &values) {
  const auto nodes = nodes_of_type(loaded.expanded, type);
  Files files;
  if (nodes.empty()) {
    if (!loaded.graph.nodes.empty())
      loaded.faults.add(
          "graph: expected a node of type " + type + " for " + option + ", got none; add one");
    return files;
  }
  for (const std::string &value : values) {
    const auto given = read_assignment(loaded, option, type, value);
    if (!given)
      continue;
    if (given->node.empty() && nodes.size() > 1) {
      loaded.faults.add(
          option + " " + value + ": expected NODE=FILE, since the graph has " +
          std::to_string(nodes.size()) + " " + type + " nodes; say " + option + " " + nodes[0] +
          "=" + value);
      continue;
    }
    const std::string &node = given->node.empty() ? nodes[0] : given->node;
    if (!files.emplace(node, given->value).second)
      loaded.faults.add(
          option + " " + value + ": expected one file for node \"" + node + "\" (" + type +
          "), got a second; leave one out");
  }
  if (files.size() < nodes.size() && files.size() == values.size())
    for (const std::string &node : nodes)
      if (!files.contains(node))
        loaded.faults.add(
            "node \"" + node + "\" (" + type + "): expected a file, got none; say " + option + " " +
            node + "=FILE");
  return files;
}

std::map<std::string, std::unique_ptr<FrameReader>> open_readers(
    LoadedGraph &loaded, const Files &files) {
  std::map<std::string, std::unique_ptr<FrameReader>> readers;
  for (const auto &[node, file] : files) {
    try {
      std::optional<MediaFrame> raw;
      if (const auto caps = loaded.frames.find(node); caps != loaded.frames.end())
        raw = caps->second;
      if (raw && raw->bytes == 0)
        continue;  // its caps have a fault already
      auto reader = open_reader(file, raw);
      const MediaFrame &frame = reader->frame();
      if (raw && frame.tensor != raw->tensor)
        throw FileError(
            file,
            "expected " + core::to_string(raw->tensor) + " as the caps say, got " +
                core::to_string(frame.tensor) + "; leave --caps out, the file says what it is");
      if (!raw)
        set_input(loaded, node, frame);
      readers.emplace(node, std::move(reader));
    } catch (const std::exception &error) {
      loaded.faults.add(error.what());
      // Its tensor is not worth a fault of its own.
      loaded.frames.try_emplace(node);
    }
  }
  return readers;
}

std::map<std::string, std::unique_ptr<FrameWriter>> open_writers(
    LoadedGraph &loaded, const runtime::CompilerOutput &plan, const Files &files) {
  std::map<std::string, std::unique_ptr<FrameWriter>> writers;
  for (const auto &node : plan.graph.nodes) {
    if (node.spec.kind != "Output")
      continue;
    core::TDesc tensor = node.infer.input_descs[0];
    const auto media = tensor.media;
    tensor = core::TDesc(tensor.shape, tensor.dtype, core::MemLoc::Host);  // it leaves packed
    tensor.media = media;
    try {
      writers.emplace(node.spec.name, open_writer(files.at(node.spec.name), tensor));
    } catch (const FileError &error) {
      loaded.faults.add(error.what());
    }
  }
  return writers;
}

int report(const LoadedGraph &loaded) {
  print_faults(loaded.faults);
  return Bad;
}

int run(const RunArguments &arguments) {
  core::Registry registry;
  register_builtin_tasks(registry);
  LoadedGraph loaded = load_graph(arguments.graph, registry);
  const Files in = files_of_nodes(loaded, "Input", "--in", arguments.in);
  const Files out = files_of_nodes(loaded, "Output", "--out", arguments.out);
  refuse_shared_files(loaded, in, out, arguments.record.trace);
  for (const std::string &input : nodes_of_type(loaded.expanded, "Input"))
    if (!in.contains(input))
      loaded.frames.try_emplace(input);  // a fault already
  const auto readers = open_readers(loaded, in);
  const auto plan = plan_graph(loaded, registry);
  if (plan == nullptr)
    return report(loaded);
  RunRecord record(arguments.record);
  const Interruption interruption(  // before the first file is created
      [&record] { record.interrupt(); });
  const auto writers = open_writers(loaded, *plan, out);
  if (!loaded.faults.empty())
    return report(loaded);
  print_warnings(*plan);
  TransferResult result;
  try {
    result = transfer_frames(loaded.graph, loaded.config, record, readers, writers);
  } catch (const std::exception &) {
    for (const auto &[output, writer] : writers)
      if (const auto text = writer->left_behind(); !text.empty())
        print_fault(text);
    throw;
  }
  // Not to standard output, which --out may name.
  std::fprintf(
      stderr, "%s in, %s out, %.3f seconds on %s\n", count_frames(result.frames_in).c_str(),
      count_frames(result.frames_out).c_str(), result.seconds, result.device.c_str());
  for (const auto &loss : result.losses)
    print_fault(loss);
  for (const auto &[output, writer] : writers)
    if (const auto text = writer->left_from_before(); !text.empty())
      print_fault(text);
  return Good;
}

}  // namespace

void add_run(CLI::App &app, int &status) {
  auto *command = app.add_subcommand("run", "Runs a graph from files to files");
  const auto arguments = std::make_shared<RunArguments>();  // shared: callbacks are copied
  add_graph_arguments(*command, arguments->graph);
  command
      ->add_option(
          "--in", arguments->in,
          "Frames to read: .npy, .png, .tif, name-%04d.png, or raw with --caps; [NODE=]FILE; "
          "a FILE with \"=\" in its name as ./FILE")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->required();
  command
      ->add_option(
          "--out", arguments->out,
          "Where frames go: .npy, .png, .tif, name-%04d.png, else raw; [NODE=]FILE, as for --in")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->required();
  command
      ->add_option(
          "--trace", arguments->record.trace,
          "What every section did when, for https://ui.perfetto.dev; also of a run that failed")
      ->type_name("FILE");
  command->add_flag(
      "--metrics", arguments->record.metrics, "Prints where the time of sections and nodes went");
  command->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace holoflow::tools
