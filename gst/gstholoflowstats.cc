// SPDX-License-Identifier: LGPL-2.1-or-later
// What others may ask a session: the property stats, ports, delays.
#include <algorithm>
#include <utility>

#include "gstholoflowinput.h"
#include "gstholoflowlog.h"
#include "gstholoflowoutput.h"

namespace holoflow::gst {

namespace {

// Names of nodes may hold what a field of a GstStructure may not.
std::string field_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !g_ascii_isalnum(c) && c != '-'; }, '_');
  return name;
}

void add_counts(GstStructure *structure, const runtime::NodeLedger &node) {
  guint64 dropped = 0;
  for (const auto &[reason, frames] : node.dropped)
    dropped += frames;
  gst_structure_set(
      structure, "entered", G_TYPE_UINT64, node.entered, "left", G_TYPE_UINT64, node.left,
      "dropped", G_TYPE_UINT64, dropped, "skipped", G_TYPE_UINT64, node.skipped, "failed",
      G_TYPE_UINT64, node.failed, "held", G_TYPE_UINT64, node.held, nullptr);
}

void add_structure(GstStructure *to, const std::string &name, const StructurePtr &structure) {
  gst_structure_set(to, field_name(name).c_str(), GST_TYPE_STRUCTURE, structure.get(), nullptr);
}

// Asking for metrics begins to measure, so that the first answer has no rates.
StructurePtr nodes_of(
    const runtime::Scheduler &scheduler, const std::map<std::string, runtime::NodeLedger> &ledger) {
  StructurePtr nodes(gst_structure_new_empty("nodes"));
  for (const auto &[name, metrics] : scheduler.metrics()) {
    const StructurePtr node(gst_structure_new_empty("node"));
    if (const auto counts = ledger.find(name); counts != ledger.end())
      add_counts(node.get(), counts->second);
    gst_structure_set(
        node.get(), "runs", G_TYPE_UINT64, static_cast<guint64>(metrics.sample_count), nullptr);
    add_structure(nodes.get(), name, node);
  }
  return nodes;
}

StructurePtr sections_of(const runtime::Scheduler &scheduler) {
  StructurePtr sections(gst_structure_new_empty("sections"));
  for (const auto &[name, metrics] : scheduler.section_metrics())
    add_structure(
        sections.get(), name,
        StructurePtr(gst_structure_new(
            "section", "limiter", G_TYPE_STRING, metrics.limiter.c_str(), "iterations-per-second",
            G_TYPE_DOUBLE, metrics.iterations_per_second, nullptr)));
  return sections;
}

// Of all runs together; the reasons for what was not replayed as "reason: count; …".
StructurePtr replays_of(const runtime::Scheduler &scheduler) {
  runtime::ReplayStats sum;
  std::map<std::string, uint64_t> reasons;
  for (const auto &replay : scheduler.replays()) {
    sum.hits += replay.hits;
    sum.misses += replay.misses;
    sum.records += replay.records;
    sum.re_records += replay.re_records;
    sum.bytes += replay.bytes;
    for (const auto &[reason, count] : replay.fallbacks)
      reasons[reason] += count;
  }
  std::string text;
  uint64_t fallbacks = 0;
  for (const auto &[reason, count] : reasons) {
    text += (text.empty() ? "" : "; ") + reason + ": " + std::to_string(count);
    fallbacks += count;
  }
  return StructurePtr(gst_structure_new(
      "replay", "hits", G_TYPE_UINT64, static_cast<guint64>(sum.hits), "misses", G_TYPE_UINT64,
      static_cast<guint64>(sum.misses), "records", G_TYPE_UINT64, static_cast<guint64>(sum.records),
      "re-records", G_TYPE_UINT64, static_cast<guint64>(sum.re_records), "fallbacks", G_TYPE_UINT64,
      static_cast<guint64>(fallbacks), "reasons", G_TYPE_STRING, text.c_str(), "bytes",
      G_TYPE_UINT64, static_cast<guint64>(sum.bytes), nullptr));
}

}  // namespace

// Without the lock for the counts of nodes.
ClosedRun Session::run_of(const Graph &graph) const {
  ClosedRun run;
  for (const auto &[output, inference] : graph.inference->outputs)
    run.shapes.push_back(inference.shape);
  run.nodes = graph.session->scheduler().ledger();
  std::lock_guard lock(mutex_);
  run.departed = departed_;
  return run;
}

// Keeps what the last run counted; the next one counts anew.
void Session::close_run() {
  std::shared_ptr<Graph> graph;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(run_, RunOf::Nothing) == RunOf::Nothing)
      return;
    graph = graph_;
  }
  auto run = run_of(*graph);
  std::lock_guard lock(mutex_);
  closed_runs_.push_back(std::move(run));
  add_settled_runs();
}

// With the lock.
void Session::add_settled_runs() {
  std::erase_if(closed_runs_, [this](const ClosedRun &run) {
    if (!is_settled(run))
      return false;
    totals_ += count_frames(run, false);
    return true;
  });
}

