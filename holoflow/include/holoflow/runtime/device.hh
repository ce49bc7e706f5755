// SPDX-License-Identifier: LGPL-2.1-or-later
// The seam to a device: memory, streams and events. The only way in which compiler and scheduler
// touch a GPU; on the CPU streams and events are null and every operation has already happened.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "holoflow/core/registry.hh"
#include "holoflow/runtime/recorded_work.hh"

struct CUevent_st;

namespace holoflow::runtime {

using DeviceEvent = CUevent_st *;

/// One device (or the CPU). Lives as long as the process; safe from any thread. Failed calls throw
/// core::DeviceError, except where noexcept says otherwise.
class Device {
public:
  virtual ~Device() = default;

  /// "CPU", or the GPU's product name.
  [[nodiscard]] virtual std::string name() const = 0;
  /// CUDA ordinal, -1 for the CPU.
  [[nodiscard]] virtual int index() const noexcept = 0;
  [[nodiscard]] bool is_gpu() const noexcept { return index() >= 0; }

  /// At least 256-byte aligned. Host memory is page-locked where the device is a GPU. 0 bytes give
  /// a valid unique pointer too.
  [[nodiscard]] virtual std::byte *allocate(core::MemLoc loc, size_t bytes) = 0;
  virtual void free(core::MemLoc loc, std::byte *ptr) noexcept = 0;

  /// A stream that does not wait for the legacy default stream.
  [[nodiscard]] virtual cudaStream_t create_stream() = 0;
  virtual void destroy_stream(cudaStream_t stream) noexcept = 0;
  /// Waits until everything enqueued before has finished.
  virtual void synchronize(cudaStream_t stream) = 0;

  [[nodiscard]] virtual DeviceEvent create_event() = 0;
  virtual void destroy_event(DeviceEvent event) noexcept = 0;
  virtual void record(DeviceEvent event, cudaStream_t stream) = 0;
  /// Later work of the stream waits for the event; the caller does not.
  virtual void wait(cudaStream_t stream, DeviceEvent event) = 0;
  /// The caller waits (without spinning) until the recorded work has finished.
  virtual void synchronize(DeviceEvent event) = 0;
  /// Whether the recorded work has finished.
  [[nodiscard]] virtual bool query(DeviceEvent event) = 0;

  /// As create_event, for milliseconds_between.
  [[nodiscard]] virtual DeviceEvent create_timed_event() { return create_event(); }
  /// Time between two finished records of timed events, 0 where the device measures none.
  [[nodiscard]] virtual double milliseconds_between(DeviceEvent begin, DeviceEvent end) {
    (void)begin, (void)end;
    return 0.0;
  }

  /// Whether copies from this Host memory overlap with what the host does. Never throws for memory
  /// that the device knows nothing of.
  [[nodiscard]] virtual bool is_page_locked(const std::byte *memory) {
    (void)memory;
    return true;
  }

  /// Names what the calling thread does for the device vendor's profiler. Nested; cheap where no
  /// profiler listens.
  virtual void begin_range(const char *name) noexcept { (void)name; }
  virtual void end_range() noexcept {}

  /// Copies `bytes` in stream order, between any two locations.
  virtual void copy(
      std::byte *to, core::MemLoc to_loc, const std::byte *from, core::MemLoc from_loc,
      size_t bytes, cudaStream_t stream) = 0;

  /// Whether the device can record work; otherwise begin_recording is not called.
  [[nodiscard]] virtual bool can_record() const noexcept { return false; }
  /// What the calling thread enqueues on the stream from now on is recorded instead of run. Events
  /// must not be recorded or waited for until the recording ends.
  virtual void begin_recording(cudaStream_t stream) { (void)stream; }
  /// Ends the recording; addresses into `memory` may differ when the work is launched. Where it
  /// throws, the stream records no more, and nothing of what was recorded has run.
  [[nodiscard]] virtual std::unique_ptr<RecordedWork> end_recording(
      cudaStream_t stream, std::vector<RecordedMemory> memory) {
    (void)stream, (void)memory;
    return nullptr;
  }
  /// Ends the recording and throws it away.
  virtual void abandon_recording(cudaStream_t stream) noexcept { (void)stream; }

