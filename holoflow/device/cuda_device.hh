// SPDX-License-Identifier: LGPL-2.1-or-later
// A GPU through the CUDA runtime. Part of the CUDA module; only its sources include this.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "holoflow/runtime/device.hh"

namespace holoflow::runtime {

/// Every call makes the GPU current for itself and gives the thread its former one back, so objects
/// of several GPUs serve the same thread.
///
/// A null stream stands for a private one: record() then marks "now" and copy() returns when the
/// copy is done. Device memory is given back while other streams run: whoever frees it has waited
/// for the work that uses it.
class CudaDevice final : public Device {
public:
  /// Throws core::DeviceError where the GPU does not work. Its stream and pool are never given
  /// back: the object lives until the process ends, when the driver is gone before static objects
  /// are.
  explicit CudaDevice(int index);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int index() const noexcept override { return index_; }

  [[nodiscard]] std::byte *allocate(core::MemLoc loc, size_t bytes) override;
  void free(core::MemLoc loc, std::byte *ptr) noexcept override;

  [[nodiscard]] cudaStream_t create_stream() override;
  void destroy_stream(cudaStream_t stream) noexcept override;
  void synchronize(cudaStream_t stream) override;

  [[nodiscard]] DeviceEvent create_event() override;
  void destroy_event(DeviceEvent event) noexcept override;
  void record(DeviceEvent event, cudaStream_t stream) override;
  void wait(cudaStream_t stream, DeviceEvent event) override;
  void synchronize(DeviceEvent event) override;
  [[nodiscard]] bool query(DeviceEvent event) override;
  [[nodiscard]] DeviceEvent create_timed_event() override;
  [[nodiscard]] double milliseconds_between(DeviceEvent begin, DeviceEvent end) override;

  [[nodiscard]] bool is_page_locked(const std::byte *memory) override;
  void begin_range(const char *name) noexcept override;
  void end_range() noexcept override;

  void copy(
      std::byte *to, core::MemLoc to_loc, const std::byte *from, core::MemLoc from_loc,
      size_t bytes, cudaStream_t stream) override;

  int select() override;
  void restore(int previous) noexcept override;
  void clear_last_error() noexcept override;

  [[nodiscard]] bool can_record() const noexcept override { return true; }
  void begin_recording(cudaStream_t stream) override;
  [[nodiscard]] std::unique_ptr<RecordedWork> end_recording(
      cudaStream_t stream, std::vector<RecordedMemory> memory) override;
  void abandon_recording(cudaStream_t stream) noexcept override;

  /// Throws core::DeviceError that names the GPU and the call. The driver's codes are the
  /// runtime's.
  void check(int code, const char *call) const {
    if (code != 0)
      fail(static_cast<cudaError_t>(code), call);
  }

private:
  [[noreturn]] void fail(cudaError_t code, const std::string &call) const;
  [[nodiscard]] cudaStream_t or_own(cudaStream_t stream) const noexcept {
    return stream != nullptr ? stream : stream_;
  }
  static int current() noexcept;
  static void make_current(int index) noexcept;

  const int index_;
  std::string name_;
  cudaStream_t stream_ = nullptr;  // for allocations, and for callers without a stream
  cudaMemPool_t pool_ = nullptr;  // null where the GPU has no memory pools
};

}  // namespace holoflow::runtime