// At the end of a stream. A graph without output may well be meant; whoever wonders is told.
void Session::warn_of_nothing_left(std::unique_lock<std::mutex> &lock) {
  const auto graph = graph_;
  if (said_.contains(Once::NothingLeft))
    return;
  lock.unlock();
  const auto run = run_of(*graph);
  const auto counts = count_frames(run, false);
  const bool nothing_left = counts.in > 0 && counts.out + counts.failed + counts.in_flight == 0;
  if (nothing_left) {
    std::string text = std::to_string(counts.in) + " frames entered and none left";
    for (const auto &[name, node] : run.nodes)
      for (const auto &[reason, frames] : node.dropped)
        if (frames > 0)
          text += "; node \"" + name + "\" dropped " + std::to_string(frames) + " (" + reason + ")";
    post_warning(
        element_, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        text + "; a window needs as many frames as its size, or \"flush\": \"pad\"", "");
  }
  lock.lock();
  if (nothing_left)
    said_.insert(Once::NothingLeft);
}

void Session::count_refused() {
  std::lock_guard lock(mutex_);
  ++totals_.in;
  ++totals_.dropped;
}

StructurePtr Session::stats() const {
  std::shared_ptr<Graph> graph;
  bool is_open = false, is_active = false;
  FrameCounts now;
  std::string device;
  {
    std::lock_guard lock(mutex_);
    graph = graph_;
    is_open = run_ != RunOf::Nothing;
    // An EOS leaves a little before the run is over.
    is_active = runs() &&
        (outputs_.empty() ||
         std::any_of(outputs_.begin(), outputs_.end(), [](const OutputPort *output) {
           return output->expects_frames();
         }));
    now = totals_;
    for (const auto &run : closed_runs_)
      now += count_frames(run, false);
    device = device_;
  }
  StructurePtr nodes(gst_structure_new_empty("nodes"));
  StructurePtr sections(gst_structure_new_empty("sections"));
  StructurePtr replay(gst_structure_new_empty("replay"));
  if (graph != nullptr) {
    const auto &scheduler = graph->session->scheduler();
    if (is_open)
      now += count_frames(run_of(*graph), is_active);
    nodes = nodes_of(scheduler, scheduler.ledger());
    sections = sections_of(scheduler);
    replay = replays_of(scheduler);
  }
  const auto count = [](uint64_t frames) { return static_cast<guint64>(frames); };
  return StructurePtr(gst_structure_new(
      "application/x-holoflow-stats", "in", G_TYPE_UINT64, count(now.in), "out", G_TYPE_UINT64,
      count(now.out), "merged", G_TYPE_UINT64, count(now.merged), "dropped", G_TYPE_UINT64,
      count(now.dropped), "skipped", G_TYPE_UINT64, count(now.skipped), "failed", G_TYPE_UINT64,
      count(now.failed), "in-flight", G_TYPE_UINT64, count(now.in_flight), "device", G_TYPE_STRING,
      device.c_str(), "nodes", GST_TYPE_STRUCTURE, nodes.get(), "sections", GST_TYPE_STRUCTURE,
      sections.get(), "replay", GST_TYPE_STRUCTURE, replay.get(), nullptr));
}

bool Session::is_started() const {
  std::lock_guard lock(mutex_);
  return state_ != StreamState::Stopped;
}

std::shared_ptr<const GraphModel> Session::model() const {
  std::lock_guard lock(mutex_);
  return model_;
}

Frames Session::known_frames(const InputPort *except) const {
  std::lock_guard lock(mutex_);
  Frames frames;
  for (const InputPort *port : inputs_)
    if (port != except && port->shared.stream)
      frames.emplace(port->node().name, port->shared.stream->frame);
  return frames;
}

std::vector<InputPort *> Session::inputs() const {
  std::lock_guard lock(mutex_);
  return inputs_;
}

std::vector<OutputPort *> Session::outputs() const {
  std::lock_guard lock(mutex_);
  return outputs_;
}

std::vector<OutputPort *> Session::outputs_of(const std::string &input) const {
  std::lock_guard lock(mutex_);
  if (inputs_.size() < 2)
    return outputs_;
  const auto &main = model_->main_inputs();
  std::vector<OutputPort *> result;
  for (OutputPort *output : outputs_) {
    const auto found = main.find(output->node());
    if (found == main.end() || found->second == input)
      result.push_back(output);
  }
  return result;
}

std::optional<Delay> Session::delay_of(const std::string &output) const {
  std::lock_guard lock(mutex_);
  const auto found = delays_.find(output);
  return found != delays_.end() ? std::optional(found->second) : std::nullopt;
}

bool Session::first_explanation() {
  std::lock_guard lock(mutex_);
  return said_.insert(Once::WhyCapsFail).second;
}

}  // namespace holoflow::gst
