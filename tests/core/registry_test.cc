// SPDX-License-Identifier: LGPL-2.1-or-later
// Registry, tasks made from functions, and what tasks and factories do by default.
#include "holoflow/core/registry.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "holoflow/core/error.hh"

namespace holoflow::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Tells how many of its kind live.
class CountedSync final : public ISyncTask {
public:
  explicit CountedSync(int &alive) : alive_(alive) { ++alive_; }
  ~CountedSync() override { --alive_; }
  OpResult execute(SyncCtx &) override { return OpResult::Eof; }
  using ITask::storage_access;

private:
  int &alive_;
};

class SyncFactory final : public ISyncTaskFactory {
public:
  InferResult infer(std::span<const TDesc>, const nlohmann::json &) const override { return {}; }
  std::unique_ptr<ISyncTask> create(
      std::span<const TDesc>, const nlohmann::json &, const SyncCreateCtx &) const override {
    alive_at_create = alive;
    return std::make_unique<CountedSync>(alive);
  }
  mutable int alive = 0;
  mutable int alive_at_create = -1;
};

class NoAsyncTask final : public IAsyncTask {
public:
  OpResult try_push(AsyncPushCtx &) override { return OpResult::NotReady; }
  OpResult try_pop(AsyncPopCtx &) override { return OpResult::NotReady; }
};

class AsyncFactory final : public IAsyncTaskFactory {
public:
  InferResult infer(std::span<const TDesc>, const nlohmann::json &) const override { return {}; }
  std::unique_ptr<IAsyncTask> create(
      std::span<const TDesc>, const nlohmann::json &, const AsyncCreateCtx &) const override {
    return std::make_unique<NoAsyncTask>();
  }
};

TEST(Registry, KeepsSynchronousAndAsynchronousTypesApart) {
  Registry registry;
  registry.register_sync("Sqrt", std::make_unique<SyncFactory>());
  registry.register_async("Queue", std::make_unique<AsyncFactory>());
  EXPECT_TRUE(registry.is_sync_registered("Sqrt"));
  EXPECT_FALSE(registry.is_async_registered("Sqrt"));
  EXPECT_TRUE(registry.is_async_registered("Queue"));
  EXPECT_FALSE(registry.is_registered("sqrt"));
  EXPECT_THAT(registry.keys(), ElementsAre("Queue", "Sqrt"));
  EXPECT_EQ(&registry.get("Sqrt"), &registry.get_sync("Sqrt"));
  EXPECT_EQ(&registry.get("Queue"), &registry.get_async("Queue"));
  EXPECT_EQ(&registry.get_mutable("Queue"), &registry.get("Queue"));
}

TEST(Registry, RefusesNullEmptyAndTakenNames) {
  Registry registry;
  registry.register_sync("Sqrt", std::make_unique<SyncFactory>());
  EXPECT_THAT(
      [&] { registry.register_sync("A", nullptr); },
      ThrowsMessage<std::invalid_argument>("task type \"A\": expected a factory, got null"));
  EXPECT_THROW(registry.register_async("A", nullptr), std::invalid_argument);
  EXPECT_THAT(
      [&] { registry.register_async("Sqrt", std::make_unique<AsyncFactory>()); },
      ThrowsMessage<std::invalid_argument>(
          "task type \"Sqrt\": already registered; choose another name"));
  EXPECT_THROW(
      registry.register_sync("Sqrt", std::make_unique<SyncFactory>()), std::invalid_argument);
  EXPECT_THROW(registry.register_sync("", std::make_unique<SyncFactory>()), std::invalid_argument);
  EXPECT_THAT(registry.keys(), ElementsAre("Sqrt"));
}

TEST(Registry, MissingTypesAreNamedWithTheNearest) {
  Registry registry;
  registry.register_sync("Conversion", std::make_unique<SyncFactory>());
  EXPECT_THAT(
      [&] { (void)registry.get("Conversoin"); },
      ThrowsMessage<std::out_of_range>("task type \"Conversoin\": no task of this name; "
                                       "did you mean \"Conversion\"?"));
  EXPECT_THAT(
      [&] { (void)registry.get_async("Conversion"); },
      ThrowsMessage<std::out_of_range>(
          "task type \"Conversion\": no asynchronous task of this name; it is registered "
          "as a synchronous task"));
  EXPECT_THROW((void)registry.get_sync("Nothing"), std::out_of_range);
  EXPECT_THROW((void)registry.get_mutable("Nothing"), std::out_of_range);
}

