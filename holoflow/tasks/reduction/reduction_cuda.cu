// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of Mean, Max and Min: threads, warps or blocks reduce groups or parts of them, then one
// block per group merges the parts. Who merges what is fixed by the shape, so results are the same
// every time.
#include "holoflow/tasks/reduction/reduction_cuda.hh"

#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>

#include "holoflow/tasks/common/map_cuda.cuh"

namespace holoflow::tasks {
namespace {

constexpr unsigned warp_size = 32;
constexpr unsigned warps_per_block = threads_per_block / warp_size;

template <typename Op> struct Merge {
  using State = typename Op::State;
  __device__ State operator()(State a, State b) const { return Op::merge(a, b); }
};

/// What a kernel works on. `states` takes the parts' results, `out` the groups' where there is one
/// part each.
template <typename Op> struct Work {
  StridedLoop<2> heads;
  StridedLoop<1> members;
  uint64_t groups;
  uint64_t size;
  uint64_t parts;
  const std::byte *in;
  std::byte *out;
  typename Op::State *states;

  __device__ uint64_t begin_of(uint64_t part) const { return size * part / parts; }

  __device__ const std::byte *head(uint64_t group) const {
    uint64_t at[2];
    element_offsets(heads, group, at);
    return in + at[0];
  }

  /// Every step-th member from `first` on, below `end`.
  __device__ typename Op::State reduce(
      const std::byte *head, uint64_t first, uint64_t end, uint64_t step) const {
    typename Op::State state = Op::identity();
#pragma unroll 4
    for (uint64_t j = first; j < end; j += step) {
      uint64_t at[1];
      element_offsets(members, j, at);
      const auto *element = reinterpret_cast<const typename Op::Element *>(head + at[0]);
      state = Op::merge(state, Op::of(*element));
    }
    return state;
  }

  __device__ void put(uint64_t group, typename Op::State state) const {
    reinterpret_cast<typename Op::Out *>(out)[group] = Op::finish(state, size);
  }
};

/// Neighbouring threads take neighbouring groups. States: [part][group].
template <typename Op> __global__ void reduce_by_thread(Work<Op> work) {
  for (uint64_t i = thread_index(); i < work.groups * work.parts; i += thread_count()) {
    const uint64_t part = i / work.groups;
    const uint64_t group = i - part * work.groups;
    const auto state =
        work.reduce(work.head(group), work.begin_of(part), work.begin_of(part + 1), 1);
    if (work.parts == 1) {
      work.put(group, state);
    } else {
      work.states[i] = state;
    }
  }
}

template <typename Op> __global__ void reduce_by_warp(Work<Op> work) {
  using Reduce = cub::WarpReduce<typename Op::State>;
  __shared__ typename Reduce::TempStorage temp[warps_per_block];
  const unsigned warp = threadIdx.x / warp_size;
  const unsigned lane = threadIdx.x % warp_size;
  for (uint64_t group = static_cast<uint64_t>(blockIdx.x) * warps_per_block + warp;
       group < work.groups; group += static_cast<uint64_t>(gridDim.x) * warps_per_block) {
    const auto mine = work.reduce(work.head(group), lane, work.size, warp_size);
    const auto state = Reduce(temp[warp]).Reduce(mine, Merge<Op>{});
    if (lane == 0)
      work.put(group, state);
    __syncwarp();  // the next round reuses the shared memory
  }
}

/// The merged states of the whole block; only thread 0 gets them.
template <typename Op> __device__ typename Op::State reduce_block(typename Op::State mine) {
  using Reduce = cub::BlockReduce<typename Op::State, threads_per_block>;
  __shared__ typename Reduce::TempStorage temp;
  return Reduce(temp).Reduce(mine, Merge<Op>{});
}

/// States: [group][part].
template <typename Op> __global__ void reduce_by_block(Work<Op> work) {
  for (uint64_t i = blockIdx.x; i < work.groups * work.parts; i += gridDim.x) {
    const uint64_t group = i / work.parts;
    const uint64_t part = i - group * work.parts;
    const auto mine = work.reduce(
        work.head(group), work.begin_of(part) + threadIdx.x, work.begin_of(part + 1), blockDim.x);
    const auto state = reduce_block<Op>(mine);
    if (threadIdx.x == 0) {
      if (work.parts == 1) {
        work.put(group, state);
      } else {
        work.states[i] = state;
      }
    }
    __syncthreads();  // the next round reuses the shared memory
  }
}

template <typename Op>
__global__ void merge_parts(Work<Op> work, uint64_t group_stride, uint64_t part_stride) {
  for (uint64_t group = blockIdx.x; group < work.groups; group += gridDim.x) {
    auto mine = Op::identity();
    for (uint64_t part = threadIdx.x; part < work.parts; part += blockDim.x)
      mine = Op::merge(mine, work.states[group * group_stride + part * part_stride]);
    const auto state = reduce_block<Op>(mine);
    if (threadIdx.x == 0)
      work.put(group, state);
    __syncthreads();
  }
}

unsigned grid_for(uint64_t blocks) {
  return static_cast<unsigned>(std::min<uint64_t>(blocks, 1u << 30));
}

template <typename Op>
void enqueue(const Work<Op> &work, ReductionSplit::Worker worker, cudaStream_t stream) {
  using Worker = ReductionSplit::Worker;
  const uint64_t pieces = work.groups * work.parts;
  switch (worker) {
  case Worker::Thread:
    reduce_by_thread<<<blocks_for(pieces), threads_per_block, 0, stream>>>(work);
    break;
  case Worker::Warp:
    reduce_by_warp<<<
        grid_for((pieces + warps_per_block - 1) / warps_per_block), threads_per_block, 0, stream>>>(
        work);
    break;
  case Worker::Block:
    reduce_by_block<<<grid_for(pieces), threads_per_block, 0, stream>>>(work);
    break;
  }
  CUDA_CHECK(cudaGetLastError());
  if (work.parts == 1)
    return;
  const bool by_thread = worker == Worker::Thread;
  merge_parts<<<grid_for(work.groups), threads_per_block, 0, stream>>>(
      work, by_thread ? 1 : work.parts, by_thread ? work.groups : 1);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void enqueue_reduction(
    Reduction reduction, core::DType dtype, const ReductionPlan &plan, const std::byte *in,
    std::byte *out, std::byte *memory, cudaStream_t stream) {
  if (plan.groups == 0)
    return;
  const ReductionSplit split = split_reduction(plan);
  with_reduction(reduction, dtype, [&](auto op) {
    using Op = decltype(op);
    const Work<Op> work{
        plan.heads,  plan.members, plan.groups, plan.size,
        split.parts, in,           out,         reinterpret_cast<typename Op::State *>(memory)};
    enqueue(work, split.worker, stream);
  });
}

}  // namespace holoflow::tasks
