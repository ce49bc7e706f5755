// SPDX-License-Identifier: LGPL-2.1-or-later
// The task types a program knows, and tasks made from plain functions.
#include "holoflow/core/registry.hh"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "holoflow/core/error.hh"
#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/near_name.hh"

namespace holoflow::core {

namespace {

std::string quoted(const std::string &name) {
  return quote(name);
}

void check_new(const Registry &registry, const Registry::Key &kind, bool has_factory) {
  if (!has_factory)
    throw std::invalid_argument("task type " + quoted(kind) + ": expected a factory, got null");
  if (kind.empty())
    throw std::invalid_argument("task type: expected a name, got \"\"");
  if (registry.is_registered(kind))
    throw std::invalid_argument(
        "task type " + quoted(kind) + ": already registered; choose another name");
}

[[noreturn]] void throw_missing(
    const Registry &registry, const Registry::Key &kind, const char *wanted) {
  std::string message = "task type " + quoted(kind) + ": no " + wanted + " of this name";
  if (registry.is_sync_registered(kind))
    message += "; it is registered as a synchronous task";
  else if (registry.is_async_registered(kind))
    message += "; it is registered as an asynchronous task";
  else
    message += suggestion(kind, registry.keys());
  throw std::out_of_range(message);
}

class KernelTask final : public ISyncTask {
public:
  KernelTask(Kernel kernel, nlohmann::json params, cudaStream_t stream)
      : kernel_(std::move(kernel)), params_(std::move(params)), stream_(stream) {}

  OpResult execute(SyncCtx &ctx) override {
    kernel_(ctx.inputs, ctx.outputs, params_, stream_);
    return OpResult::Ok;
  }

private:
  Kernel kernel_;
  nlohmann::json params_;
  cudaStream_t stream_;
};

class KernelFactory final : public ISyncTaskFactory {
public:
  KernelFactory(Kernel kernel, KernelInfer infer)
      : kernel_(std::move(kernel)), infer_(std::move(infer)) {}

  InferResult infer(
      std::span<const TDesc> input_descs, const nlohmann::json &settings) const override {
    // Without inputs nothing would ever say that the data has ended.
    if (input_descs.empty())
      throw Refusal(
          Reason::MissingInput, "inputs: expected at least 1, got 0; connect an output to input 0");
    InferResult result;
    result.input_descs.assign(input_descs.begin(), input_descs.end());
    result.output_descs =
        infer_ ? infer_(input_descs, params_of(settings)) : like_input_0(input_descs);
    result.owned_inputs.assign(input_descs.size(), false);
    result.owned_outputs.assign(result.output_descs.size(), false);
    return result;
  }

  std::unique_ptr<ISyncTask> create(
      std::span<const TDesc>, const nlohmann::json &settings,
      const SyncCreateCtx &ctx) const override {
    return std::make_unique<KernelTask>(kernel_, params_of(settings), ctx.stream);
  }

private:
  static nlohmann::json params_of(const nlohmann::json &settings) {
    return settings.is_null() ? nlohmann::json::object() : settings;
  }

  // A function that walks data() from end to end would read a strided view wrongly.
  static std::vector<TDesc> like_input_0(std::span<const TDesc> input_descs) {
    for (size_t i = 0; i < input_descs.size(); ++i) {
      if (!is_packed(input_descs[i]))
        throw std::invalid_argument(
            "input " + std::to_string(i) + ": expected a packed tensor, got " +
            to_string(input_descs[i]) + "; add a \"Copy\" node before it");
    }
    TDesc output(input_descs[0].shape, input_descs[0].dtype, input_descs[0].mem_loc);
    output.media = input_descs[0].media;
    return {std::move(output)};
  }

  Kernel kernel_;
  KernelInfer infer_;
};

}  // namespace

void Registry::register_sync(const Key &kind, std::unique_ptr<ISyncTaskFactory> factory) {
  check_new(*this, kind, factory != nullptr);
  sync_.emplace(kind, std::move(factory));
}

void Registry::register_async(const Key &kind, std::unique_ptr<IAsyncTaskFactory> factory) {
  check_new(*this, kind, factory != nullptr);
  async_.emplace(kind, std::move(factory));
}

const ISyncTaskFactory &Registry::get_sync(const Key &kind) const {
  const auto entry = sync_.find(kind);
  if (entry == sync_.end())
    throw_missing(*this, kind, "synchronous task");
  return *entry->second;
}

const IAsyncTaskFactory &Registry::get_async(const Key &kind) const {
  const auto entry = async_.find(kind);
  if (entry == async_.end())
    throw_missing(*this, kind, "asynchronous task");
  return *entry->second;
}

const ITaskFactory &Registry::get(const Key &kind) const {
  if (const auto entry = sync_.find(kind); entry != sync_.end())
    return *entry->second;
  if (const auto entry = async_.find(kind); entry != async_.end())
    return *entry->second;
  throw_missing(*this, kind, "task");
}

ITaskFactory &Registry::get_mutable(const Key &kind) {
  if (const auto entry = sync_.find(kind); entry != sync_.end())
    return *entry->second;
  if (const auto entry = async_.find(kind); entry != async_.end())
    return *entry->second;
  throw_missing(*this, kind, "task");
}

bool Registry::is_sync_registered(const Key &kind) const noexcept {
  return sync_.contains(kind);
}

bool Registry::is_async_registered(const Key &kind) const noexcept {
  return async_.contains(kind);
}

bool Registry::is_registered(const Key &kind) const noexcept {
  return is_sync_registered(kind) || is_async_registered(kind);
}

std::vector<std::string> Registry::keys() const {
  std::vector<std::string> keys;
  for (const auto &entry : sync_)
    keys.push_back(entry.first);
  for (const auto &entry : async_)
    keys.push_back(entry.first);
  std::sort(keys.begin(), keys.end());
  return keys;
}

void add_kernel(Registry &registry, const Registry::Key &kind, Kernel kernel, KernelInfer infer) {
  if (!kernel)
    throw std::invalid_argument("task type " + quoted(kind) + ": expected a function, got none");
  registry.register_sync(
      kind, std::make_unique<KernelFactory>(std::move(kernel), std::move(infer)));
}

}  // namespace holoflow::core