TEST(Registry, MarksTravelWithTheRegistry) {
  Registry registry;
  EXPECT_FALSE(registry.is_marked("module"));
  registry.mark("module");
  const Registry moved = std::move(registry);
  EXPECT_TRUE(moved.is_marked("module"));
  EXPECT_FALSE(Registry().is_marked("module"));
}

TEST(TaskDefaults, UpdateDropsTheOldTaskBeforeItMakesTheNew) {
  const SyncFactory factory;
  auto task = factory.create({}, {}, {});
  EXPECT_EQ(factory.alive, 1);
  task = factory.update(std::move(task), {}, {}, {});
  EXPECT_EQ(factory.alive_at_create, 0);
  EXPECT_EQ(factory.alive, 1);
  const AsyncFactory async;
  EXPECT_NE(async.update(async.create({}, {}, {}), {}, {}, {}), nullptr);
}

TEST(TaskDefaults, SlotsThatNobodyOwnsAreOutOfRange) {
  NoAsyncTask task;
  EXPECT_THAT(
      [&] { (void)task.acquire_input(2); },
      ThrowsMessage<std::out_of_range>(HasSubstr("the task owns no input 2")));
  EXPECT_THAT(
      [&] { task.release_output(1); },
      ThrowsMessage<std::out_of_range>(HasSubstr("the task owns no output 1")));
  int alive = 0;
  CountedSync unbound(alive);
  EXPECT_THAT(
      [&] { (void)unbound.storage_access(); },
      ThrowsMessage<std::logic_error>(HasSubstr("nothing is bound")));
}

TEST(TaskDefaults, TasksPromiseNothing) {
  NoAsyncTask task;
  task.interrupt();
  task.abandon_input(0);
  task.end_of_input();
  EXPECT_FALSE(task.knows_end_of_input());
  EXPECT_EQ(task.ready_at(), std::nullopt);
  int alive = 0;
  EXPECT_FALSE(CountedSync(alive).ready());
}

float value_at(const TView &view, size_t index) {
  return reinterpret_cast<const float *>(view.data())[index];
}

TEST(AddKernel, MakesATaskOutOfAFunction) {
  Registry registry;
  add_kernel(
      registry, "Scale",
      [](std::span<const TView> inputs, std::span<TView> outputs, const nlohmann::json &params,
         cudaStream_t stream) {
        EXPECT_EQ(stream, nullptr);
        for (size_t i = 0; i < inputs[0].desc.num_elements(); ++i)
          reinterpret_cast<float *>(outputs[0].data())[i] =
              value_at(inputs[0], i) * params.value("by", 2.0F);
      });
  const auto &factory = registry.get_sync("Scale");
  TDesc desc({2, 2}, DType::F32, MemLoc::Host);
  desc.media.emplace().pixel_format = "GRAY8";
  const std::vector<TDesc> inputs{desc};
  const auto inferred = factory.infer(inputs, nullptr);
  EXPECT_EQ(inferred.kind, TaskKind::Sync);
  ASSERT_EQ(inferred.output_descs.size(), 1u);
  EXPECT_EQ(inferred.output_descs[0], desc);
  ASSERT_TRUE(inferred.output_descs[0].media.has_value());
  EXPECT_EQ(inferred.owned_inputs, std::vector<bool>{false});
  EXPECT_EQ(inferred.owned_outputs, std::vector<bool>{false});

  Tensor input(desc);
  Tensor output(desc);
  for (int i = 0; i < 4; ++i)
    reinterpret_cast<float *>(input.data())[i] = static_cast<float>(i);
  std::vector<TView> in{input.view()};
  std::vector<TView> out{output.view()};
  SyncCtx ctx{in, out};
  EXPECT_EQ(factory.create(inputs, {{"by", 3.0}}, {})->execute(ctx), OpResult::Ok);
  EXPECT_EQ(value_at(out[0], 3), 9.0F);
  // Without params the function gets an empty object.
  EXPECT_EQ(factory.create(inputs, nullptr, {})->execute(ctx), OpResult::Ok);
  EXPECT_EQ(value_at(out[0], 3), 6.0F);
}

