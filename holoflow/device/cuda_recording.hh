// SPDX-License-Identifier: LGPL-2.1-or-later
// Recorded work as a CUDA graph. Part of the CUDA module; only its sources include this.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <vector>

#include "holoflow/device/cuda_device.hh"
#include "holoflow/device/moving_words.hh"

namespace holoflow::runtime {

/// A captured graph and, once it is prepared, one executable. Addresses move by new parameters for
/// the nodes of the executable, which launches that are under way do not see.
///
/// Parameters go through the driver's interface: the runtime's does not know the kernels of cuFFT.
class CudaRecordedWork final : public RecordedWork {
public:
  /// Takes the graph over, also where it throws.
  CudaRecordedWork(const CudaDevice &device, cudaGraph_t graph, std::vector<RecordedMemory> memory);
  ~CudaRecordedWork() override;
  CudaRecordedWork(const CudaRecordedWork &) = delete;
  CudaRecordedWork &operator=(const CudaRecordedWork &) = delete;

  [[nodiscard]] size_t operations() const noexcept override { return operations_.size(); }
  [[nodiscard]] std::string forget_noise(const RecordedWork &again) override;
  [[nodiscard]] std::string learn(const RecordedWork &moved) override;
  [[nodiscard]] bool can_follow(std::span<std::byte *const> memory) const noexcept override {
    return words_.can_follow(memory);
  }
  void prepare() override;
  void launch(cudaStream_t stream, std::span<std::byte *const> memory) override;

private:
  struct Operation {
    cudaGraphNode_t node = nullptr;
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    std::vector<uint64_t> shape;  // whatever else must be the same in each recording
    bool can_move = false;
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    std::vector<size_t> offsets;  // of the kernel's parameters in the image
    std::vector<void *> parameters;  // the same as addresses
    size_t bytes = 0;  // of a copy
    cudaMemcpyKind kind = cudaMemcpyDefault;
    cudaMemsetParams fill = {};
  };

  void read(ParameterImages &images);
  void read_node(Operation &operation, std::vector<std::byte> &image) const;
  void read_kernel(Operation &operation, std::vector<std::byte> &image) const;
  void read_copy(Operation &operation, std::vector<std::byte> &image) const;
  void read_fill(Operation &operation, std::vector<std::byte> &image) const;
  [[nodiscard]] std::string compare_shapes(const CudaRecordedWork &other) const;
  void set_parameters(size_t index);

  const CudaDevice &device_;
  cudaGraph_t graph_;
  cudaGraphExec_t executable_ = nullptr;
  size_t edges_ = 0;
  std::vector<Operation> operations_;
  MovingWords words_;
};

}  // namespace holoflow::runtime
