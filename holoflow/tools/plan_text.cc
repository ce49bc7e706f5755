// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/plan_text.hh"

#include <algorithm>
#include <map>

#include "holoflow/runtime/stream_shape.hh"

namespace holoflow::tools {

namespace {

using Json = nlohmann::ordered_json;
using runtime::CompilerOutput;
using runtime::MemoryAmount;

std::vector<std::string> names_of(const CompilerOutput &plan, const std::vector<size_t> &nodes) {
  std::vector<std::string> names;
  for (const size_t node : nodes)
    names.push_back(plan.graph.nodes[node].spec.name);
  return names;
}

/// Nodes that read a tensor, as "node:slot".
std::vector<std::string> readers_of(const CompilerOutput &plan, int tid) {
  std::vector<std::string> readers;
  for (const auto &edge : plan.graph.edges)
    if (edge.tid == tid)
      readers.push_back(edge.spec.to + ":" + std::to_string(edge.spec.in_idx));
  return readers;
}

/// A piece of memory and the tensors in it.
struct StorageView {
  size_t bytes = 0;
  int block = -1;  ///< the storage whose block it uses, -1 where a task owns the memory
  core::MemLoc mem_loc = core::MemLoc::Host;
  std::vector<int> tids;
};

std::map<int, StorageView> storages_of(const CompilerOutput &plan) {
  std::map<int, StorageView> storages;
  for (const auto &item : plan.bill.tensors) {
    StorageView &storage = storages[item.sid];
    storage.bytes = std::max(storage.bytes, item.bytes);
    storage.block = item.block;
    storage.mem_loc = item.mem_loc;
    storage.tids.push_back(item.tid);
  }
  return storages;
}

std::string join(const std::vector<std::string> &parts, const char *between = ", ") {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : between) + part;
  return text;
}

std::string section_text(const CompilerOutput &plan, const runtime::Section &section) {
  std::string text = "section " + std::to_string(section.id) + ": one thread";
  text += section.device < 0
      ? ", on the CPU"
      : ", stream " + std::to_string(section.id) + " of GPU " + std::to_string(section.device);
  const auto add = [&](const char *what, const std::vector<size_t> &nodes, const char *between) {
    if (!nodes.empty())
      text += std::string("\n  ") + what + " " + join(names_of(plan, nodes), between);
  };
  add("pops from", section.async_cons, ", ");
  add("runs", section.sync_topo, " → ");
  add("pushes to", section.async_prod, ", ");
  return text + "\n";
}

std::string tensor_text(const CompilerOutput &plan, const runtime::MemoryBill::TensorItem &item) {
  const auto &desc = plan.resources.tensor_descs[static_cast<size_t>(item.tid)];
  const auto readers = readers_of(plan, item.tid);
  return "  " + std::to_string(item.tid) + " from " + item.node + ":" + std::to_string(item.slot) +
      " to " + (readers.empty() ? "nobody" : join(readers)) + ": " + core::to_string(desc) +
      ", storage " + std::to_string(item.sid) + "\n";
}

std::string storage_text(int sid, const StorageView &storage) {
  std::vector<std::string> tids;
  for (const int tid : storage.tids)
    tids.push_back(std::to_string(tid));
  return "  " + std::to_string(sid) + ": " + std::to_string(storage.bytes) + " bytes on " +
      std::string(core::to_string(storage.mem_loc)) + ", " +
      (storage.block < 0          ? "memory of a task"
           : storage.block == sid ? "a block of its own"
                                  : "the block of storage " + std::to_string(storage.block)) +
      ", for tensor " + join(tids) + "\n";
}

std::string rate_text(const runtime::StreamRate &rate) {
  if (!rate.known())
    return "some";
  return std::to_string(rate.numerator) +
      (rate.denominator == 1 ? "" : "/" + std::to_string(rate.denominator));
}

std::string stream_text(const runtime::StreamShape &shape) {
  std::string text = "  " + shape.output + ": ";
  if (shape.input.empty())
    return text + "no stream leads here\n";
  return text + "frames of " + shape.input + ", " + rate_text(shape.tensors_per_frame) +
      " tensors of " + std::to_string(shape.records) + " for each, delayed by " +
      std::to_string(shape.delay_frames) + " frames of a live stream, at most " +
      std::to_string(shape.held_frames) + " held\n";
}

Json streams_json(const CompilerOutput &plan) {
  Json streams = Json::array();
  for (const auto &shape : runtime::stream_shapes(plan.graph))
    streams.push_back(
        {{"output", shape.output},
         {"input", shape.input},
         {"tensors_per_frame",
          {shape.tensors_per_frame.numerator, shape.tensors_per_frame.denominator}},
         {"records_per_frame",
          {shape.records_per_frame.numerator, shape.records_per_frame.denominator}},
         {"records", shape.records},
         {"delay_frames", shape.delay_frames},
         {"held_frames", shape.held_frames}});
  return streams;
}

Json amount_json(const MemoryAmount &amount) {
  return {{"device", amount.device}, {"pinned", amount.pinned}, {"host", amount.host}};
}

Json sections_json(const CompilerOutput &plan) {
  Json sections = Json::array();
  for (const auto &section : plan.sections)
    sections.push_back(
        {{"id", section.id},
         {"name", section.name},
         {"device", section.device},
         {"stream", section.device < 0 ? Json() : Json(section.id)},
         {"pops", names_of(plan, section.async_cons)},
         {"runs", names_of(plan, section.sync_topo)},
         {"pushes", names_of(plan, section.async_prod)}});
  return sections;
}

Json tensors_json(const CompilerOutput &plan) {
  Json tensors = Json::array();
  for (const auto &item : plan.bill.tensors) {
    const auto &desc = plan.resources.tensor_descs[static_cast<size_t>(item.tid)];
    tensors.push_back(
        {{"id", item.tid},
         {"node", item.node},
         {"slot", item.slot},
         {"readers", readers_of(plan, item.tid)},
         {"dtype", core::to_string(desc.dtype)},
         {"shape", desc.shape},
         {"mem_loc", core::to_string(desc.mem_loc)},
         {"bytes", item.bytes},
         {"storage", item.sid}});
  }
  return tensors;
}

Json storages_json(const CompilerOutput &plan) {
  Json storages = Json::array();
  for (const auto &[sid, storage] : storages_of(plan))
    storages.push_back(
        {{"id", sid},
         {"mem_loc", core::to_string(storage.mem_loc)},
         {"bytes", storage.bytes},
         {"block", storage.block < 0 ? Json() : Json(storage.block)},
         {"tensors", storage.tids}});
  return storages;
}

Json memory_json(const runtime::MemoryBill &bill) {
  Json sections = Json::array();
  for (const auto &section : bill.sections)
    sections.push_back(
        {{"id", section.section},
         {"tensors", amount_json(section.blocks)},
         {"tasks", amount_json(section.tasks)}});
  Json tasks = Json::array();
  for (const auto &item : bill.task_items)
    tasks.push_back(
        {{"node", item.node},
         {"what", item.need.what},
         {"mem_loc", core::to_string(item.need.mem_loc)},
         {"bytes", item.need.bytes}});
  return {
      {"tensors", amount_json(bill.blocks)},
      {"tasks", amount_json(bill.tasks)},
      {"total", amount_json(bill.total())},
      {"saved_by_aliasing", bill.saved_by_aliasing},
      {"saved_by_sharing", bill.saved_by_sharing},
      {"sections", sections},
      {"task_items", tasks}};
}

}  // namespace

