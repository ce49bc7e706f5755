// SPDX-License-Identifier: LGPL-2.1-or-later
// Configurable tasks for tests of the compiler and the scheduler.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "holoflow/core/graph_spec.hh"
#include "holoflow/core/registry.hh"

namespace holoflow::test {

using core::OpResult;
using core::TDesc;

/// What happened to tasks and factories, in order; any thread.
class Journal {
public:
  void add(const std::string &line);
  [[nodiscard]] std::vector<std::string> lines() const;
  [[nodiscard]] size_t count(const std::string &line) const;

private:
  mutable std::mutex mutex_;  // guards lines_
  std::vector<std::string> lines_;
};

/// A synchronous factory made of functions.
struct SyncFake {
  std::function<core::InferResult(std::span<const TDesc>, const nlohmann::json &)> infer;
  std::function<std::unique_ptr<core::ISyncTask>(
      std::span<const TDesc>, const nlohmann::json &, const core::SyncCreateCtx &)>
      create;
  std::function<std::unique_ptr<core::ISyncTask>(std::unique_ptr<core::ISyncTask>)> update = {};
};
void register_fake(core::Registry &registry, const std::string &kind, SyncFake fake);

/// The same whose functions see settings and context on update too.
struct SyncFakeWithContext {
  std::function<core::InferResult(std::span<const TDesc>, const nlohmann::json &)> infer;
  std::function<std::unique_ptr<core::ISyncTask>(
      const nlohmann::json &, const core::SyncCreateCtx &)>
      create;
  std::function<std::unique_ptr<core::ISyncTask>(
      std::unique_ptr<core::ISyncTask>, const nlohmann::json &, const core::SyncCreateCtx &)>
      update;
};
void register_fake(core::Registry &registry, const std::string &kind, SyncFakeWithContext fake);

struct AsyncFake {
  std::function<core::InferResult(std::span<const TDesc>, const nlohmann::json &)> infer;
  std::function<std::unique_ptr<core::IAsyncTask>(
      std::span<const TDesc>, const nlohmann::json &, const core::AsyncCreateCtx &)>
      create;
  std::function<std::unique_ptr<core::IAsyncTask>(std::unique_ptr<core::IAsyncTask>)> update = {};
};
void register_fake(core::Registry &registry, const std::string &kind, AsyncFake fake);

/// A synchronous task whose execute is a function.
class FunctionTask : public core::ISyncTask {
public:
  using Function = std::function<OpResult(core::SyncCtx &)>;
  explicit FunctionTask(Function function) : function_(std::move(function)) {}
  OpResult execute(core::SyncCtx &ctx) override { return function_(ctx); }

private:
  Function function_;
};

/// One F32 value.
[[nodiscard]] TDesc scalar();
[[nodiscard]] float &value_of(const core::TView &view);

/// A contract with that many scalar slots, nothing owned, nothing in place.
[[nodiscard]] core::InferResult contract(
    size_t inputs, size_t outputs, core::TaskKind kind = core::TaskKind::Sync);

/// Registers types for graphs of scalars, writing to `journal` and `results`:
///   Source    no input; emits first, first+step, …; params count (−1 = endless), first, step
///   Source2   the same with two equal outputs
///   Add       one input; + params value
///   InPlace   the same in place, optional alias; InPlaceMust: required alias
///   Sum       n inputs
///   Sink      one input; appends to results[params name or "sink"]; params take: Eof after so many
///   Queue     asynchronous, copies; params capacity; knows end_of_input
///   Foreign   as Queue, but knows nothing of end_of_input: the scheduler counts
///   OwnedQueue  asynchronous, owns both sides firmly, no copies
///   FirmSource, FirmSink  own their slot firmly
class FakeTasks {
public:
  explicit FakeTasks(core::Registry &registry);

  [[nodiscard]] std::vector<float> results(const std::string &name = "sink") const;
  Journal journal;

private:
  void register_sources(core::Registry &registry);
  void register_maps(core::Registry &registry);
  void register_sinks(core::Registry &registry);
  void register_queues(core::Registry &registry);

  mutable std::mutex mutex_;  // guards results_
  std::map<std::string, std::vector<float>> results_;
};

}  // namespace holoflow::test
