// SPDX-License-Identifier: LGPL-2.1-or-later
// Configurable tasks for tests of the compiler and the scheduler.
#include "fake_tasks.hh"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "fake_queues.hh"

namespace holoflow::test {

void Journal::add(const std::string &line) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(line);
}

std::vector<std::string> Journal::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

size_t Journal::count(const std::string &line) const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count(lines_.begin(), lines_.end(), line));
}

namespace {

class SyncFakeFactory final : public core::ISyncTaskFactory {
public:
  explicit SyncFakeFactory(SyncFake fake) : fake_(std::move(fake)) {}
  core::InferResult infer(
      std::span<const TDesc> inputs, const nlohmann::json &settings) const override {
    return fake_.infer(inputs, settings);
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const TDesc> inputs, const nlohmann::json &settings,
      const core::SyncCreateCtx &ctx) const override {
    return fake_.create(inputs, settings, ctx);
  }
  std::unique_ptr<core::ISyncTask> update(
      std::unique_ptr<core::ISyncTask> old, std::span<const TDesc> inputs,
      const nlohmann::json &settings, const core::SyncCreateCtx &ctx) const override {
    return fake_.update ? fake_.update(std::move(old))
                        : ISyncTaskFactory::update(std::move(old), inputs, settings, ctx);
  }

private:
  SyncFake fake_;
};

class ContextFakeFactory final : public core::ISyncTaskFactory {
public:
  explicit ContextFakeFactory(SyncFakeWithContext fake) : fake_(std::move(fake)) {}
  core::InferResult infer(
      std::span<const TDesc> inputs, const nlohmann::json &settings) const override {
    return fake_.infer(inputs, settings);
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const TDesc>, const nlohmann::json &settings,
      const core::SyncCreateCtx &ctx) const override {
    return fake_.create(settings, ctx);
  }
  std::unique_ptr<core::ISyncTask> update(
      std::unique_ptr<core::ISyncTask> old, std::span<const TDesc>, const nlohmann::json &settings,
      const core::SyncCreateCtx &ctx) const override {
    return fake_.update(std::move(old), settings, ctx);
  }

private:
  SyncFakeWithContext fake_;
};

class AsyncFakeFactory final : public core::IAsyncTaskFactory {
public:
  explicit AsyncFakeFactory(AsyncFake fake) : fake_(std::move(fake)) {}
  core::InferResult infer(
      std::span<const TDesc> inputs, const nlohmann::json &settings) const override {
    return fake_.infer(inputs, settings);
  }
  std::unique_ptr<core::IAsyncTask> create(
      std::span<const TDesc> inputs, const nlohmann::json &settings,
      const core::AsyncCreateCtx &ctx) const override {
    return fake_.create(inputs, settings, ctx);
  }
  std::unique_ptr<core::IAsyncTask> update(
      std::unique_ptr<core::IAsyncTask> old, std::span<const TDesc> inputs,
      const nlohmann::json &settings, const core::AsyncCreateCtx &ctx) const override {
    return fake_.update ? fake_.update(std::move(old))
                        : IAsyncTaskFactory::update(std::move(old), inputs, settings, ctx);
  }

private:
  AsyncFake fake_;
};

/// Counts up and ends.
class Counter {
public:
  explicit Counter(const nlohmann::json &settings)
      : left_(settings.value("count", -1)), next_(settings.value("first", 0.0f)),
        step_(settings.value("step", 1.0f)) {}

  OpResult operator()(core::SyncCtx &ctx) {
    if (left_ == 0)
      return OpResult::Eof;
    if (left_ > 0)
      --left_;
    for (auto &output : ctx.outputs)
      value_of(output) = next_;
    next_ += step_;
    return OpResult::Ok;
  }

private:
  int left_;
  float next_, step_;
};

}  // namespace

void register_fake(core::Registry &registry, const std::string &kind, SyncFake fake) {
  registry.register_sync(kind, std::make_unique<SyncFakeFactory>(std::move(fake)));
}

void register_fake(core::Registry &registry, const std::string &kind, SyncFakeWithContext fake) {
  registry.register_sync(kind, std::make_unique<ContextFakeFactory>(std::move(fake)));
}

void register_fake(core::Registry &registry, const std::string &kind, AsyncFake fake) {
  registry.register_async(kind, std::make_unique<AsyncFakeFactory>(std::move(fake)));
}

TDesc scalar() {
  return {{1}, core::DType::F32, core::MemLoc::Host};
}

float &value_of(const core::TView &view) {
  return *reinterpret_cast<float *>(view.data());
}

core::InferResult contract(size_t inputs, size_t outputs, core::TaskKind kind) {
  core::InferResult result;
  result.input_descs.assign(inputs, scalar());
  result.output_descs.assign(outputs, scalar());
  result.kind = kind;
  return result;
}

