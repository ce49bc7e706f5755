// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/runtime/slow_copy.hh"

#include <cstdint>
#include <cstring>

#include "curaii/cuda.hh"

namespace holoflow::test {

namespace {

__device__ uint64_t nanoseconds() {
  uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin_kernel(uint64_t duration) {
  const auto begin = nanoseconds();
  while (nanoseconds() - begin < duration) {
  }
}

__global__ void copy_kernel(const float *from, float *to, size_t count) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count)
    to[i] = from[i];
}

}  // namespace

void register_slow_copy(core::Registry &registry) {
  core::add_kernel(
      registry, "SlowCopy",
      [](std::span<const core::TView> inputs, std::span<core::TView> outputs,
         const nlohmann::json &params, cudaStream_t stream) {
        const auto *from = reinterpret_cast<const float *>(inputs[0].data());
        auto *to = reinterpret_cast<float *>(outputs[0].data());
        const size_t count = inputs[0].desc.num_elements();
        if (inputs[0].desc.mem_loc == core::MemLoc::Host) {
          std::memcpy(to, from, count * sizeof(float));
          return;
        }
        const auto milliseconds = params.at("milliseconds").get<uint64_t>();
        spin_kernel<<<1, 1, 0, stream>>>(milliseconds * 1'000'000);
        copy_kernel<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(
            from, to, count);
        CUDA_CHECK(cudaGetLastError());
      });
}

}  // namespace holoflow::test
