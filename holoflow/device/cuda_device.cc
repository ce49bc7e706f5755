// SPDX-License-Identifier: LGPL-2.1-or-later
// A GPU through the CUDA runtime. Part of the CUDA module.
#include "holoflow/device/cuda_device.hh"

#include <algorithm>
#include <chrono>
#include <thread>

#include "curaii/cuda.hh"
#include "holoflow/core/error.hh"
#include "holoflow/device/cuda_recording.hh"

// Ranges for Nsight; the header loads a profiler's library only where one is injected.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HOLOFLOW_HAVE_NVTX 1
#else
#define HOLOFLOW_HAVE_NVTX 0
#endif

namespace holoflow::runtime {

namespace {

using curaii::ignore;

// How long a waiting thread may ask again and again before it sleeps. Work that is nearly done is
// then met without the price of a wake-up.
constexpr std::chrono::microseconds longest_spin{10};

constexpr std::chrono::microseconds longest_first_nap{500};
constexpr std::chrono::microseconds longest_nap{2000};
constexpr std::chrono::microseconds shortest_nap{5};
constexpr std::chrono::microseconds wake_up_time{6};  // of a thread whose timers have no slack

// Each question takes the driver's lock, which other threads want too.
constexpr std::chrono::nanoseconds pause_between_questions{2500};

void pause_until(std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end) {
  }
}

// The driver's own waits either spin or take an interrupt for every event, waited for or not, which
// costs a core and tens of microseconds to wake up. So this sleeps by itself: first most of the
// time that waits of this thread took lately, then for an eighth of the time gone by, again and
// again. The last stretch is met by asking.
template <typename Ready> void wait_until(const Ready &ready) {
  using Clock = std::chrono::steady_clock;
  if (ready())
    return;
  thread_local Clock::duration usual{};
  const auto begin = Clock::now();
  if (const auto nap = usual - usual / 8 - wake_up_time; nap > wake_up_time)
    std::this_thread::sleep_for(std::min<Clock::duration>(nap, longest_first_nap));
  else
    pause_until(begin + std::min<Clock::duration>(usual - usual / 4, longest_spin));
  const auto end_of_spin = Clock::now() + longest_spin;
  while (!ready()) {
    const auto now = Clock::now();
    if (now < end_of_spin)
      pause_until(now + pause_between_questions);
    else
      std::this_thread::sleep_for(
          std::clamp<Clock::duration>((now - begin) / 8, shortest_nap, longest_nap));
  }
  usual += (Clock::now() - begin - usual) / 8;
}

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
  if (const auto code = cudaMemPoolCreate(&pool_, &pool); code != cudaSuccess) {
    ignore(cudaStreamDestroy(stream_));  // no destructor runs, and the device may be tried again
    fail(code, "cudaMemPoolCreate");
  }
}

void CudaDevice::fail(cudaError_t code, const std::string &call) const {
  (void)cudaGetLastError();
  throw core::DeviceError(
      "GPU " + std::to_string(index_) + (name_.empty() ? "" : " (" + name_ + ")") + ": " + call +
          " failed: " + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ")",
      code == cudaErrorMemoryAllocation ? core::Reason::OutOfMemory : core::Reason::DeviceFailed);
}

std::byte *CudaDevice::allocate(core::MemLoc loc, size_t bytes) {
  const DeviceScope scope(*this);
  const size_t asked = bytes == 0 ? 1 : bytes;
  void *ptr = nullptr;
  const auto require = [&](cudaError_t code, const char *call) {
    if (code != cudaSuccess)
      fail(code, std::string(call) + " of " + std::to_string(bytes) + " bytes");
  };
  if (loc == core::MemLoc::Host) {
    require(cudaHostAlloc(&ptr, asked, cudaHostAllocPortable), "cudaHostAlloc");
  } else if (pool_ == nullptr) {
    require(cudaMalloc(&ptr, asked), "cudaMalloc");
  } else {
    // A pool of our own on a stream of our own: unlike cudaMalloc and cudaFree this waits for no
    // other work of the device.
    require(cudaMallocFromPoolAsync(&ptr, asked, pool_, stream_), "cudaMallocFromPoolAsync");
    if (const auto code = cudaStreamSynchronize(stream_); code != cudaSuccess) {
      ignore(cudaFreeAsync(ptr, stream_));
      fail(code, "cudaStreamSynchronize after an allocation");
    }
  }
  return static_cast<std::byte *>(ptr);
}

