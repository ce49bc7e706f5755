// SPDX-License-Identifier: LGPL-2.1-or-later
// The memory plan: sizes of storages, which of them take turns in one block, and the bill. Runs
// behind pass 9, needs no device.
//
// A block may serve one storage after another where nothing outside the section's own order can see
// it: every node that touches the storages is a synchronous node of one section, in one memory
// location. Left out are storages that asynchronous nodes touch (another thread), that a node
// without outputs reads or nobody reads (what leaves the graph), whose producer reads them again,
// that have a piece for each iteration in flight, and, on a GPU, Host storages of nodes that also
// touch Device ones (a copy may still be under way when the host goes on).
//
//   node      1  2  3  4  5        free list, in the order of the section: an output takes the
//   A.0       ██████               smallest free block that is large enough, else the largest one,
//   B.0          ██████            which grows, else a new one; inputs become free behind their
//   C.0             ██████  ◄ A.0  last reader
//
// Blocks begin at addresses that are multiples of 256 bytes: the device seam promises it.
#include <algorithm>
#include <map>

#include "holoflow/compiler/passes.hh"
#include "holoflow/compiler/saturating.hh"

namespace holoflow::compiler {

namespace {

constexpr const char *pass = "memory plan";
constexpr size_t alignment = 256;  // of blocks, and of the pieces in them

using core::MemLoc;
using runtime::MemoryAmount;

/// Where a storage is touched in its section's order.
struct Life {
  int section = -1;
  size_t first = 0, last = 0;
  bool shareable = true;
};

class MemoryPlanner {
public:
  explicit MemoryPlanner(Plan &plan) : plan_(plan) {}

  void plan_blocks() {
    measure_storages();
    plan_.block_of.resize(plan_.storage_count);
    for (size_t sid = 0; sid < plan_.storage_count; ++sid)
      plan_.block_of[sid] = plan_.storage_owner[sid] >= 0 ? -1 : static_cast<int>(sid);
    plan_.block_bytes.assign(plan_.storage_count, 0);
    if (plan_.config->share_memory)
      share_blocks();
    for (size_t sid = 0; sid < plan_.storage_count; ++sid)
      if (const auto block = plan_.block_of[sid]; block >= 0) {
        auto &bytes = plan_.block_bytes[static_cast<size_t>(block)];
        bytes = std::max(bytes, bytes_of_block(sid));
      }
    for (auto &section : plan_.sections)
      for (auto &lagged : section.lagged)
        lagged.stride = stride_of(static_cast<size_t>(lagged.sid));
  }

private:
  /// From one iteration's piece to the next one's.
  size_t stride_of(size_t sid) const {
    return saturating_sum(plan_.storage_bytes[sid], alignment - 1) / alignment * alignment;
  }

  size_t bytes_of_block(size_t sid) const {
    const auto copies = plan_.storage_copies[sid];
    return saturating_sum(
        copies > 1 ? saturating_product(copies - 1, stride_of(sid)) : 0, plan_.storage_bytes[sid]);
  }

  void measure_storages() {
    plan_.storage_bytes.assign(plan_.storage_count, 0);
    plan_.storage_location.assign(plan_.storage_count, MemLoc::Host);
    for (size_t tid = 0; tid < plan_.tensor_descs.size(); ++tid) {
      const auto &desc = plan_.tensor_descs[tid];
      const auto sid = static_cast<size_t>(plan_.tid_to_sid[tid]);
      plan_.storage_location[sid] = desc.mem_loc;
      plan_.storage_bytes[sid] =
          std::max(plan_.storage_bytes[sid], saturating_sum(desc.offset, desc.num_bytes()));
    }
  }

  bool touches_device(const runtime::NodePlan &node) const {
    const auto on_device = [](const core::TDesc &desc) { return desc.mem_loc == MemLoc::Device; };
    return std::any_of(node.infer.input_descs.begin(), node.infer.input_descs.end(), on_device) ||
        std::any_of(node.infer.output_descs.begin(), node.infer.output_descs.end(), on_device);
  }