  /// Makes the device current on the calling thread and returns what was current before.
  virtual int select() = 0;
  /// Gives the calling thread its former device back.
  virtual void restore(int previous) noexcept = 0;
  /// Forgets the runtime's last recoverable error.
  virtual void clear_last_error() noexcept = 0;
};

/// The CPU.
[[nodiscard]] Device &host_device();

/// The GPU with that CUDA ordinal, -1 for the first. Loads the CUDA module on the first call.
/// Throws core::DeviceError that names what is missing: the module, the driver or the GPU.
[[nodiscard]] Device &cuda_device(int index = -1);

/// Adds the GPU implementations of the CUDA module to the types in the registry, once for each
/// registry. Throws as cuda_device does.
void register_cuda_tasks(core::Registry &registry);

/// Selects a device for a scope.
class DeviceScope {
public:
  explicit DeviceScope(Device &device) : device_(device), previous_(device.select()) {}
  ~DeviceScope() { device_.restore(previous_); }
  DeviceScope(const DeviceScope &) = delete;
  DeviceScope &operator=(const DeviceScope &) = delete;

private:
  Device &device_;
  int previous_;
};

/// Owns memory of a device; frees it on destruction.
class MemoryBlock {
public:
  MemoryBlock() = default;
  MemoryBlock(Device &device, core::MemLoc loc, size_t bytes)
      : device_(&device), loc_(loc), bytes_(bytes), ptr_(device.allocate(loc, bytes)) {}
  MemoryBlock(MemoryBlock &&other) noexcept { swap(other); }
  MemoryBlock &operator=(MemoryBlock &&other) noexcept {
    MemoryBlock(std::move(other)).swap(*this);
    return *this;
  }
  ~MemoryBlock() {
    if (ptr_ != nullptr)
      device_->free(loc_, ptr_);
  }

  [[nodiscard]] std::byte *get() const noexcept { return ptr_; }
  [[nodiscard]] core::MemLoc mem_loc() const noexcept { return loc_; }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Device *device() const noexcept { return device_; }

private:
  void swap(MemoryBlock &other) noexcept {
    std::swap(device_, other.device_);
    std::swap(loc_, other.loc_);
    std::swap(bytes_, other.bytes_);
    std::swap(ptr_, other.ptr_);
  }

  Device *device_ = nullptr;
  core::MemLoc loc_ = core::MemLoc::Host;
  size_t bytes_ = 0;
  std::byte *ptr_ = nullptr;
};

/// Owns a stream, null on the CPU.
class Stream {
public:
  Stream() = default;
  explicit Stream(Device &device) : device_(&device), stream_(device.create_stream()) {}
  Stream(Stream &&other) noexcept { swap(other); }
  Stream &operator=(Stream &&other) noexcept {
    Stream(std::move(other)).swap(*this);
    return *this;
  }
  ~Stream() {
    if (stream_ != nullptr)
      device_->destroy_stream(stream_);
  }

  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }
  [[nodiscard]] Device *device() const noexcept { return device_; }

private:
  void swap(Stream &other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
  }

  Device *device_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

/// Owns an event, null on the CPU.
class Event {
public:
  enum class Kind { Ordering, Timed };

  Event() = default;
  explicit Event(Device &device, Kind kind = Kind::Ordering)
      : device_(&device),
        event_(kind == Kind::Timed ? device.create_timed_event() : device.create_event()) {}
  Event(Event &&other) noexcept { swap(other); }
  Event &operator=(Event &&other) noexcept {
    Event(std::move(other)).swap(*this);
    return *this;
  }
  ~Event() {
    if (event_ != nullptr)
      device_->destroy_event(event_);
  }

  [[nodiscard]] DeviceEvent get() const noexcept { return event_; }

private:
  void swap(Event &other) noexcept {
    std::swap(device_, other.device_);
    std::swap(event_, other.event_);
  }

  Device *device_ = nullptr;
  DeviceEvent event_ = nullptr;
};

}  // namespace holoflow::runtime
