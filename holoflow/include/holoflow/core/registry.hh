// SPDX-License-Identifier: LGPL-2.1-or-later
// The task types a program knows, by name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "holoflow/core/tasks.hh"

namespace holoflow::core {

/// Owns one factory per type. Filled before graphs are compiled; const calls are safe from any
/// thread as long as nobody registers.
class Registry {
public:
  using Key = std::string;

  Registry() = default;
  Registry(const Registry &) = delete;
  Registry &operator=(const Registry &) = delete;
  Registry(Registry &&) = default;
  Registry &operator=(Registry &&) = default;

  /// Throws std::invalid_argument for a null factory or a key that is taken, sync or async.
  void register_sync(const Key &kind, std::unique_ptr<ISyncTaskFactory> factory);
  void register_async(const Key &kind, std::unique_ptr<IAsyncTaskFactory> factory);

  /// Throw std::out_of_range with the key where nothing of that kind is registered.
  [[nodiscard]] const ISyncTaskFactory &get_sync(const Key &kind) const;
  [[nodiscard]] const IAsyncTaskFactory &get_async(const Key &kind) const;
  /// Either sort.
  [[nodiscard]] const ITaskFactory &get(const Key &kind) const;
  /// For modules that complete a factory registered earlier.
  [[nodiscard]] ITaskFactory &get_mutable(const Key &kind);

  [[nodiscard]] bool is_sync_registered(const Key &kind) const noexcept;
  [[nodiscard]] bool is_async_registered(const Key &kind) const noexcept;
  [[nodiscard]] bool is_registered(const Key &kind) const noexcept;

  /// Every key, sorted.
  [[nodiscard]] std::vector<std::string> keys() const;

  /// What has been added to this registry, under names that the adders choose: whoever adds a group
  /// of tasks once per registry marks it afterwards.
  void mark(std::string name) { marks_.insert(std::move(name)); }
  [[nodiscard]] bool is_marked(const std::string &name) const { return marks_.contains(name); }

private:
  std::map<Key, std::unique_ptr<ISyncTaskFactory>> sync_;
  std::map<Key, std::unique_ptr<IAsyncTaskFactory>> async_;
  std::set<std::string> marks_;
};

/// A function of views, params and the section's stream (null on the CPU).
using Kernel = std::function<void(
    std::span<const TView> inputs, std::span<TView> outputs, const nlohmann::json &params,
    cudaStream_t stream)>;
/// Output descriptors from input descriptors and params; throws std::invalid_argument to refuse.
using KernelInfer =
    std::function<std::vector<TDesc>(std::span<const TDesc> inputs, const nlohmann::json &params)>;

/// Registers `kernel` as a synchronous task of at least one input. Without `infer` it has one
/// output, packed, like input 0, and its inputs must be packed; with `infer` that function decides.
/// `params` is the node's object, {} where it has none. The function is called by one section
/// thread at a time, but nodes of the same type may call it from several. Throws
/// std::invalid_argument for an empty kernel and as register_sync does.
void add_kernel(
    Registry &registry, const Registry::Key &kind, Kernel kernel, KernelInfer infer = {});

}  // namespace holoflow::core
