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
  for (size_t sid = 0; sid < plan.storage_count; ++sid)
    plan.storages.emplace(
        static_cast<int>(sid),
        std::make_unique<core::Storage>(
            core::Storage{plan.storage_location[sid], plan.storage_bytes[sid], nullptr}));
}

}  // namespace

void allocate(Plan &plan) {
  describe_storages(plan);
  BlockPool previous(plan);
  std::vector<std::byte *> pointers(plan.storage_count, nullptr);
  for (size_t sid = 0; sid < plan.storage_count; ++sid) {
    if (plan.block_of[sid] != static_cast<int>(sid))
      continue;
    const auto location = plan.storage_location[sid];
    const auto bytes = plan.block_bytes[sid];
    if (const auto old = previous.take(location, bytes); old >= 0) {
      plan.reuse.blocks.emplace(static_cast<int>(sid), old);
      pointers[sid] = plan.previous->resources.memory_blocks.at(old).get();
      ++plan.report.reused_blocks;
      continue;
    }
    try {
      runtime::MemoryBlock block(*plan.device, location, bytes);
      pointers[sid] = block.get();
      plan.blocks.emplace(static_cast<int>(sid), std::move(block));
    } catch (const core::DeviceError &error) {
      throw_with_bill(plan, "allocate: storage " + std::to_string(sid) + ": ", error);
    }
    ++plan.report.created_blocks;
  }
  for (size_t sid = 0; sid < plan.storage_count; ++sid)
    if (const auto block = plan.block_of[sid]; block >= 0)
      plan.storages.at(static_cast<int>(sid))->ptr = pointers[static_cast<size_t>(block)];
}

}  // namespace holoflow::compiler
