// SPDX-License-Identifier: LGPL-2.1-or-later
// A task that logs with the node's logger: pkg-config's flags of holoflow alone bring spdlog.
#include <cstddef>
#include <cstdint>
#include <spdlog/logger.h>

#include "holoflow/builtin_tasks.hh"
#include "holoflow/runtime/graph_runner.hh"

namespace {

using namespace holoflow;

class Logging final : public core::ISyncTask {
public:
  core::OpResult execute(core::SyncCtx &ctx) override {
    ctx.outputs[0].data()[0] = ctx.inputs[0].data()[0];
    logger()->info("copied {} byte", 1);
    logger()->warn("{} of {} warnings", 1, 1);
    return core::OpResult::Ok;
  }
};

class LoggingFactory final : public core::ISyncTaskFactory {
public:
  core::InferResult infer(
      std::span<const core::TDesc> inputs, const nlohmann::json &) const override {
    core::InferResult result;
    result.input_descs = {inputs.begin(), inputs.end()};
    result.output_descs = result.input_descs;
    return result;
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc>, const nlohmann::json &,
      const core::SyncCreateCtx &) const override {
    return std::make_unique<Logging>();
  }
};

}  // namespace

int main() {
  core::Registry registry;
  register_builtin_tasks(registry);
  registry.register_sync("Logging", std::make_unique<LoggingFactory>());
  const core::TDesc byte({1, 1, 1}, core::DType::U8, core::MemLoc::Host);
  auto runner =
      runtime::GraphRunner::from_chain("logging", {.inputs = {{"input", byte}}}, &registry);
  const uint8_t frame = 7;
  runner.push("input", &frame, byte);
  return runner.pop("output")->data()[0] == std::byte{7} ? 0 : 1;
}
