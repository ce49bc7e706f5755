// SPDX-License-Identifier: LGPL-2.1-or-later
// Smallest and largest finite value of each group: blocks reduce parts, then one block per group
// reduces the parts. Minimum and maximum do not depend on order, so results equal those on Host.
#include "holoflow/tasks/common/minmax_cuda.hh"

#include <cub/block/block_reduce.cuh>

#include "holoflow/tasks/common/map_cuda.cuh"

namespace holoflow::tasks {
namespace {

struct Merge {
  __device__ MinMax operator()(MinMax a, MinMax b) const {
    a.include(b);
    return a;
  }
};

/// The range of the whole block; only thread 0 gets it.
__device__ MinMax reduce_block(MinMax mine) {
  using Reduce = cub::BlockReduce<MinMax, threads_per_block>;
  __shared__ typename Reduce::TempStorage temp;
  return Reduce(temp).Reduce(mine, Merge{});
}

/// Parts of groups whose elements lie packed, one group behind the other.
template <typename In, int width>
__global__ void minmax_packed(
    const In *in, uint64_t groups, uint64_t size, uint32_t blocks, MinMax *out) {
  for (uint64_t part = blockIdx.x; part < groups * blocks; part += gridDim.x) {
    const auto *group = reinterpret_cast<const Pack<In, width> *>(in + part / blocks * size);
    MinMax mine;
    for (uint64_t i = part % blocks * blockDim.x + threadIdx.x; i < size / width;
         i += static_cast<uint64_t>(blocks) * blockDim.x) {
      const Pack<In, width> pack = group[i];
#pragma unroll
      for (int k = 0; k < width; ++k)
        mine.include(real_part(pack.item[k]));
    }
    const MinMax range = reduce_block(mine);
    if (threadIdx.x == 0)
      out[part] = range;
    __syncthreads();  // the next round reuses the shared memory
  }
}

template <typename In>
__global__ void minmax_strided(
    StridedLoop<1> loop, const std::byte *in, uint64_t groups, uint64_t size, uint32_t blocks,
    MinMax *out) {
  for (uint64_t part = blockIdx.x; part < groups * blocks; part += gridDim.x) {
    MinMax mine;
    for (uint64_t i = part % blocks * blockDim.x + threadIdx.x; i < size;
         i += static_cast<uint64_t>(blocks) * blockDim.x) {
      uint64_t at[1];
      element_offsets(loop, part / blocks * size + i, at);
      mine.include(real_part(*reinterpret_cast<const In *>(in + at[0])));
    }
    const MinMax range = reduce_block(mine);
    if (threadIdx.x == 0)
      out[part] = range;
    __syncthreads();
  }
}

/// One thread per group, for groups too small to feed a block.
template <typename In>
__global__ void minmax_small_groups(
    StridedLoop<1> loop, const std::byte *in, uint64_t groups, uint64_t size, MinMax *out) {
  for (uint64_t group = thread_index(); group < groups; group += thread_count()) {
    MinMax range;
    for (uint64_t i = 0; i < size; ++i) {
      uint64_t at[1];
      element_offsets(loop, group * size + i, at);
      range.include(real_part(*reinterpret_cast<const In *>(in + at[0])));
    }
    out[group] = range;
  }
}

__global__ void merge_parts(const MinMax *parts, uint32_t blocks, uint64_t groups, MinMax *out) {
  for (uint64_t group = blockIdx.x; group < groups; group += gridDim.x) {
    MinMax mine;
    for (uint32_t i = threadIdx.x; i < blocks; i += blockDim.x)
      mine.include(parts[group * blocks + i]);
    const MinMax range = reduce_block(mine);
    if (threadIdx.x == 0)
      out[group] = range;
    __syncthreads();
  }
}

unsigned grid_for(uint64_t blocks) {
  return static_cast<unsigned>(std::min<uint64_t>(blocks, 1u << 30));
}

template <typename In>
void enqueue_parts(
    const GroupPlan &plan, uint32_t blocks, const std::byte *in, MinMax *out, cudaStream_t stream) {
  constexpr int width = pack_width<In>();
  const auto *first = reinterpret_cast<const In *>(in);
  const unsigned grid = grid_for(plan.groups * blocks);
  if (!runs_packed(plan.elements, 0, sizeof(In))) {
    minmax_strided<In><<<grid, threads_per_block, 0, stream>>>(
        plan.elements, in, plan.groups, plan.size, blocks, out);
  } else if (is_aligned<In, width>(in) && plan.size % width == 0) {
    minmax_packed<In, width>
        <<<grid, threads_per_block, 0, stream>>>(first, plan.groups, plan.size, blocks, out);
  } else {
    minmax_packed<In, 1>
        <<<grid, threads_per_block, 0, stream>>>(first, plan.groups, plan.size, blocks, out);
  }
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void enqueue_minmax(
    const GroupPlan &plan, core::DType dtype, const std::byte *in, MinMax *memory,
    cudaStream_t stream) {
  if (plan.groups == 0 || plan.size == 0)
    return;
  constexpr uint64_t small_group = 32;
  const uint32_t blocks = minmax_blocks(plan);
  MinMax *parts = blocks > 1 ? memory + plan.groups : memory;
  with_type(dtype, [&](auto tag) {
    using In = typename decltype(tag)::type;
    if (plan.size > small_group)
      return enqueue_parts<In>(plan, blocks, in, parts, stream);
    minmax_small_groups<In><<<blocks_for(plan.groups), threads_per_block, 0, stream>>>(
        plan.elements, in, plan.groups, plan.size, memory);
    CUDA_CHECK(cudaGetLastError());
  });
  if (blocks == 1)
    return;
  merge_parts<<<grid_for(plan.groups), threads_per_block, 0, stream>>>(
      parts, blocks, plan.groups, memory);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace holoflow::tasks
