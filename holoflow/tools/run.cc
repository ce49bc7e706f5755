// SPDX-License-Identifier: LGPL-2.1-or-later
// holoflow run: a graph from files to files, without GStreamer.
#include <cstdio>
#include <memory>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/core/near_name.hh"
#include "holoflow/tools/command.hh"
#include "holoflow/tools/frame_transfer.hh"
#include "holoflow/tools/graph_arguments.hh"
#include "holoflow/tools/input_files.hh"
#include "holoflow/tools/interruption.hh"
#include "holoflow/tools/run_record.hh"

namespace holoflow::tools {

namespace {

struct RunArguments {
  GraphArguments graph;
  InputArguments input;
  std::vector<std::string> out;  ///< [NODE=]FILE
  RecordArguments record;
};

using Files = std::map<std::string, std::string>;

/// What is written must be no file of `others`, whose nodes read or write it.
void refuse_shared_file(
    LoadedGraph &loaded, const std::string &option, const std::string &file, const Files &others,
    const std::string &verb) {
  for (const auto &[node, other] : others)
    if (share_a_file(file, other) && !(file == standard_stream && verb == "reads")) {
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

using Writers = std::map<std::string, std::unique_ptr<FrameWriter>>;

Writers open_writers(LoadedGraph &loaded, const runtime::CompilerOutput &plan, const Files &files) {
  Writers writers;
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

/// Outputs that got nothing of the frames that came in.
std::vector<std::string> empty_outputs(const TransferResult &result) {
  std::vector<std::string> faults;
  for (const auto &[output, frames] : result.frames_of_output)
    if (frames == 0 && result.frames_in > 0)
      faults.push_back(
          "node \"" + output + "\" (Output): expected a frame to write, the graph gave none for " +
          count_frames(result.frames_in) + " in; take more frames or shorter windows");
  return faults;
}

/// Losses first, then why nothing is written: rethrows what the run threw. True where all is well.
bool report_losses(const TransferResult &result, bool partial) {
  for (const auto &loss : result.losses)
    print_fault(loss);
  for (const auto &unread : result.unread)
    print_fault(partial ? unread : advise_partial(unread));
  if (result.error != nullptr)
    std::rethrow_exception(result.error);
  if (partial)
    return true;
  const auto empty = empty_outputs(result);
  for (const auto &fault : empty)
    print_fault(fault);
  return empty.empty() && result.unread.empty();
}

void print_left_behind(const Writers &writers) {
  for (const auto &[output, writer] : writers)
    if (const auto text = writer->left_behind(); !text.empty())
      print_fault(text);
}

/// Gives the files their names where nothing is wrong with them.
int finish_run(const TransferResult &result, const Writers &writers, bool partial) {
  try {
    if (!report_losses(result, partial)) {
      print_left_behind(writers);
      return Bad;
    }
    for (const auto &[output, writer] : writers)
      writer->finish();
  } catch (const std::exception &) {
    print_left_behind(writers);
    throw;
  }
  for (const auto &[output, writer] : writers)
    if (const auto text = writer->left_from_before(); !text.empty())
      print_fault(text);
  // Not to standard output, which --out may name.
  std::fprintf(
      stderr, "%s in, %s out, %.3f seconds on %s\n", count_frames(result.frames_in).c_str(),
      count_frames(result.frames_out).c_str(), result.since_begin.seconds(), result.device.c_str());
  return Good;
}

int run(const RunArguments &arguments) {
  core::Registry registry;
  register_builtin_tasks(registry);
  LoadedGraph loaded = load_graph(arguments.graph, registry);
  const Files in = files_of_nodes(loaded, "Input", "--in", arguments.input.in);
  const Files out = files_of_nodes(loaded, "Output", "--out", arguments.out);
  refuse_shared_files(loaded, in, out, arguments.record.trace);
  for (const std::string &input : nodes_of_type(loaded.expanded, "Input"))
    if (!in.contains(input))
      loaded.frames.try_emplace(input);  // a fault already
  const auto readers = open_readers(loaded, in, arguments.input);
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
  const auto result = transfer_frames(loaded.graph, loaded.config, record, readers, writers);
  return finish_run(result, writers, arguments.input.partial);
}

}  // namespace

void add_run(CLI::App &app, int &status) {
  auto *command = app.add_subcommand("run", "Runs a graph from files to files");
  const auto arguments = std::make_shared<RunArguments>();  // shared: callbacks are copied
  add_graph_arguments(*command, arguments->graph);
  add_input_arguments(*command, arguments->input);
  command
      ->add_option(
          "--out", arguments->out,
          "Where frames go: .npy, .png, .tif, numbered files (name-%04d.png), else raw, as to "
          "standard output with -; [NODE=]FILE, as for --in")
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
