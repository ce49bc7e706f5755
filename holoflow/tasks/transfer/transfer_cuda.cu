// SPDX-License-Identifier: LGPL-2.1-or-later
// Upload, Download, Memcpy and Copy where one side is on the device.
#include "holoflow/tasks/transfer/transfer_cuda.hh"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "curaii/cuda.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/tasks/families.hh"
#include "holoflow/tasks/task_spec.hh"
#include "holoflow/tasks/transfer/strided_copy.hh"

namespace holoflow::tasks {

namespace {

using core::MemLoc;
using core::TDesc;

constexpr int max_axes = 8;

// The loops of a copy in units of one element, passed by value to the kernel.
struct DeviceAxes {
  int count = 0;
  size_t extent[max_axes] = {};
  size_t from_stride[max_axes] = {};  // bytes; the destination is packed
};

// One thread per element: consecutive threads write consecutive elements.
template <typename Element>
__global__ void pack_kernel(DeviceAxes axes, const std::byte *from, Element *to, size_t elements) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += step) {
    size_t rest = i, offset = 0;
    for (int axis = axes.count; axis-- > 0;) {
      offset += rest % axes.extent[axis] * axes.from_stride[axis];
      rest /= axes.extent[axis];
    }
    to[i] = *reinterpret_cast<const Element *>(from + offset);
  }
}

template <typename Element>
void launch_pack(
    const DeviceAxes &axes, const std::byte *from, std::byte *to, size_t elements,
    cudaStream_t stream) {
  constexpr size_t block = 256;
  const auto grid = static_cast<unsigned>(std::min<size_t>((elements + block - 1) / block, 65535));
  pack_kernel<<<grid, block, 0, stream>>>(axes, from, reinterpret_cast<Element *>(to), elements);
  CUDA_CHECK(cudaGetLastError());
}

// Contiguous on both sides, or rows of equal distance: what the copy engines do by themselves. A
// pitch has to hold a row and has a limit; single elements are left to the kernel.
bool engine_can(const CopyPlan &plan) {
  if (plan.axes.empty())
    return true;
  const CopyAxis &rows = plan.axes[0];
  return plan.axes.size() == 1 && plan.run_bytes > sizeof(double) &&
      rows.from_stride >= plan.run_bytes && rows.to_stride >= plan.run_bytes &&
      std::max(rows.from_stride, rows.to_stride) < (size_t{1} << 31);
}

void engine_copy(
    const CopyPlan &plan, const std::byte *from, std::byte *to, cudaMemcpyKind kind,
    cudaStream_t stream) {
  if (plan.axes.empty()) {
    CUDA_CHECK(cudaMemcpyAsync(to, from, plan.run_bytes, kind, stream));
    return;
  }
  const CopyAxis &rows = plan.axes[0];
  CUDA_CHECK(cudaMemcpy2DAsync(
      to, rows.to_stride, from, rows.from_stride, plan.run_bytes, rows.count, kind, stream));
}

TDesc packed_on_device(const TDesc &desc) {
  return {desc.shape, desc.dtype, MemLoc::Device};
}

// Copies that leave or enter Host memory without rows of equal distance go through packed scratch
// on the device, so that the host is never read or written outside the stream's order.
class CudaCopyTask final : public core::ISyncTask {
public:
  CudaCopyTask(const TDesc &input, const TDesc &output, const core::SyncCreateCtx &ctx)
      : stream_(ctx.stream), plan_(plan_copy(input, output)), extent_(input.num_bytes()) {
    if (plan_.run_bytes == 0 || engine_can(plan_))
      return;
    runtime::Device &device = runtime::cuda_device(ctx.device);
    if (input.mem_loc == MemLoc::Host)
      scratch_ = runtime::MemoryBlock(device, MemLoc::Device, extent_);
    else if (output.mem_loc == MemLoc::Host)
      scratch_ = runtime::MemoryBlock(device, MemLoc::Device, packed_on_device(input).num_bytes());
  }

  core::OpResult execute(core::SyncCtx &ctx) override {
    const core::TView &from = ctx.inputs[0];
    core::TView &to = ctx.outputs[0];
    if (plan_.run_bytes == 0 || from.data() == to.data())
      return core::OpResult::Ok;
    if (engine_can(plan_)) {
      engine_copy(plan_, from.data(), to.data(), kind(from.desc, to.desc), stream_);
    } else if (from.desc.mem_loc == MemLoc::Host) {
      CUDA_CHECK(
          cudaMemcpyAsync(scratch_.get(), from.data(), extent_, cudaMemcpyHostToDevice, stream_));
      pack_on_device(from.desc, scratch_.get(), to.data(), stream_);
    } else if (to.desc.mem_loc == MemLoc::Host) {
      const size_t bytes = packed_on_device(from.desc).num_bytes();
      pack_on_device(from.desc, from.data(), scratch_.get(), stream_);
      CUDA_CHECK(
          cudaMemcpyAsync(to.data(), scratch_.get(), bytes, cudaMemcpyDeviceToHost, stream_));
    } else {
      pack_on_device(from.desc, from.data(), to.data(), stream_);
    }
    return core::OpResult::Ok;
  }

private:
  static cudaMemcpyKind kind(const TDesc &from, const TDesc &to) {
    if (from.mem_loc == MemLoc::Host)
      return cudaMemcpyHostToDevice;
    return to.mem_loc == MemLoc::Host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
  }

  cudaStream_t stream_;
  CopyPlan plan_;
  size_t extent_;
  runtime::MemoryBlock scratch_;  // where the plan needs it
};

}  // namespace

void pack_on_device(
    const TDesc &from_desc, const std::byte *from, std::byte *to, cudaStream_t stream) {
  const CopyPlan plan = plan_copy(from_desc, packed_on_device(from_desc));
  if (plan.run_bytes == 0)
    return;
  if (engine_can(plan))
    return engine_copy(plan, from, to, cudaMemcpyDeviceToDevice, stream);
  const size_t element = core::size_of(from_desc.dtype);
  DeviceAxes axes;
  const auto add = [&axes](size_t extent, size_t stride) {
    if (axes.count == max_axes)
      throw std::logic_error("internal error: pack_on_device: more axes than inference allows");
    axes.extent[axes.count] = extent;
    axes.from_stride[axes.count++] = stride;
  };
  for (const CopyAxis &axis : plan.axes)
    add(axis.count, axis.from_stride);
  if (plan.run_bytes > element)
    add(plan.run_bytes / element, element);
  const size_t elements = from_desc.num_elements();
  switch (from_desc.dtype) {
  case core::DType::U8:
    return launch_pack<uint8_t>(axes, from, to, elements, stream);
  case core::DType::U16:
    return launch_pack<uint16_t>(axes, from, to, elements, stream);
  case core::DType::F32:
    return launch_pack<float>(axes, from, to, elements, stream);
  case core::DType::CF32:
    break;
  }
  // Views of complex tensors are aligned to their elements in blocks that are 256-byte aligned.
  launch_pack<float2>(axes, from, to, elements, stream);
}

void register_transfer_cuda(core::Registry &registry) {
  for (const char *type : {"Upload", "Download", "Memcpy", "Copy"})
    add_device_maker(registry, type, SyncMaker([](const MakeArgs<core::SyncCreateCtx> &args) {
                       return std::make_unique<CudaCopyTask>(
                           args.inputs[0], args.infer.output_descs[0], args.ctx);
                     }));
}

}  // namespace holoflow::tasks
