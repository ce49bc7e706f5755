// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/faults/wild_write.hh"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "curaii/cuda.hh"

namespace holoflow::faults {

namespace {

__global__ void copy_kernel(const float *from, float *to, size_t count, float *wild) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count)
    to[i] = from[i];
  if (i == 0 && wild != nullptr)
    *wild = 1.0f;
}

}  // namespace

void register_wild_write(core::Registry &registry) {
  // Shared, because a kernel has to be copyable.
  const auto number = std::make_shared<std::atomic<size_t>>(0);
  core::add_kernel(
      registry, "WildWrite",
      [number](
          std::span<const core::TView> inputs, std::span<core::TView> outputs,
          const nlohmann::json &params, cudaStream_t stream) {
        const auto *from = reinterpret_cast<const float *>(inputs[0].data());
        auto *to = reinterpret_cast<float *>(outputs[0].data());
        const size_t count = inputs[0].desc.num_elements();
        if (inputs[0].desc.mem_loc == core::MemLoc::Host) {
          std::memcpy(to, from, count * sizeof(float));
          return;
        }
        const bool breaks = (*number)++ == params.at("at").get<size_t>();
        auto *wild = breaks ? reinterpret_cast<float *>(uintptr_t{0x100}) : nullptr;
        copy_kernel<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(
            from, to, count, wild);
        CUDA_CHECK(cudaGetLastError());
      });
}

}  // namespace holoflow::faults