std::string plan_text(const CompilerOutput &plan) {
  std::string text = "device: " + plan.report.device + "\n\n";
  for (const auto &section : plan.sections)
    text += section_text(plan, section);
  text += "\nstreams\n";
  for (const auto &shape : runtime::stream_shapes(plan.graph))
    text += stream_text(shape);
  text += "\ntensors\n";
  for (const auto &item : plan.bill.tensors)
    text += tensor_text(plan, item);
  text += "\nstorages\n";
  for (const auto &[sid, storage] : storages_of(plan))
    text += storage_text(sid, storage);
  text += "\n" + to_text(plan.bill) + "\nwhy\n";
  for (const auto &decision : plan.report.decisions)
    text += "  " + std::string(to_string(decision.kind)) + ": " + decision.text + "\n";
  return text;
}

Json plan_json(const CompilerOutput &plan) {
  Json decisions = Json::array();
  for (const auto &decision : plan.report.decisions)
    decisions.push_back(
        {{"kind", to_string(decision.kind)}, {"node", decision.node}, {"text", decision.text}});
  return {{"device", plan.report.device},     {"sections", sections_json(plan)},
          {"tensors", tensors_json(plan)},    {"storages", storages_json(plan)},
          {"memory", memory_json(plan.bill)}, {"decisions", decisions},
          {"streams", streams_json(plan)}};
}

}  // namespace holoflow::tools