TEST(AddKernel, TakesTheOutputsOfItsInferFunction) {
  Registry registry;
  add_kernel(
      registry, "Split", [](auto, auto, const auto &, auto) {},
      [](std::span<const TDesc> inputs, const nlohmann::json &params) {
        return std::vector<TDesc>(params.at("parts").get<size_t>(), inputs[0]);
      });
  const std::vector<TDesc> strided{
      TDesc({2, 2}, DType::F32, MemLoc::Host, std::vector<size_t>{16, 4})};
  EXPECT_EQ(registry.get("Split").infer(strided, {{"parts", 3}}).owned_outputs.size(), 3u);
}

TEST(AddKernel, RefusesWhatAPlainFunctionWouldReadWrongly) {
  Registry registry;
  add_kernel(registry, "Plain", [](auto, auto, const auto &, auto) {});
  const auto &factory = registry.get("Plain");
  EXPECT_THAT(
      [&] { (void)factory.infer({}, nullptr); },
      ThrowsMessage<std::invalid_argument>(
          "inputs: expected at least 1, got 0; connect an output to input 0"));
  const TDesc packed({2, 2}, DType::F32, MemLoc::Host);
  const TDesc strided({2, 2}, DType::F32, MemLoc::Host, std::vector<size_t>{16, 4});
  const std::vector<TDesc> inputs{packed, strided};
  EXPECT_THAT(
      [&] { (void)factory.infer(inputs, nullptr); },
      ThrowsMessage<std::invalid_argument>(
          "input 1: expected a packed tensor, got F32 [2, 2] on Host, strides [16, 4]; add "
          "a \"Copy\" node before it"));
}

TEST(AddKernel, RefusesAnEmptyFunctionAndATakenName) {
  Registry registry;
  EXPECT_THAT(
      [&] { add_kernel(registry, "Plain", Kernel()); },
      ThrowsMessage<std::invalid_argument>("task type \"Plain\": expected a function, got none"));
  add_kernel(registry, "Plain", [](auto, auto, const auto &, auto) {});
  EXPECT_THROW(
      add_kernel(registry, "Plain", [](auto, auto, const auto &, auto) {}), std::invalid_argument);
}

TEST(Errors, HoldEveryFaultAndThePlaceOfTheFirst) {
  Error first("first");
  first.node = "a";
  first.line = 3;
  first.column = 7;
  first.pointer = "/nodes/a";
  const GraphError graph({first, Error("second")});
  EXPECT_STREQ(graph.what(), "first\nsecond");
  EXPECT_EQ(graph.faults.size(), 2u);
  EXPECT_EQ(graph.node, "a");
  EXPECT_EQ(graph.line, 3);
  EXPECT_EQ(graph.column, 7);
  EXPECT_EQ(graph.pointer, "/nodes/a");
  EXPECT_EQ(graph.reason, GraphError::Reason::BadGraph);
  first.slot = 2;
  first.pass = "validate";
  const CompileError compile({first});
  EXPECT_EQ(compile.slot, 2);
  EXPECT_EQ(compile.pass, "validate");
  EXPECT_THAT(CompileError({}).what(), HasSubstr("internal error"));
}

TEST(Errors, HaveTheReasonThatTheirKindIsMostOftenFor) {
  EXPECT_EQ(Error("sentence").reason, Reason::Other);
  EXPECT_EQ(TaskError("sentence").reason, Reason::TaskFailed);
  EXPECT_EQ(DeviceError("sentence").reason, Reason::DeviceFailed);
  EXPECT_EQ(DeviceError("sentence", Reason::NoDevice).reason, Reason::NoDevice);
  const std::vector<Error> faults{Error("first", Reason::UnknownType), Error("second")};
  EXPECT_EQ(CompileError(faults).reason, Reason::UnknownType);
  EXPECT_EQ(GraphError(faults).reason, Reason::BadGraph);
  EXPECT_EQ(GraphError(faults).faults.front().reason, Reason::UnknownType);
  EXPECT_EQ(GraphError(faults, Reason::FileNotFound).reason, Reason::FileNotFound);
}

}  // namespace
}  // namespace holoflow::core
