// SPDX-License-Identifier: LGPL-2.1-or-later
// The property stats.
#include <algorithm>

#include "gstholoflowstream.h"

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

StructurePtr Stream::stats() const {
  StructurePtr nodes(gst_structure_new_empty("nodes"));
  StructurePtr sections(gst_structure_new_empty("sections"));
  StructurePtr replay(gst_structure_new_empty("replay"));
  Totals now;
  {
    std::lock_guard lock(run_mutex_);
    if (run_ != nullptr) {
      const auto ledger = run_->scheduler->ledger();
      now = count(ledger, *run_);
      nodes = nodes_of(*run_->scheduler, ledger);
      sections = sections_of(*run_->scheduler);
      replay = replays_of(*run_->scheduler);
    }
    std::lock_guard state_lock(state_mutex_);
    now.entered += totals_.entered + dropped_;
    now.dropped += totals_.dropped + dropped_;
    now.failed += totals_.failed;
  }
  const auto output = output_.counts();
  now.dropped += output.dropped;
  now.held += output.held;
  std::lock_guard lock(state_mutex_);
  return StructurePtr(gst_structure_new(
      "application/x-holoflow-stats", "in", G_TYPE_UINT64, static_cast<guint64>(now.entered), "out",
      G_TYPE_UINT64, static_cast<guint64>(output.out), "dropped", G_TYPE_UINT64,
      static_cast<guint64>(now.dropped), "failed", G_TYPE_UINT64, static_cast<guint64>(now.failed),
      "in-flight", G_TYPE_UINT64, static_cast<guint64>(now.held), "device", G_TYPE_STRING,
      device_.c_str(), "nodes", GST_TYPE_STRUCTURE, nodes.get(), "sections", GST_TYPE_STRUCTURE,
      sections.get(), "replay", GST_TYPE_STRUCTURE, replay.get(), nullptr));
}

}  // namespace holoflow::gst
