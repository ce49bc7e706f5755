// SPDX-License-Identifier: LGPL-2.1-or-later
// A task as a user of the first model wrote it: one factory for the CPU, one for CUDA.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>

#include "holoflow/core/tasks.hh"

namespace api_test {

namespace core = holoflow::core;

/// Takes a packed F32 tensor in `loc` or throws.
inline core::InferResult infer_square_root(std::span<const core::TDesc> inputs, core::MemLoc loc) {
  if (inputs.size() != 1)
    throw std::invalid_argument("a square root has exactly one input");
  const auto &input = inputs[0];
  const core::TDesc packed(input.shape, input.dtype, input.mem_loc, input.offset);
  const bool fits =
      input.dtype == core::DType::F32 && input.mem_loc == loc && input.strides == packed.strides;
  if (!fits)
    throw std::invalid_argument("a square root needs packed float32 in its own memory");
  return core::InferResult{
      .input_descs = {input},
      .output_descs = {core::TDesc(input.shape, input.dtype, input.mem_loc)},
      .in_place = {},
      .owned_inputs = {false},
      .owned_outputs = {false},
      .kind = core::TaskKind::Sync,
  };
}

class HostSquareRoot final : public core::ISyncTask {
public:
  core::OpResult execute(core::SyncCtx &ctx) override {
    if (ctx.cancelled->load(std::memory_order_relaxed))
      return core::OpResult::Cancelled;
    const auto *from = reinterpret_cast<const float *>(ctx.inputs[0].data());
    auto *to = reinterpret_cast<float *>(ctx.outputs[0].data());
    const auto count = ctx.inputs[0].desc.num_elements();
    for (size_t i = 0; i < count; ++i)
      to[i] = std::sqrt(from[i]);
    return core::OpResult::Ok;
  }
};

class HostSquareRootFactory final : public core::ISyncTaskFactory {
public:
  core::InferResult infer(
      std::span<const core::TDesc> inputs, const nlohmann::json &) const override {
    return infer_square_root(inputs, core::MemLoc::Host);
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc> inputs, const nlohmann::json &settings,
      const core::SyncCreateCtx &) const override {
    (void)infer(inputs, settings);
    return std::make_unique<HostSquareRoot>();
  }
};

}  // namespace api_test
