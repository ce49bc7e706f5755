// SPDX-License-Identifier: LGPL-2.1-or-later
// What tasks and factories do unless they say otherwise.
#include <stdexcept>

#include "holoflow/core/tasks.hh"

namespace holoflow::core {

std::optional<TView> ITask::acquire_input(int index) {
  throw std::out_of_range(
      "acquire_input: the task owns no input " + std::to_string(index) +
      "; a task that declares an owned input overrides acquire_input");
}

void ITask::release_output(int index) {
  throw std::out_of_range(
      "release_output: the task owns no output " + std::to_string(index) +
      "; a task that declares an owned output overrides release_output");
}

IOStorageAccess &ITask::storage_access() {
  if (storage_access_ == nullptr)
    throw std::logic_error(
        "storage_access: nothing is bound; the node owns no slot, or its task was used before the "
        "compiler bound it");
  return *storage_access_;
}

// The old task goes first, so that the new one may take what it held.
std::unique_ptr<ISyncTask> ISyncTaskFactory::update(
    std::unique_ptr<ISyncTask> old_task, std::span<const TDesc> input_descs,
    const nlohmann::json &settings, const SyncCreateCtx &ctx) const {
  old_task.reset();
  return create(input_descs, settings, ctx);
}

std::unique_ptr<IAsyncTask> IAsyncTaskFactory::update(
    std::unique_ptr<IAsyncTask> old_task, std::span<const TDesc> input_descs,
    const nlohmann::json &settings, const AsyncCreateCtx &ctx) const {
  old_task.reset();
  return create(input_descs, settings, ctx);
}

}  // namespace holoflow::core
