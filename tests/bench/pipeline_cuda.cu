// SPDX-License-Identifier: LGPL-2.1-or-later
// The hand-written three-stream loop.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "curaii/cuda.hh"
#include "hand_written_loop.hh"

namespace holoflow::bench {

namespace {

constexpr size_t ring = 8;

__global__ void to_float(const uint8_t *from, float *to, size_t count) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x)
    to[i] = static_cast<float>(from[i]);
}

__global__ void scale(const float *from, float *to, size_t count, float factor, float offset) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x)
    to[i] = from[i] * factor + offset;
}

__global__ void to_bytes(const float *from, uint8_t *to, size_t count) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x)
    to[i] = static_cast<uint8_t>(fminf(fmaxf(rintf(from[i]), 0.0f), 255.0f));
}

struct Slot {
  explicit Slot(size_t count, unsigned wait_flags)
      : host_in(curaii::make_unique_host_ptr<uint8_t>(count)),
        host_out(curaii::make_unique_host_ptr<uint8_t>(count)),
        in(curaii::make_unique_device_ptr<uint8_t>(count)),
        out(curaii::make_unique_device_ptr<uint8_t>(count)),
        value(curaii::make_unique_device_ptr<float>(count)),
        scaled(curaii::make_unique_device_ptr<float>(count)),
        done(cudaEventDisableTiming | wait_flags) {
    for (size_t i = 0; i < count; ++i)
      host_in.get()[i] = static_cast<uint8_t>(i * 7919 >> 3);
  }

  curaii::unique_host_ptr<uint8_t> host_in, host_out;
  curaii::unique_device_ptr<uint8_t> in, out;
  curaii::unique_device_ptr<float> value, scaled;
  curaii::CudaEvent uploaded, computed, done;
};

void enqueue(
    Slot &slot, size_t count, curaii::CudaStream &up, curaii::CudaStream &compute,
    curaii::CudaStream &down) {
  const auto blocks = static_cast<unsigned>(std::min<size_t>((count + 255) / 256, 65535));
  CUDA_CHECK(cudaMemcpyAsync(slot.in.get(), slot.host_in.get(), count, cudaMemcpyHostToDevice, up));
  slot.uploaded.record(up);
  CUDA_CHECK(cudaStreamWaitEvent(compute, slot.uploaded));
  to_float<<<blocks, 256, 0, compute>>>(slot.in.get(), slot.value.get(), count);
  scale<<<blocks, 256, 0, compute>>>(slot.value.get(), slot.scaled.get(), count, 2.0f, 1.0f);
  to_bytes<<<blocks, 256, 0, compute>>>(slot.scaled.get(), slot.out.get(), count);
  CUDA_CHECK(cudaGetLastError());
  slot.computed.record(compute);
  CUDA_CHECK(cudaStreamWaitEvent(down, slot.computed));
  CUDA_CHECK(
      cudaMemcpyAsync(slot.host_out.get(), slot.out.get(), count, cudaMemcpyDeviceToHost, down));
  slot.done.record(down);
}

void check_result(const Slot &slot, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const int expected = std::min(2 * slot.host_in.get()[i] + 1, 255);
    if (slot.host_out.get()[i] != expected)
      throw std::runtime_error("hand-written loop: wrong result");
  }
}

}  // namespace

double hand_written_loop(size_t width, size_t height, size_t frames, HostWait wait) {
  const auto count = width * height;
  std::vector<Slot> slots;
  for (size_t i = 0; i < ring; ++i)
    slots.emplace_back(count, wait == HostWait::Block ? cudaEventBlockingSync : 0u);
  curaii::CudaStream up, compute, down;
  const auto run = [&](size_t number) {
    for (size_t i = 0; i < number; ++i) {
      auto &slot = slots[i % ring];
      if (i >= ring)
        slot.done.synchronize();
      enqueue(slot, count, up, compute, down);
    }
    down.synchronize();
  };
  run(2 * ring);
  const auto begin = std::chrono::steady_clock::now();
  run(frames);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  for (const auto &slot : slots)
    check_result(slot, count);
  return static_cast<double>(frames) / seconds.count();
}

}  // namespace holoflow::bench
