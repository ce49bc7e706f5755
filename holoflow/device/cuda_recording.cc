// SPDX-License-Identifier: LGPL-2.1-or-later
// CUDA graphs: reading the parameters of captured nodes, launching them with others.
#include "holoflow/device/cuda_recording.hh"

#include <cstring>
#include <utility>

#include "curaii/cuda.hh"
#include "holoflow/core/error.hh"

namespace holoflow::runtime {

namespace {

using curaii::ignore;

struct Driver {
  CUresult (*get_kernel)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *) = nullptr;
  CUresult (*set_kernel)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *) = nullptr;
  CUresult (*function_parameter)(CUfunction, size_t, size_t *, size_t *) = nullptr;
  CUresult (*kernel_parameter)(CUkernel, size_t, size_t *, size_t *) = nullptr;
};

template <typename Function>
void resolve(const CudaDevice &device, const char *name, Function &function) {
  constexpr unsigned version = 12040;  // the first with all of them
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  device.check(
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result),
      "cudaGetDriverEntryPointByVersion");
  if (result != cudaDriverEntryPointSuccess || found == nullptr)
    throw core::DeviceError(std::string("the driver has no function ") + name);
  std::memcpy(&function, &found, sizeof(function));
}

const Driver &driver(const CudaDevice &device) {
  // Where it throws, the static stays uninitialised and the next caller tries again.
  static const Driver functions = [&] {
    Driver found;
    resolve(device, "cuGraphKernelNodeGetParams", found.get_kernel);
    resolve(device, "cuGraphExecKernelNodeSetParams", found.set_kernel);
    resolve(device, "cuFuncGetParamInfo", found.function_parameter);
    resolve(device, "cuKernelGetParamInfo", found.kernel_parameter);
    return found;
  }();
  return functions;
}

struct Parameter {
  size_t offset = 0, bytes = 0;
};

std::vector<Parameter> parameters_of(
    const CudaDevice &device, const CUDA_KERNEL_NODE_PARAMS &kernel) {
  const auto &functions = driver(device);
  std::vector<Parameter> parameters;
  for (size_t i = 0;; ++i) {
    Parameter parameter;
    const auto code = kernel.func != nullptr
        ? functions.function_parameter(kernel.func, i, &parameter.offset, &parameter.bytes)
        : functions.kernel_parameter(kernel.kern, i, &parameter.offset, &parameter.bytes);
    if (code == CUDA_ERROR_INVALID_VALUE)  // there is none with that index
      return parameters;
    device.check(code, "cuFuncGetParamInfo");
    parameters.push_back(parameter);
  }
}

template <typename T> uint64_t as_number(T *ptr) {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
}

void append_address(std::vector<std::byte> &image, const void *address) {
  const auto number = as_number(address);
  const auto *bytes = reinterpret_cast<const std::byte *>(&number);
  image.insert(image.end(), bytes, bytes + sizeof(number));
}

void *address_at(const std::byte *image, size_t index) {
  uint64_t number = 0;
  std::memcpy(&number, image + index * sizeof(number), sizeof(number));
  return reinterpret_cast<void *>(static_cast<uintptr_t>(number));
}

}  // namespace

CudaRecordedWork::CudaRecordedWork(
    const CudaDevice &device, cudaGraph_t graph, std::vector<RecordedMemory> memory)
    : device_(device), graph_(graph) {
  try {
    ParameterImages images;
    read(images);
    words_ = MovingWords(std::move(images), std::move(memory));
  } catch (...) {
    ignore(cudaGraphDestroy(graph_));
    throw;
  }
  for (size_t i = 0; i < operations_.size(); ++i)
    for (const auto offset : operations_[i].offsets)
      operations_[i].parameters.push_back(words_.image(i) + offset);
}

CudaRecordedWork::~CudaRecordedWork() {
  if (executable_ != nullptr)
    ignore(cudaGraphExecDestroy(executable_));
  ignore(cudaGraphDestroy(graph_));
}