  std::vector<Life> find_lives() const {
    std::vector<Life> lives(plan_.storage_count);
    std::vector<size_t> position(plan_.node_count(), 0);
    for (const auto &section : plan_.sections)
      for (size_t i = 0; i < section.sync_topo.size(); ++i)
        position[section.sync_topo[i]] = i;
    // A tail runs between other iterations: it shares with itself only.
    std::vector<bool> in_tail(plan_.node_count(), false);
    for (const auto &section : plan_.sections)
      for (const auto node : section.tail)
        in_tail[node] = true;
    const auto tails = static_cast<int>(plan_.sections.size());
    std::vector<bool> touched(plan_.storage_count, false);
    const auto touch = [&](size_t node, int tid, bool on_device) {
      const auto sid = static_cast<size_t>(plan_.sid_of(tid));
      auto &life = lives[sid];
      const auto section = plan_.section_of[node] + (in_tail[node] ? tails : 0);
      const bool mixed = on_device && plan_.storage_location[sid] == MemLoc::Host;
      if (section < 0 || (touched[sid] && life.section != section) || mixed)
        life.shareable = false;
      life.section = section;
      life.first = touched[sid] ? std::min(life.first, position[node]) : position[node];
      life.last = std::max(life.last, position[node]);
      touched[sid] = true;
    };
    for (size_t i = 0; i < plan_.node_count(); ++i) {
      const auto &node = plan_.graph.nodes[i];
      const bool on_device = touches_device(node);
      for (const auto tid : node.in_tids) {
        touch(i, tid, on_device);
        if (node.out_tids.empty())
          lives[static_cast<size_t>(plan_.sid_of(tid))].shareable = false;
      }
      for (size_t slot = 0; slot < node.out_tids.size(); ++slot) {
        const auto tid = node.out_tids[slot];
        touch(i, tid, on_device);
        if (plan_.tensor_readers[static_cast<size_t>(tid)] == 0 || node.infer.const_outputs[slot])
          lives[static_cast<size_t>(plan_.sid_of(tid))].shareable = false;
      }
    }
    for (size_t sid = 0; sid < lives.size(); ++sid)
      if (plan_.block_of[sid] < 0 || plan_.storage_bytes[sid] == 0 || plan_.storage_copies[sid] > 1)
        lives[sid].shareable = false;
    return lives;
  }

  struct Section {
    std::map<size_t, std::vector<size_t>> born, dies;  // by position, sids
  };

  void share_blocks() {
    const auto lives = find_lives();
    std::map<int, Section> sections;
    for (size_t sid = 0; sid < lives.size(); ++sid) {
      if (!lives[sid].shareable)
        continue;
      auto &section = sections[lives[sid].section];
      section.born[lives[sid].first].push_back(sid);
      section.dies[lives[sid].last].push_back(sid);
    }
    for (const auto &[id, section] : sections)
      share_in(section);
  }

  void share_in(const Section &section) {
    std::map<MemLoc, std::multimap<size_t, int>> free;  // bytes → block
    auto death = section.dies.begin();
    for (const auto &[position, born] : section.born) {
      for (; death != section.dies.end() && death->first < position; ++death)
        for (const auto sid : death->second) {
          const auto block = plan_.block_of[sid];
          free[plan_.storage_location[sid]].emplace(
              plan_.block_bytes[static_cast<size_t>(block)], block);
        }
      for (const auto sid : born)
        place(sid, free[plan_.storage_location[sid]]);
    }
  }

  void place(size_t sid, std::multimap<size_t, int> &free) {
    const auto bytes = plan_.storage_bytes[sid];
    auto found = free.lower_bound(bytes);
    if (found == free.end() && !free.empty())
      found = std::prev(free.end());
    int block = static_cast<int>(sid);
    if (found != free.end()) {
      block = found->second;
      free.erase(found);
    }
    plan_.block_of[sid] = block;
    auto &size = plan_.block_bytes[static_cast<size_t>(block)];
    size = std::max(size, bytes);
  }

  Plan &plan_;
};

/// Adds the plan's numbers up.
class Biller {
public:
  explicit Biller(Plan &plan)
      : plan_(plan), bill_(plan.bill), on_gpu_(plan.compute_location == MemLoc::Device) {}

  void write() {
    for (const auto &section : plan_.sections)
      bill_.sections.push_back({section.id});
    bill_tensors();
    bill_blocks();
    bill_tasks();
    bill_recordings();
  }

private:
  MemoryAmount amount(MemLoc location, size_t bytes) const {
    MemoryAmount result;
    (location == MemLoc::Device ? result.device : on_gpu_ ? result.pinned : result.host) = bytes;
    return result;
  }

