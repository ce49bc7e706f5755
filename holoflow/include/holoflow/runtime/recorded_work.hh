// SPDX-License-Identifier: LGPL-2.1-or-later
// Work of a stream that is recorded once and launched again and again.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct CUstream_st;
using cudaStream_t = CUstream_st *;

namespace holoflow::runtime {

/// Memory that recorded work touches, as it lay when it was recorded.
struct RecordedMemory {
  std::byte *first = nullptr;
  size_t bytes = 0;
};

/// What a stream recorded between Device::begin_recording and end_recording. Recorded work has not
/// run. Addresses into the given memory may change from launch to launch; everything else in it is
/// fixed.
///
///   end_recording ─► [forget_noise] ─► prepare ─► launch ─► launch …
///                                        ▲ learn: the same work, recorded with memory elsewhere
///
/// Threads: the section's only. Errors: core::DeviceError names the call that failed; the work then
/// did not run, and the stream is as it was before. Destroy it when no launch is under way.
class RecordedWork {
public:
  virtual ~RecordedWork() = default;

  /// Kernels, copies and fills.
  [[nodiscard]] virtual size_t operations() const noexcept = 0;

  /// `again` was recorded with the same memory in the same places: parameter bytes that differ are
  /// left-overs that mean nothing. Returns why the two are not the same work, or "".
  [[nodiscard]] virtual std::string forget_noise(const RecordedWork &again) = 0;
  /// `moved` is the same work, recorded with some of the memory elsewhere: learns which of the
  /// parameters are addresses into it. Returns why they cannot be followed, or "".
  [[nodiscard]] virtual std::string learn(const RecordedWork &moved) = 0;
  /// Whether launch() takes these addresses: only memory that was learnt has moved, and by a
  /// multiple of 256 bytes, so that no task would have chosen another kernel for its alignment.
  [[nodiscard]] virtual bool can_follow(std::span<std::byte *const> memory) const noexcept = 0;

  /// Makes it ready to launch. May take hundreds of microseconds.
  virtual void prepare() = 0;
  /// Enqueues all of it, with memory i at memory[i]; can_follow() has said yes. Allocates nothing.
  virtual void launch(cudaStream_t stream, std::span<std::byte *const> memory) = 0;
};

}  // namespace holoflow::runtime