void CudaRecordedWork::read(ParameterImages &images) {
  size_t count = 0;
  device_.check(cudaGraphGetNodes(graph_, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  device_.check(cudaGraphGetNodes(graph_, nodes.data(), &count), "cudaGraphGetNodes");
  device_.check(cudaGraphGetEdges(graph_, nullptr, nullptr, nullptr, &edges_), "cudaGraphGetEdges");
  for (const auto node : nodes) {
    operations_.emplace_back().node = node;
    read_node(operations_.back(), images.emplace_back());
  }
}

void CudaRecordedWork::read_node(Operation &operation, std::vector<std::byte> &image) const {
  device_.check(cudaGraphNodeGetType(operation.node, &operation.type), "cudaGraphNodeGetType");
  switch (operation.type) {
  case cudaGraphNodeTypeKernel:
    return read_kernel(operation, image);
  case cudaGraphNodeTypeMemcpy:
    return read_copy(operation, image);
  case cudaGraphNodeTypeMemset:
    return read_fill(operation, image);
  default:
    operation.shape = {as_number(operation.node)};  // of no other recording
  }
}

void CudaRecordedWork::read_kernel(Operation &operation, std::vector<std::byte> &image) const {
  auto &kernel = operation.kernel;
  device_.check(driver(device_).get_kernel(operation.node, &kernel), "cuGraphKernelNodeGetParams");
  operation.shape = {as_number(kernel.func), as_number(kernel.kern), kernel.gridDimX,
                     kernel.gridDimY,        kernel.gridDimZ,        kernel.blockDimX,
                     kernel.blockDimY,       kernel.blockDimZ,       kernel.sharedMemBytes};
  operation.can_move = kernel.kernelParams != nullptr;
  if (!operation.can_move)
    return;
  const auto parameters = parameters_of(device_, kernel);
  for (size_t i = 0; i < parameters.size(); ++i) {
    // Where the kernel has them too, so that words keep their alignment.
    const auto [offset, bytes] = parameters[i];
    image.resize(offset + bytes);
    std::memcpy(image.data() + offset, kernel.kernelParams[i], bytes);
    operation.offsets.push_back(offset);
  }
}

void CudaRecordedWork::read_copy(Operation &operation, std::vector<std::byte> &image) const {
  cudaMemcpy3DParms copy{};
  device_.check(
      cudaGraphMemcpyNodeGetParams(operation.node, &copy), "cudaGraphMemcpyNodeGetParams");
  operation.shape = {copy.extent.width,        copy.extent.height,
                     copy.extent.depth,        copy.srcPtr.pitch,
                     copy.dstPtr.pitch,        as_number(copy.srcArray),
                     as_number(copy.dstArray), static_cast<uint64_t>(copy.kind)};
  operation.bytes = copy.extent.width;
  operation.kind = copy.kind;
  // CUDA takes other addresses for copies of one row only.
  operation.can_move = copy.extent.height == 1 && copy.extent.depth == 1 &&
      copy.srcArray == nullptr && copy.dstArray == nullptr;
  append_address(image, copy.dstPtr.ptr);
  append_address(image, copy.srcPtr.ptr);
}

void CudaRecordedWork::read_fill(Operation &operation, std::vector<std::byte> &image) const {
  auto &fill = operation.fill;
  device_.check(
      cudaGraphMemsetNodeGetParams(operation.node, &fill), "cudaGraphMemsetNodeGetParams");
  operation.shape = {fill.width, fill.height, fill.pitch, fill.value, fill.elementSize};
  operation.can_move = fill.height == 1;
  append_address(image, fill.dst);
}

std::string CudaRecordedWork::compare_shapes(const CudaRecordedWork &other) const {
  if (operations_.size() != other.operations_.size() || edges_ != other.edges_)
    return "expected " + std::to_string(operations_.size()) +
        " operations as recorded before, got " + std::to_string(other.operations_.size());
  for (size_t i = 0; i < operations_.size(); ++i)
    if (operations_[i].type != other.operations_[i].type ||
        operations_[i].shape != other.operations_[i].shape)
      return "operation " + std::to_string(i) + " is another one than before";
  return {};
}

std::string CudaRecordedWork::forget_noise(const RecordedWork &again) {
  const auto &other = dynamic_cast<const CudaRecordedWork &>(again);
  if (auto why = compare_shapes(other); !why.empty())
    return why;
  return words_.forget_noise(other.words_);
}

std::string CudaRecordedWork::learn(const RecordedWork &moved) {
  const auto &other = dynamic_cast<const CudaRecordedWork &>(moved);
  if (auto why = compare_shapes(other); !why.empty())
    return why;
  for (size_t i = 0; i < operations_.size(); ++i)
    if (!operations_[i].can_move && !words_.has_same_image(other.words_, i))
      return "operation " + std::to_string(i) +
          " takes no other addresses, for instance because it copies several rows";
  return words_.learn(other.words_);
}

void CudaRecordedWork::prepare() {
  device_.check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
}

void CudaRecordedWork::launch(cudaStream_t stream, std::span<std::byte *const> memory) {
  for (const auto operation : words_.move(memory))
    set_parameters(operation);
  device_.check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch");
}

void CudaRecordedWork::set_parameters(size_t index) {
  auto &operation = operations_[index];
  const auto *image = words_.image(index);
  switch (operation.type) {
  case cudaGraphNodeTypeKernel:
    operation.kernel.kernelParams = operation.parameters.data();
    return device_.check(
        driver(device_).set_kernel(executable_, operation.node, &operation.kernel),
        "cuGraphExecKernelNodeSetParams");
  case cudaGraphNodeTypeMemcpy:
    return device_.check(
        cudaGraphExecMemcpyNodeSetParams1D(
            executable_, operation.node, address_at(image, 0), address_at(image, 1),
            operation.bytes, operation.kind),
        "cudaGraphExecMemcpyNodeSetParams1D");
  case cudaGraphNodeTypeMemset:
    operation.fill.dst = address_at(image, 0);
    return device_.check(
        cudaGraphExecMemsetNodeSetParams(executable_, operation.node, &operation.fill),
        "cudaGraphExecMemsetNodeSetParams");
  default:
    throw std::logic_error("internal error: an operation without addresses was moved");
  }
}

}  // namespace holoflow::runtime