void CudaDevice::free(core::MemLoc loc, std::byte *ptr) noexcept {
  if (ptr == nullptr)
    return;
  const int previous = current();
  make_current(index_);
  if (loc == core::MemLoc::Host) {
    ignore(cudaFreeHost(ptr));
  } else if (pool_ == nullptr) {
    ignore(cudaFree(ptr));
  } else {
    // The wait lets the pool give the memory back to the device.
    ignore(cudaFreeAsync(ptr, stream_));
    ignore(cudaStreamSynchronize(stream_));
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
  ignore(cudaStreamDestroy(stream));
  make_current(previous);
}

void CudaDevice::synchronize(cudaStream_t stream) {
  if (stream == nullptr)
    return;
  const DeviceScope scope(*this);
  wait_until([&] {
    cudaError_t failure = cudaSuccess;
    const bool ready = is_ready(cudaStreamQuery(stream), failure);
    check(failure, "cudaStreamQuery");
    return ready;
  });
}

DeviceEvent CudaDevice::create_event() {
  const DeviceScope scope(*this);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return event;
}

void CudaDevice::destroy_event(DeviceEvent event) noexcept {
  const int previous = current();
  make_current(index_);
  ignore(cudaEventDestroy(event));
  make_current(previous);
}

// Events and streams know their device: none has to be current for what follows.
void CudaDevice::record(DeviceEvent event, cudaStream_t stream) {
  check(cudaEventRecord(event, or_own(stream)), "cudaEventRecord");
}

void CudaDevice::wait(cudaStream_t stream, DeviceEvent event) {
  check(cudaStreamWaitEvent(or_own(stream), event, 0), "cudaStreamWaitEvent");
}

void CudaDevice::synchronize(DeviceEvent event) {
  wait_until([&] { return query(event); });
}

bool CudaDevice::query(DeviceEvent event) {
  cudaError_t failure = cudaSuccess;
  const bool ready = is_ready(cudaEventQuery(event), failure);
  check(failure, "cudaEventQuery");
  return ready;
}

DeviceEvent CudaDevice::create_timed_event() {
  const DeviceScope scope(*this);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreateWithFlags");
  return event;
}

double CudaDevice::milliseconds_between(DeviceEvent begin, DeviceEvent end) {
  const DeviceScope scope(*this);
  float milliseconds = 0.0f;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds);
}

bool CudaDevice::is_page_locked(const std::byte *memory) {
  const DeviceScope scope(*this);
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return attributes.type != cudaMemoryTypeUnregistered;
}

#if HOLOFLOW_HAVE_NVTX
void CudaDevice::begin_range(const char *name) noexcept {
  nvtxRangePushA(name);
}

void CudaDevice::end_range() noexcept {
  nvtxRangePop();
}
#else
void CudaDevice::begin_range(const char *) noexcept {}
void CudaDevice::end_range() noexcept {}
#endif

void CudaDevice::copy(
    std::byte *to, core::MemLoc to_loc, const std::byte *from, core::MemLoc from_loc, size_t bytes,
    cudaStream_t stream) {
  if (bytes == 0)
    return;
  const DeviceScope scope(*this);
  check(
      cudaMemcpyAsync(to, from, bytes, copy_kind(to_loc, from_loc), or_own(stream)),
      "cudaMemcpyAsync");
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

// Calls of other threads are none of this recording's business.
void CudaDevice::begin_recording(cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

std::unique_ptr<RecordedWork> CudaDevice::end_recording(
    cudaStream_t stream, std::vector<RecordedMemory> memory) {
  cudaGraph_t graph = nullptr;
  if (const auto code = cudaStreamEndCapture(stream, &graph); code != cudaSuccess) {
    abandon_recording(stream);  // where the call itself has failed it still records
    fail(code, "cudaStreamEndCapture");
  }
  return std::make_unique<CudaRecordedWork>(*this, graph, std::move(memory));
}

void CudaDevice::abandon_recording(cudaStream_t stream) noexcept {
  cudaGraph_t graph = nullptr;
  ignore(cudaStreamEndCapture(stream, &graph));
  if (graph != nullptr)
    ignore(cudaGraphDestroy(graph));
}

int CudaDevice::current() noexcept {
  int device = 0;
  const auto code = cudaGetDevice(&device);
  ignore(code);
  return code == cudaSuccess ? device : -1;
}

// cudaSetDevice makes a context where there is none yet, so it is not called without need.
void CudaDevice::make_current(int index) noexcept {
  if (index >= 0 && index != current())
    ignore(cudaSetDevice(index));
}

}  // namespace holoflow::runtime
