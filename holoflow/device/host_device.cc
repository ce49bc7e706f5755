// SPDX-License-Identifier: LGPL-2.1-or-later
// The CPU as a device: plain memory, no streams, everything has already happened.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "holoflow/core/error.hh"
#include "holoflow/runtime/device.hh"

namespace holoflow::runtime {

namespace {

constexpr size_t alignment = 256;

class HostDevice final : public Device {
public:
  [[nodiscard]] std::string name() const override { return "CPU"; }
  [[nodiscard]] int index() const noexcept override { return -1; }

  [[nodiscard]] std::byte *allocate(core::MemLoc loc, size_t bytes) override {
    if (loc != core::MemLoc::Host)
      throw core::DeviceError(
          "CPU: expected Host memory to be asked for, got Device memory of " +
          std::to_string(bytes) + " bytes; run the graph on a GPU");
    // aligned_alloc wants a multiple of the alignment; 0 bytes take a block too. No object is
    // larger than PTRDIFF_MAX, and sanitizers end the program that asks for one.
    void *ptr = nullptr;
    if (bytes < static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max()) - alignment)
      ptr = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
    if (ptr == nullptr)
      throw core::DeviceError(
          "CPU: no memory for " + std::to_string(bytes) + " bytes", core::Reason::OutOfMemory);
    return static_cast<std::byte *>(ptr);
  }
  void free(core::MemLoc, std::byte *ptr) noexcept override { std::free(ptr); }

  [[nodiscard]] cudaStream_t create_stream() override { return nullptr; }
  void destroy_stream(cudaStream_t) noexcept override {}
  void synchronize(cudaStream_t) override {}

  [[nodiscard]] DeviceEvent create_event() override { return nullptr; }
  void destroy_event(DeviceEvent) noexcept override {}
  void record(DeviceEvent, cudaStream_t) override {}
  void wait(cudaStream_t, DeviceEvent) override {}
  void synchronize(DeviceEvent) override {}
  [[nodiscard]] bool query(DeviceEvent) override { return true; }

  void copy(
      std::byte *to, core::MemLoc to_loc, const std::byte *from, core::MemLoc from_loc,
      size_t bytes, cudaStream_t) override {
    if (to_loc != core::MemLoc::Host || from_loc != core::MemLoc::Host)
      throw core::DeviceError(
          "CPU: expected a copy from Host to Host, got one from " +
          std::string(core::to_string(from_loc)) + " to " + std::string(core::to_string(to_loc)));
    // memmove: a ring may shift its contents within one block.
    if (bytes != 0)
      std::memmove(to, from, bytes);
  }

  int select() override { return -1; }
  void restore(int) noexcept override {}
  void clear_last_error() noexcept override {}
};

}  // namespace

Device &host_device() {
  static HostDevice device;
  return device;
}

}  // namespace holoflow::runtime
