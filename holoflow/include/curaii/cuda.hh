// SPDX-License-Identifier: LGPL-2.1-or-later
// Owners for what the CUDA runtime hands out. Header-only: programs that use it link cudart.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace curaii {

/// A failed CUDA call; what() has the call, the error's name and its text.
class CudaError : public std::runtime_error {
public:
  CudaError(cudaError_t code, const std::string &message)
      : std::runtime_error(message), code_(code) {}
  [[nodiscard]] cudaError_t code() const noexcept { return code_; }

private:
  cudaError_t code_;
};

/// Throws CudaError where `code` is not cudaSuccess, and forgets the runtime's last error.
inline void check(cudaError_t code, const char *call, const char *file, int line) {
  if (code == cudaSuccess)
    return;
  (void)cudaGetLastError();
  throw CudaError(
      code,
      std::string(call) + " failed: " + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) +
          ") at " + file + ":" + std::to_string(line));
}

/// For destructors: forgets a failure, so that the runtime does not tell it to the next one who
/// asks for the last error.
inline void ignore(cudaError_t code) noexcept {
  if (code != cudaSuccess)
    (void)cudaGetLastError();
}

struct DeviceDeleter {
  void operator()(void *ptr) const noexcept { ignore(cudaFree(ptr)); }
};
struct HostDeleter {
  void operator()(void *ptr) const noexcept { ignore(cudaFreeHost(ptr)); }
};

/// Device memory for an array of T. Freeing it may wait for the device.
template <typename T> using unique_device_ptr = std::unique_ptr<T, DeviceDeleter>;
/// Page-locked host memory for an array of T.
template <typename T> using unique_host_ptr = std::unique_ptr<T, HostDeleter>;

/// Uninitialised device memory for `count` elements; null for 0. Throws CudaError.
template <typename T> [[nodiscard]] unique_device_ptr<T> make_unique_device_ptr(size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  void *ptr = nullptr;
  if (count != 0)
    check(cudaMalloc(&ptr, count * sizeof(T)), "cudaMalloc", __FILE__, __LINE__);
  return unique_device_ptr<T>(static_cast<T *>(ptr));
}

/// Uninitialised page-locked memory for `count` elements; null for 0. Throws CudaError.
template <typename T> [[nodiscard]] unique_host_ptr<T> make_unique_host_ptr(size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  void *ptr = nullptr;
  if (count != 0)
    check(cudaMallocHost(&ptr, count * sizeof(T)), "cudaMallocHost", __FILE__, __LINE__);
  return unique_host_ptr<T>(static_cast<T *>(ptr));
}

/// Owns a stream that does not wait for the legacy default stream. Throws CudaError.
class CudaStream {
public:
  CudaStream() {
    check(
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags",
        __FILE__, __LINE__);
  }
  CudaStream(CudaStream &&other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream &operator=(CudaStream &&other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~CudaStream() {
    if (stream_ != nullptr)
      ignore(cudaStreamDestroy(stream_));
  }

  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }
  operator cudaStream_t() const noexcept { return stream_; }
  void synchronize() const {
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize", __FILE__, __LINE__);
  }

private:
  cudaStream_t stream_ = nullptr;
};

/// Owns an event without timing, on which the host waits without spinning. Throws CudaError.
class CudaEvent {
public:
  explicit CudaEvent(unsigned flags = cudaEventDisableTiming | cudaEventBlockingSync) {
    check(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags", __FILE__, __LINE__);
  }
  CudaEvent(CudaEvent &&other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent &operator=(CudaEvent &&other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~CudaEvent() {
    if (event_ != nullptr)
      ignore(cudaEventDestroy(event_));
  }

  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }
  operator cudaEvent_t() const noexcept { return event_; }
  void record(cudaStream_t stream) const {
    check(cudaEventRecord(event_, stream), "cudaEventRecord", __FILE__, __LINE__);
  }
  void synchronize() const {
    check(cudaEventSynchronize(event_), "cudaEventSynchronize", __FILE__, __LINE__);
  }

private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace curaii

/// Checks one CUDA runtime call and throws curaii::CudaError with the call's text where it failed.
#define CUDA_CHECK(call) ::curaii::check((call), #call, __FILE__, __LINE__)
