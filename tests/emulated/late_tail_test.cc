// SPDX-License-Identifier: LGPL-2.1-or-later
// What a section reads on the host follows behind, and gives memory back for iterations long past.
#include <gtest/gtest.h>

#include "holoflow/builtin_tasks.hh"
#include "tests/emulated/expect_same.hh"
#include "tests/support/fake_tasks.hh"

namespace holoflow::emulated {
namespace {

using core::OpResult;
using test::contract;
using test::FunctionTask;
using test::register_fake;
using test::SyncFake;
using test::value_of;

constexpr size_t iterations = 20;

// Lends two cells of its own in each iteration, which it never uses again.
class LendsTwo final : public core::ISyncTask {
public:
  OpResult execute(core::SyncCtx &) override {
    if (next_ == cells_.size())
      return OpResult::Eof;
    for (size_t slot = 0; slot < 2; ++slot, ++next_) {
      cells_[next_] = static_cast<float>(next_);
      storage_access().owned_output_storage(slot).ptr =
          reinterpret_cast<std::byte *>(&cells_[next_]);
    }
    return OpResult::Ok;
  }
  bool ready() const noexcept override { return true; }
  void release_output(int slot) override {
    storage_access().owned_output_storage(static_cast<size_t>(slot)).ptr = nullptr;
  }

private:
  std::vector<float> cells_ = std::vector<float>(2 * iterations);
  size_t next_ = 0;
};

void add_lends_two(core::Registry &registry) {
  register_fake(
      registry, "LendsTwo",
      SyncFake{
          .infer =
              [](auto, const auto &) {
                auto result = contract(0, 2);
                result.owned_outputs = {true, true};
                result.hands_over_by_event = true;
                return result;
              },
          .create = [](auto, const auto &, const auto &) { return std::make_unique<LendsTwo>(); }});
}

// The sum of its inputs, −1 where the memory of one has gone.
void add_sum(core::Registry &registry) {
  register_fake(
      registry, "Total",
      SyncFake{
          .infer = [](auto inputs, const auto &) { return contract(inputs.size(), 1); },
          .create =
              [](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>([](core::SyncCtx &ctx) {
                  float sum = 0;
                  for (const auto &input : ctx.inputs)
                    sum = input.data() == nullptr || sum < 0 ? -1 : sum + value_of(input);
                  value_of(ctx.outputs[0]) = sum;
                  return OpResult::Ok;
                });
              }});
}

// A source that may wait, so that the tails of older iterations run before it does.
void add_waits(core::Registry &registry) {
  register_fake(
      registry, "Waits",
      SyncFake{
          .infer = [](auto, const auto &) { return contract(0, 1); },
          .create =
              [](auto, const auto &, const auto &) {
                return std::make_unique<FunctionTask>([](core::SyncCtx &ctx) {
                  value_of(ctx.outputs[0]) = 1;
                  return OpResult::Ok;
                });
              }});
}

}  // namespace

// One output goes back with the tail, and so does the other, which only the other nodes read.
TEST(LateTail, GivesBackWhatItsOwnIterationWasLent) {
  core::Registry registry;
  register_builtin_tasks(registry);
  add_lends_two(registry);
  add_sum(registry);
  add_waits(registry);
  auto graph = json_run(
      R"({"nodes": {"two": {"type": "LendsTwo"}, "wait": {"type": "Waits"},
                    "sum": {"type": "Total"}, "up": {"type": "Upload"},
                    "down": {"type": "Download"}, "total": {"type": "Total"},
                    "output": {"type": "Output"}},
          "edges": ["two:0 -> sum:0", "wait -> sum:1", "sum -> up", "up -> down",
                    "down -> total:0", "two:1 -> total:1", "total -> output"]})",
      test::scalar(), 0);
  graph.registry = &registry;
  expect_same_as_on_the_cpu(graph);
}

}  // namespace holoflow::emulated