  void bill_tensors() {
    first_writer_.assign(plan_.storage_count, -1);
    for (const auto index : plan_.topo_order) {
      const auto &node = plan_.graph.nodes[index];
      for (size_t slot = 0; slot < node.out_tids.size(); ++slot) {
        const auto tid = node.out_tids[slot];
        const auto &desc = plan_.tensor_descs[static_cast<size_t>(tid)];
        const auto sid = plan_.sid_of(tid);
        const auto bytes = saturating_sum(desc.offset, desc.num_bytes());
        bill_.tensors.push_back(
            {tid, sid, plan_.block_of[static_cast<size_t>(sid)], node.spec.name,
             static_cast<int>(slot), plan_.section_of[index], desc.mem_loc, bytes});
        auto &writer = first_writer_[static_cast<size_t>(sid)];
        if (writer < 0)
          writer = static_cast<int>(index);
        else
          bill_.saved_by_aliasing = saturating_sum(bill_.saved_by_aliasing, bytes);
      }
    }
  }

  /// A block belongs to the section that writes it first, for asynchronous nodes the one that pops.
  int section_of_block(size_t sid) const {
    const auto writer = static_cast<size_t>(first_writer_[sid]);
    const auto section = plan_.section_of[writer];
    return section >= 0 ? section : plan_.consumer_section[writer];
  }

  void bill_blocks() {
    size_t asked_for = 0;
    for (size_t sid = 0; sid < plan_.storage_count; ++sid) {
      const auto block = plan_.block_of[sid];
      if (block < 0)
        continue;
      asked_for = saturating_sum(
          asked_for,
          plan_.storage_copies[sid] > 1 ? plan_.block_bytes[sid] : plan_.storage_bytes[sid]);
      if (block != static_cast<int>(sid))
        continue;
      const auto bytes = amount(plan_.storage_location[sid], plan_.block_bytes[sid]);
      bill_.blocks += bytes;
      if (const auto section = section_of_block(sid); section >= 0)
        bill_.sections[static_cast<size_t>(section)].blocks += bytes;
    }
    const auto total = bill_.blocks.total();
    bill_.saved_by_sharing = asked_for > total ? asked_for - total : 0;
  }

  void bill_tasks() {
    for (size_t i = 0; i < plan_.node_count(); ++i)
      for (const auto &need : plan_.graph.nodes[i].infer.own_memory) {
        const auto bytes = amount(need.mem_loc, need.bytes);
        const auto section = plan_.section_of[i];
        bill_.tasks += bytes;
        if (section >= 0)
          bill_.sections[static_cast<size_t>(section)].tasks += bytes;
        bill_.task_items.push_back({plan_.graph.nodes[i].spec.name, section, need});
      }
  }

  // What a recording takes is known once it is made; most tasks enqueue one kernel, transforms a
  // few.
  void bill_recordings() {
    for (const auto &section : plan_.sections)
      for (const auto &run : section.runs) {
        const core::MemoryNeed need{
            MemLoc::Device,
            saturating_product(
                run.count, operations_per_task * runtime::recorded_bytes_per_operation),
            "recording of " + std::to_string(run.count) + " tasks, estimated"};
        const auto bytes = amount(need.mem_loc, need.bytes);
        bill_.tasks += bytes;
        bill_.sections[static_cast<size_t>(section.id)].tasks += bytes;
        bill_.task_items.push_back({run.label, section.id, need});
      }
  }

  static constexpr size_t operations_per_task = 2;

  Plan &plan_;
  runtime::MemoryBill &bill_;
  const bool on_gpu_;
  std::vector<int> first_writer_;  // by sid
};

/// Refuses a graph that takes more than the configured budget.
void check_budget(Plan &plan) {
  const auto budget = plan.config->memory_budget;
  if (budget == 0)
    return;
  const auto total = plan.bill.total();
  const bool on_gpu = plan.compute_location == MemLoc::Device;
  const auto needed = on_gpu ? total.device : total.host;
  if (needed <= budget)
    return;
  add_fault(
      plan, {.pass = pass}, core::Reason::OverBudget,
      "the graph takes " + std::to_string(needed) + " bytes of " + (on_gpu ? "Device" : "Host") +
          " memory, the budget is " + std::to_string(budget) +
          "; use smaller queues, batches or frames, or raise the budget\n" +
          runtime::to_text(plan.bill));
}

}  // namespace

void plan_memory(Plan &plan) {
  MemoryPlanner(plan).plan_blocks();
  Biller(plan).write();
  check_budget(plan);
}

}  // namespace holoflow::compiler
