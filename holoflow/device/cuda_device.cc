// SPDX-License-Identifier: LGPL-2.1-or-later
// A GPU through the CUDA runtime. Part of the CUDA module.
#include "holoflow/device/cuda_device.hh"

#include <chrono>

#include "holoflow/core/error.hh"

namespace holoflow::runtime {

namespace {

// How long a waiting thread may ask again and again before it sleeps. Work that is nearly done is
// then met without the price of a wake-up.
constexpr std::chrono::microseconds longest_spin{20};

cudaMemcpyKind copy_kind(core::MemLoc to, core::MemLoc from) {
  if (to == core::MemLoc::Device)
    return from == core::MemLoc::Device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
  return from == core::MemLoc::Device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

// Not ready is no failure; the runtime must not remember it as one.
bool is_ready(cudaError_t code, cudaError_t &failure) {
  failure = code == cudaErrorNotReady ? cudaSuccess : code;
  if (code == cudaErrorNotReady && cudaPeekAtLastError() == cudaErrorNotReady)
    (void)cudaGetLastError();
  return code == cudaSuccess;
}

}  // namespace

CudaDevice::CudaDevice(int index) : index_(index) {
  const DeviceScope scope(*this);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  name_ = properties.name;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  if (properties.memoryPoolsSupported == 0)
    return;
  cudaMemPoolProps pool{};
  pool.allocType = cudaMemAllocationTypePinned;
  pool.location = {cudaMemLocationTypeDevice, index};
  check(cudaMemPoolCreate(&pool_, &pool), "cudaMemPoolCreate");
}

void CudaDevice::check(cudaError_t code, const std::string &call) const {
  if (code == cudaSuccess)
    return;
  (void)cudaGetLastError();
  throw core::DeviceError(
      "GPU " + std::to_string(index_) + (name_.empty() ? "" : " (" + name_ + ")") + ": " + call +
      " failed: " + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ")");
}

std::byte *CudaDevice::allocate(core::MemLoc loc, size_t bytes) {
  const DeviceScope scope(*this);
  const std::string size = std::to_string(bytes) + " bytes";
  const size_t asked = bytes == 0 ? 1 : bytes;
  void *ptr = nullptr;
  if (loc == core::MemLoc::Host) {
    check(cudaHostAlloc(&ptr, asked, cudaHostAllocPortable), "cudaHostAlloc of " + size);
  } else if (pool_ == nullptr) {
    check(cudaMalloc(&ptr, asked), "cudaMalloc of " + size);
  } else {
    // A pool of our own on a stream of our own: unlike cudaMalloc and cudaFree this waits for no
    // other work of the device.
    check(
        cudaMallocFromPoolAsync(&ptr, asked, pool_, stream_), "cudaMallocFromPoolAsync of " + size);
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize after an allocation");
  }
  return static_cast<std::byte *>(ptr);
}

void CudaDevice::free(core::MemLoc loc, std::byte *ptr) noexcept {
  if (ptr == nullptr)
    return;
  const int previous = current();
  make_current(index_);
  if (loc == core::MemLoc::Host) {
    (void)cudaFreeHost(ptr);
  } else if (pool_ == nullptr) {
    (void)cudaFree(ptr);
  } else {
    // The wait lets the pool give the memory back to the device.
    (void)cudaFreeAsync(ptr, stream_);
    (void)cudaStreamSynchronize(stream_);
  }
  make_current(previous);
}

cudaStream_t CudaDevice::create_stream() {
  const DeviceScope scope(*this);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

void CudaDevice::destroy_stream(cudaStream_t stream) noexcept {
  const int previous = current();
  make_current(index_);
  (void)cudaStreamDestroy(stream);
  make_current(previous);
}

void CudaDevice::synchronize(cudaStream_t stream) {
  if (stream == nullptr)
    return;
  const DeviceScope scope(*this);
  const auto end = std::chrono::steady_clock::now() + longest_spin;
  cudaError_t failure = cudaSuccess;
  do {
    const bool ready = is_ready(cudaStreamQuery(stream), failure);
    check(failure, "cudaStreamQuery");
    if (ready)
      return;
  } while (std::chrono::steady_clock::now() < end);
  // cudaStreamSynchronize may spin; an event of ours sleeps.
  const Event event(*this);
  check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
  check(cudaEventSynchronize(event.get()), "cudaEventSynchronize");
}

DeviceEvent CudaDevice::create_event() {
  const DeviceScope scope(*this);
  cudaEvent_t event = nullptr;
  check(
      cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
      "cudaEventCreateWithFlags");
  return event;
}

void CudaDevice::destroy_event(DeviceEvent event) noexcept {
  const int previous = current();
  make_current(index_);
  (void)cudaEventDestroy(event);
  make_current(previous);
}

void CudaDevice::record(DeviceEvent event, cudaStream_t stream) {
  const DeviceScope scope(*this);
  check(cudaEventRecord(event, or_own(stream)), "cudaEventRecord");
}

void CudaDevice::wait(cudaStream_t stream, DeviceEvent event) {
  const DeviceScope scope(*this);
  check(cudaStreamWaitEvent(or_own(stream), event, 0), "cudaStreamWaitEvent");
}

void CudaDevice::synchronize(DeviceEvent event) {
  const auto end = std::chrono::steady_clock::now() + longest_spin;
  do {
    if (query(event))
      return;
  } while (std::chrono::steady_clock::now() < end);
  const DeviceScope scope(*this);
  check(cudaEventSynchronize(event), "cudaEventSynchronize");
}

bool CudaDevice::query(DeviceEvent event) {
  const DeviceScope scope(*this);
  cudaError_t failure = cudaSuccess;
  const bool ready = is_ready(cudaEventQuery(event), failure);
  check(failure, "cudaEventQuery");
  return ready;
}

void CudaDevice::copy(
    std::byte *to, core::MemLoc to_loc, const std::byte *from, core::MemLoc from_loc, size_t bytes,
    cudaStream_t stream) {
  if (bytes == 0)
    return;
  const DeviceScope scope(*this);
  check(
      cudaMemcpyAsync(to, from, bytes, copy_kind(to_loc, from_loc), or_own(stream)),
      "cudaMemcpyAsync of " + std::to_string(bytes) + " bytes");
  if (stream == nullptr)
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize after a copy");
}

int CudaDevice::select() {
  const int previous = current();
  if (previous != index_)
    check(cudaSetDevice(index_), "cudaSetDevice");
  return previous;
}

void CudaDevice::restore(int previous) noexcept {
  make_current(previous);
}

void CudaDevice::clear_last_error() noexcept {
  (void)cudaGetLastError();
}

int CudaDevice::current() noexcept {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

// cudaSetDevice makes a context where there is none yet, so it is not called without need.
void CudaDevice::make_current(int index) noexcept {
  if (index >= 0 && index != current())
    (void)cudaSetDevice(index);
}

}  // namespace holoflow::runtime