FakeTasks::FakeTasks(core::Registry &registry) {
  register_sources(registry);
  register_maps(registry);
  register_sinks(registry);
  register_queues(registry);
}

std::vector<float> FakeTasks::results(const std::string &name) const {
  const std::lock_guard lock(mutex_);
  const auto found = results_.find(name);
  return found == results_.end() ? std::vector<float>{} : found->second;
}

void FakeTasks::register_sources(core::Registry &registry) {
  const auto add = [&](const std::string &kind, size_t outputs) {
    register_fake(
        registry, kind,
        SyncFake{
            .infer = [outputs](auto, const auto &) { return contract(0, outputs); },
            .create =
                [this, kind](auto, const auto &settings, const auto &) {
                  journal.add("create " + kind);
                  return std::make_unique<FunctionTask>(Counter(settings));
                }});
  };
  add("Source", 1);
  add("Source2", 2);
  register_fake(
      registry, "FirmSource",
      SyncFake{
          .infer =
              [](auto, const auto &) {
                auto result = contract(0, 1);
                result.owned_outputs = {true};
                return result;
              },
          .create =
              [](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>(
                    [](core::SyncCtx &) { return OpResult::Eof; });
              }});
}

void FakeTasks::register_maps(core::Registry &registry) {
  const auto add = [&](const std::string &kind, std::vector<core::InPlace> in_place) {
    register_fake(
        registry, kind,
        SyncFake{
            .infer =
                [in_place](auto inputs, const auto &) {
                  if (inputs.size() != 1)
                    throw std::invalid_argument("expected 1 input");
                  auto result = contract(1, 1);
                  result.in_place = in_place;
                  return result;
                },
            .create =
                [this, kind](auto, const auto &settings, const auto &) {
                  journal.add("create " + kind);
                  const float value = settings.value("value", 0.0f);
                  return std::make_unique<FunctionTask>([value](core::SyncCtx &ctx) {
                    value_of(ctx.outputs[0]) = value_of(ctx.inputs[0]) + value;
                    return OpResult::Ok;
                  });
                },
            .update =
                [this, kind](auto old) {
                  journal.add("update " + kind);
                  return old;
                }});
  };
  add("Add", {});
  add("InPlace", {{0, 0, false}});
  add("InPlaceMust", {{0, 0, true}});
  register_fake(
      registry, "Sum",
      SyncFake{
          .infer = [](auto inputs, const auto &) { return contract(inputs.size(), 1); },
          .create =
              [](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>([](core::SyncCtx &ctx) {
                  float sum = 0;
                  for (const auto &input : ctx.inputs)
                    sum += value_of(input);
                  value_of(ctx.outputs[0]) = sum;
                  return OpResult::Ok;
                });
              }});
}

void FakeTasks::register_sinks(core::Registry &registry) {
  register_fake(
      registry, "Sink",
      SyncFake{
          .infer = [](auto inputs, const auto &) { return contract(inputs.size(), 0); },
          .create =
              [this](auto, const auto &settings, const auto &) {
                const auto name = settings.value("name", std::string("sink"));
                int left = settings.value("take", -1);
                return std::make_unique<FunctionTask>(
                    [this, name, left](core::SyncCtx &ctx) mutable {
                      if (left == 0)
                        return OpResult::Eof;
                      if (left > 0)
                        --left;
                      const std::lock_guard lock(mutex_);
                      results_[name].push_back(value_of(ctx.inputs[0]));
                      return OpResult::Ok;
                    });
              }});
  register_fake(
      registry, "FirmSink",
      SyncFake{
          .infer =
              [](auto inputs, const auto &) {
                auto result = contract(inputs.size(), 0);
                result.owned_inputs.assign(inputs.size(), true);
                return result;
              },
          .create =
              [](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>(
                    [](core::SyncCtx &) { return OpResult::Eof; });
              }});
}

void FakeTasks::register_queues(core::Registry &registry) {
  const auto add = [&](const std::string &kind, bool knows_end) {
    register_fake(
        registry, kind,
        AsyncFake{
            .infer =
                [](auto inputs, const auto &) {
                  return contract(
                      inputs.size(), inputs.empty() ? 1 : inputs.size(), core::TaskKind::Async);
                },
            .create =
                [this, kind, knows_end](auto, const auto &settings, const auto &) {
                  journal.add("create " + kind);
                  return std::make_unique<CopyQueue>(settings.value("capacity", 4u), knows_end);
                }});
  };
  add("Queue", true);
  add("Foreign", false);
  register_fake(
      registry, "OwnedQueue",
      AsyncFake{
          .infer =
              [](auto, const auto &) {
                auto result = contract(1, 1, core::TaskKind::Async);
                result.owned_inputs = {true};
                result.owned_outputs = {true};
                return result;
              },
          .create =
              [this](auto, const auto &settings, const auto &) {
                return std::make_unique<RingQueue>(settings.value("capacity", 4u), journal);
              }});
}

}  // namespace holoflow::test
