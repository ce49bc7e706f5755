// SPDX-License-Identifier: LGPL-2.1-or-later
// Tasks written for the first model, compiled against the installed headers: the CUDA ones.
#include "check.hh"
#include "holoflow/builtin_tasks.hh"
#include "rate_limiter.hh"
#include "square_root.hh"

namespace api_test {

__global__ void square_root_kernel(const float *from, float *to, size_t count) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count)
    to[i] = sqrtf(from[i]);
}

class DeviceSquareRoot final : public core::ISyncTask {
public:
  explicit DeviceSquareRoot(cudaStream_t stream) : stream_(stream) {}
  core::OpResult execute(core::SyncCtx &ctx) override {
    const auto count = ctx.inputs[0].desc.num_elements();
    if (count == 0)
      return core::OpResult::Ok;
    constexpr unsigned block = 256;
    const auto grid = static_cast<unsigned>((count + block - 1) / block);
    square_root_kernel<<<grid, block, 0, stream_>>>(
        reinterpret_cast<const float *>(ctx.inputs[0].data()),
        reinterpret_cast<float *>(ctx.outputs[0].data()), count);
    CUDA_CHECK(cudaGetLastError());
    return core::OpResult::Ok;
  }

private:
  cudaStream_t stream_;
};

class DeviceSquareRootFactory final : public core::ISyncTaskFactory {
public:
  core::InferResult infer(
      std::span<const core::TDesc> inputs, const nlohmann::json &) const override {
    return infer_square_root(inputs, core::MemLoc::Device);
  }
  std::unique_ptr<core::ISyncTask> create(
      std::span<const core::TDesc> inputs, const nlohmann::json &settings,
      const core::SyncCreateCtx &ctx) const override {
    (void)infer(inputs, settings);
    return std::make_unique<DeviceSquareRoot>(ctx.stream);
  }
};

/// The staging form on the device: each copy has finished before the state changes.
class DeviceStagingLimiter final : public core::IAsyncTask {
public:
  DeviceStagingLimiter(
      const core::TDesc &desc, Clock::duration period, cudaStream_t producer, cudaStream_t consumer)
      : staging_(curaii::make_unique_device_ptr<std::byte>(desc.num_bytes())),
        bytes_(desc.num_bytes()), period_(period), next_(Clock::now()), producer_(producer),
        consumer_(consumer) {}

  core::OpResult try_push(core::AsyncPushCtx &ctx) override {
    if (full_.load(std::memory_order_acquire))
      return core::OpResult::NotReady;
    CUDA_CHECK(cudaMemcpyAsync(
        staging_.get(), ctx.inputs[0].data(), bytes_, cudaMemcpyDeviceToDevice, producer_));
    CUDA_CHECK(cudaStreamSynchronize(producer_));
    full_.store(true, std::memory_order_release);
    return core::OpResult::Ok;
  }
  core::OpResult try_pop(core::AsyncPopCtx &ctx) override {
    const auto now = Clock::now();
    if (!full_.load(std::memory_order_acquire) || now < next_)
      return core::OpResult::NotReady;
    CUDA_CHECK(cudaMemcpyAsync(
        ctx.outputs[0].data(), staging_.get(), bytes_, cudaMemcpyDeviceToDevice, consumer_));
    CUDA_CHECK(cudaStreamSynchronize(consumer_));
    next_ = now + period_;
    full_.store(false, std::memory_order_release);
    return core::OpResult::Ok;
  }

private:
  curaii::unique_device_ptr<std::byte> staging_;
  size_t bytes_;
  Clock::duration period_;
  Clock::time_point next_;
  cudaStream_t producer_, consumer_;
  std::atomic<bool> full_ = false;
};

/// The owned form on the device: the scheduler's waits order producer and consumer.
class DeviceSlotLimiter final : public core::IAsyncTask {
public:
  DeviceSlotLimiter(const core::TDesc &desc, Clock::duration period, cudaStream_t, cudaStream_t)
      : desc_(desc), period_(period), next_(Clock::now()) {
    for (auto &slot : slots_)
      slot = curaii::make_unique_device_ptr<std::byte>(desc.num_bytes());
  }
  std::optional<core::TView> acquire_input(int) override {
    if (full_.load(std::memory_order_acquire))
      return std::nullopt;
    auto &storage = storage_access().owned_input_storage(0);
    storage.ptr = slots_[0].get();
    return core::TView{desc_, &storage};
  }
  core::OpResult try_push(core::AsyncPushCtx &) override {
    storage_access().owned_input_storage(0).ptr = nullptr;
    full_.store(true, std::memory_order_release);
    return core::OpResult::Ok;
  }
  core::OpResult try_pop(core::AsyncPopCtx &) override {
    const auto now = Clock::now();
    if (!full_.load(std::memory_order_acquire) || now < next_)
      return core::OpResult::NotReady;
    next_ = now + period_;
    storage_access().owned_output_storage(0).ptr = slots_[0].get();
    return core::OpResult::Ok;
  }
  void release_output(int) override {
    storage_access().owned_output_storage(0).ptr = nullptr;
    full_.store(false, std::memory_order_release);
  }

private:
  core::TDesc desc_;
  Clock::duration period_;
  Clock::time_point next_;
  std::array<curaii::unique_device_ptr<std::byte>, 1> slots_;
  std::atomic<bool> full_ = false;
};

template <typename Task, bool owns>
class DeviceLimiterFactory final : public core::IAsyncTaskFactory {
public:
  core::InferResult infer(
      std::span<const core::TDesc> inputs, const nlohmann::json &settings) const override {
    (void)period_of(settings);
    auto result = infer_rate_limiter(inputs, core::MemLoc::Device, owns);
    if (owns)
      result.synchronizes_producer_stream = false;
    return result;
  }
  std::unique_ptr<core::IAsyncTask> create(
      std::span<const core::TDesc> inputs, const nlohmann::json &settings,
      const core::AsyncCreateCtx &ctx) const override {
    return std::make_unique<Task>(
        inputs[0], period_of(settings), ctx.producer_stream, ctx.consumer_stream);
  }
};

}  // namespace api_test

int main() {
  using namespace api_test;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: no GPU");
    return 77;
  }
  core::Registry registry;
  holoflow::register_builtin_tasks(registry);
  registry.register_sync("SqrtCuda", std::make_unique<DeviceSquareRootFactory>());
  registry.register_async(
      "StagingLimiterCuda", std::make_unique<DeviceLimiterFactory<DeviceStagingLimiter, false>>());
  registry.register_async(
      "SlotLimiterCuda", std::make_unique<DeviceLimiterFactory<DeviceSlotLimiter, true>>());
  const runtime::CompilerConfig config{.device = runtime::CompilerConfig::Device::Cuda};
  const nlohmann::json fast{{"max_fps", 10000.0}};
  const core::NodeSpec upload{"upload", "Upload", {}}, download{"download", "Download", {}};
  return check(registry, {upload, {"sqrt", "SqrtCuda", {}}, download}, square_root, config) |
      check(registry, {upload, {"limiter", "StagingLimiterCuda", fast}, download}, same, config) |
      check(registry, {upload, {"limiter", "SlotLimiterCuda", fast}, download}, same, config);
}
