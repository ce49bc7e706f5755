// SPDX-License-Identifier: LGPL-2.1-or-later
// Plays compiler and scheduler for one node that owns slots: its storages, its memory where it does
// not own a slot, and the calls of an iteration in their order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/rim.hh"
#include "tests/tasks/task_test.hh"

namespace holoflow::test {

[[nodiscard]] inline runtime::Device &device_at(Place place) {
  return place == Place::Device ? runtime::cuda_device() : runtime::host_device();
}
[[nodiscard]] inline core::MemLoc loc_at(Place place) {
  return place == Place::Device ? core::MemLoc::Device : core::MemLoc::Host;
}

/// One input and one output storage; the access that the compiler would bind.
class FakeSlots final : public core::IOStorageAccess {
public:
  core::Storage input;
  core::Storage output;
  core::Storage &owned_input_storage(size_t) override { return input; }
  core::Storage &owned_output_storage(size_t) override { return output; }
};

/// An asynchronous task with one input and one output, driven from one or two threads: push on one,
/// pop on the other. Tensors are given as their bytes.
class AsyncDriver {
public:
  struct Options {
    bool owns_input = true;
    bool owns_output = true;
    size_t owned_input_bytes = 0;  ///< 0 = the extent of the input
    size_t min_slots = 0;
  };

  AsyncDriver(Place place, const std::string &type, const nlohmann::json &params, core::TDesc input)
      : AsyncDriver(place, type, params, std::move(input), Options()) {}

  AsyncDriver(
      Place place, const std::string &type, const nlohmann::json &params, core::TDesc input,
      Options options)
      : options_(options), device_(device_at(place)), stream_(device_) {
    const core::IAsyncTaskFactory &factory = registry(place).get_async(type);
    infer = factory.infer({&input, 1}, params);
    core::AsyncCreateCtx ctx;
    ctx.producer_stream = ctx.consumer_stream = stream_.get();
    ctx.device = device_.index();
    ctx.owned_inputs = {options.owns_input};
    ctx.owned_outputs = {options.owns_output};
    const size_t extent = input.offset + input.num_bytes();
    ctx.owned_input_bytes = {std::max(options.owned_input_bytes, extent)};
    ctx.min_slots = options.min_slots;
    adopt(factory.create({&input, 1}, params, ctx));
  }

  /// Takes a task made by hand.
  AsyncDriver(
      Place place, core::InferResult contract, std::unique_ptr<core::IAsyncTask> made,
      Options options)
      : infer(std::move(contract)), options_(options), device_(device_at(place)), stream_(device_) {
    adopt(std::move(made));
  }

  /// Acquires, writes `bytes` into the whole view, pushes. False: no room.
  bool push(const std::vector<std::byte> &bytes, std::vector<core::FrameRecord> records = {}) {
    core::TView view{infer.input_descs[0], &slots.input};
    if (options_.owns_input) {
      const auto acquired = task->acquire_input(0);
      if (!acquired.has_value())
        return false;
      EXPECT_EQ(acquired->storage, &slots.input);
      EXPECT_NE(slots.input.ptr, nullptr);
      view = *acquired;
    }
    write(view, bytes);
    std::span<core::FrameRecord> span(records);
    core::AsyncPushCtx ctx{
        .inputs = {&view, 1},
        .cancelled = &cancelled,
        .input_records = {&span, records.empty() ? 0u : 1u}};
    const core::OpResult result = task->try_push(ctx);
    if (options_.owns_input) {
      EXPECT_EQ(result, core::OpResult::Ok);
      EXPECT_EQ(slots.input.ptr, nullptr) << "the slot was taken over";
    }
    return result == core::OpResult::Ok;
  }

  /// Pops without releasing: the bytes of the output view are in `popped`, its records in
  /// `records`.
  core::OpResult pop() {
    const core::TDesc &desc = infer.output_descs[0];
    core::TView view{desc, &slots.output};
    records.assign(desc.rank() >= 3 ? desc.shape[0] : 1, {});
    std::span<core::FrameRecord> span(records);
    core::AsyncPopCtx ctx{
        .outputs = {&view, 1}, .cancelled = &cancelled, .output_records = {&span, 1}};
    const core::OpResult result = task->try_pop(ctx);
    if (result == core::OpResult::Ok)
      popped = read(view);
    return result;
  }
  void release() {
    if (!options_.owns_output)
      return;
    task->release_output(0);
    EXPECT_EQ(slots.output.ptr, nullptr);
  }

  core::InferResult infer;
  FakeSlots slots;
  std::unique_ptr<core::IAsyncTask> task;
  std::atomic<bool> cancelled = false;
  std::vector<std::byte> popped;
  std::vector<core::FrameRecord> records;

private:
  void adopt(std::unique_ptr<core::IAsyncTask> made) {
    task = std::move(made);
    task->bind_storage_access(&slots);
    if (!options_.owns_input)
      input_memory_ = give(slots.input, infer.input_descs[0]);
    if (!options_.owns_output)
      output_memory_ = give(slots.output, infer.output_descs[0]);
    task->begin_run();
  }
  runtime::MemoryBlock give(core::Storage &storage, const core::TDesc &desc) {
    const size_t bytes = desc.offset + desc.num_bytes();
    runtime::MemoryBlock block(device_, desc.mem_loc, bytes);
    storage = {desc.mem_loc, bytes, block.get()};
    return block;
  }
  void write(const core::TView &view, const std::vector<std::byte> &bytes) {
    device_.copy(
        view.data(), view.desc.mem_loc, bytes.data(), core::MemLoc::Host, bytes.size(),
        stream_.get());
    device_.synchronize(stream_.get());
  }
  std::vector<std::byte> read(const core::TView &view) {
    std::vector<std::byte> bytes(view.desc.num_bytes());
    device_.copy(
        bytes.data(), core::MemLoc::Host, view.data(), view.desc.mem_loc, bytes.size(),
        stream_.get());
    device_.synchronize(stream_.get());
    return bytes;
  }

  Options options_;
  runtime::Device &device_;
  runtime::Stream stream_;
  runtime::MemoryBlock input_memory_;
  runtime::MemoryBlock output_memory_;
};

}  // namespace holoflow::test
