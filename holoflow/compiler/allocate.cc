// SPDX-License-Identifier: LGPL-2.1-or-later
// Pass 7: memory.
#include <map>
#include <utility>

#include "holoflow/compiler/passes.hh"

namespace holoflow::compiler {

namespace {

/// Previous blocks by location and size, each handed out once.
class BlockPool {
public:
  explicit BlockPool(const Plan &plan) {
    if (plan.previous == nullptr)
      return;
    for (const auto &[sid, block] : plan.previous->resources.memory_blocks)
      if (block.device() == plan.device)
        free_.emplace(std::pair(block.mem_loc(), block.bytes()), sid);
  }

  /// A previous storage id, or -1.
  int take(core::MemLoc loc, size_t bytes) {
    const auto found = free_.find({loc, bytes});
    if (found == free_.end())
      return -1;
    const auto sid = found->second;
    free_.erase(found);
    return sid;
  }

private:
  std::multimap<std::pair<core::MemLoc, size_t>, int> free_;
};

void describe_storages(Plan &plan) {
  for (size_t tid = 0; tid < plan.tensor_descs.size(); ++tid) {
    const auto &desc = plan.tensor_descs[tid];
    auto &storage = plan.storages[plan.tid_to_sid[tid]];
    if (storage == nullptr)
      storage = std::make_unique<core::Storage>();
    storage->mem_loc = desc.mem_loc;
    storage->bytes = std::max(storage->bytes, desc.offset + desc.num_bytes());
  }
}

void bill_tasks(Plan &plan) {
  for (const auto &node : plan.graph.nodes)
    for (const auto &need : node.infer.own_memory)
      (need.mem_loc == core::MemLoc::Host ? plan.bill.task_host_bytes
                                          : plan.bill.task_device_bytes) += need.bytes;
  for (const auto &alias : plan.aliases) {
    if (alias.broken)
      continue;
    const auto tid = plan.graph.nodes[alias.node].out_tids[static_cast<size_t>(alias.out_idx)];
    plan.bill.saved_bytes += plan.tensor_descs[static_cast<size_t>(tid)].num_bytes();
  }
}

}  // namespace

void allocate(Plan &plan) {
  describe_storages(plan);
  BlockPool previous(plan);
  for (auto &[sid, storage] : plan.storages) {
    if (plan.storage_owner[static_cast<size_t>(sid)] >= 0)
      continue;
    const bool host = storage->mem_loc == core::MemLoc::Host;
    (host ? plan.bill.host_bytes : plan.bill.device_bytes) += storage->bytes;
    if (const auto old = previous.take(storage->mem_loc, storage->bytes); old >= 0) {
      plan.reuse.blocks.emplace(sid, old);
      storage->ptr = plan.previous->resources.memory_blocks.at(old).get();
      ++plan.report.reused_blocks;
      continue;
    }
    runtime::MemoryBlock block(*plan.device, storage->mem_loc, storage->bytes);
    storage->ptr = block.get();
    plan.blocks.emplace(sid, std::move(block));
    ++plan.report.created_blocks;
  }
  bill_tasks(plan);
}

}  // namespace holoflow::compiler
