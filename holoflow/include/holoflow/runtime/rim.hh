// SPDX-License-Identifier: LGPL-2.1-or-later
// The rims of a graph: how frames get into Input nodes and out of Output nodes. The tasks Input and
// Output implement these interfaces; GraphRunner and holoflowbin use them.
//
//   application thread ── push() ──► [bounded queue] ──► Input::execute (section thread)
//   section thread: Output::execute ── IFrameSink::on_frames() ──► application
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "holoflow/core/tasks.hh"

namespace holoflow::runtime {

/// Picture memory as media frameworks hand it out: planes with strides. Host memory.
struct Picture {
  struct Plane {
    const std::byte *data = nullptr;
    size_t stride = 0;  ///< bytes from row to row
  };
  std::string format;  ///< GStreamer's name: GRAY8, GRAY16_LE, RGB, BGRx, NV12, I420, …
  size_t width = 0;
  size_t height = 0;
  std::array<Plane, 4> planes = {};
};

/// Something pushed into an Input: either a picture, or a tensor in Host memory that holds one or
/// more whole frames. The memory stays valid until `release` is called, exactly once, from any
/// thread, also where the push fails or the run is stopped.
struct InputFrames {
  Picture picture = {};  ///< used where picture.format is not empty
  const std::byte *data = nullptr;  ///< else the first element of `desc`
  core::TDesc desc = {};  ///< may be strided
  std::vector<core::FrameRecord> records;  ///< one per frame; sequence numbers are set by the Input
  std::function<void()> release;  ///< may be empty
};

/// The application's side of an Input task. push and end belong to one thread at a time.
class IFrameInput {
public:
  virtual ~IFrameInput() = default;

  enum class PushResult {
    Ok,  ///< taken; release is or will be called
    Stopped,  ///< the run is stopped or was interrupted; released unread
    Closed,  ///< nobody downstream takes frames any more (or end() was called); released unread
  };

  /// Waits while the queue is full. `frames` keeps what it had allocated for desc and records or
  /// gets as much back, so that a caller who fills it again allocates nothing.
  [[nodiscard]] virtual PushResult push(InputFrames &&frames) = 0;
  /// No more frames in this run: execute() answers Eof once the queue is empty; a partly filled
  /// batch is padded before.
  virtual void end() = 0;
  /// The tensor that one iteration takes.
  [[nodiscard]] virtual const core::TDesc &tensor() const = 0;
  /// Frames taken by push so far in this run: the next frame gets this sequence number.
  [[nodiscard]] virtual uint64_t frames_entered() const = 0;
};

/// What leaves an Output: a packed tensor in Host memory. Data and records are lent until `release`
/// is called (exactly once, any thread, also after the graph is gone).
struct OutputFrames {
  std::shared_ptr<const core::TDesc> desc;  ///< shared, so that no frame costs an allocation
  std::byte *data = nullptr;
  std::span<const core::FrameRecord> records;
  std::function<void()> release;
};

/// Waits for a condition and remembers for how long; looks at no clock where nothing has to be
/// waited for.
///
/// Threads: one.
class TimedWait {
public:
  template <typename Condition>
  void wait(
      std::condition_variable &variable, std::unique_lock<std::mutex> &lock, Condition condition) {
    if (condition())
      return;
    const auto begin = std::chrono::steady_clock::now();
    variable.wait(lock, condition);
    waited_ += std::chrono::steady_clock::now() - begin;
  }
  /// Since it was asked last.
  [[nodiscard]] std::chrono::nanoseconds take() { return std::exchange(waited_, {}); }

private:
  std::chrono::nanoseconds waited_{0};
};

/// The application's side of an Output task. All calls come from the section's thread.
class IFrameSink {
public:
  virtual ~IFrameSink() = default;
  /// Takes the frames over. May wait (back-pressure); must return soon after interrupt(). Eof:
  /// wants no more, the section ends. Cancelled: the run is being stopped.
  [[nodiscard]] virtual core::OpResult on_frames(OutputFrames &&frames) = 0;
  /// The section ended: `eof` true when every frame that could come has come, false when the run
  /// was stopped or failed. Called once a run.
  virtual void on_end(bool eof) = 0;
  /// Any thread: make a waiting on_frames return Cancelled.
  virtual void interrupt() noexcept = 0;
  /// How long on_frames has waited for room since this was asked last.
  [[nodiscard]] virtual std::chrono::nanoseconds take_waiting_time() { return {}; }
};

class IFrameOutput {
public:
  virtual ~IFrameOutput() = default;
  /// Before start(); the sink must outlive the run. Without a sink frames are counted and dropped.
  virtual void set_sink(IFrameSink *sink) = 0;
  [[nodiscard]] virtual const core::TDesc &tensor() const = 0;
  /// Records of one iteration, fixed at compile time.
  [[nodiscard]] virtual size_t record_count() const = 0;
  /// Before start(): whether a tensor with one record per frame leaves as that many OutputFrames of
  /// one frame each (the default), or as one with all records.
  virtual void set_split(bool split) { (void)split; }
  /// How long execute has waited for the sink since this was asked last. The section's thread.
  [[nodiscard]] virtual std::chrono::nanoseconds take_waiting_time() { return {}; }
};

/// Tasks that want to know when their section has ended: on its thread, after its last iteration;
/// synchronous tasks only. `eof` is false where the run was stopped or failed.
/// An asynchronous task that implements this promises that its NotReady and nullopt change only
/// with a push, a pop, a release, end_of_input() or the time of ready_at(), so that no one polls
/// it.
class IRunObserver {
public:
  virtual ~IRunObserver() = default;
  virtual void end_of_section(bool eof) { (void)eof; }
};

/// Tasks that lend memory for an owned input without making a view of it: what acquire_input does,
/// cheaper. False: there is none now.
class IInputLender {
public:
  virtual ~IInputLender() = default;
  [[nodiscard]] virtual bool lend_input(int index) = 0;
};

/// Plain numbers; the scheduler turns them into a NodeLedger.
struct NodeLedgerView {
  uint64_t entered = 0, left = 0, dropped = 0, skipped = 0, failed = 0, held = 0;
  std::string dropped_reason = {};
  uint64_t overflowed = 0;  ///< dropped too, because a queue was full: the reason "queue-full"
  std::optional<uint64_t> awaited = {};  ///< as in NodeLedger
};

/// Tasks that count frames for the ledger. Any thread.
class ILedgerSource {
public:
  virtual ~ILedgerSource() = default;
  [[nodiscard]] virtual NodeLedgerView ledger_view() const = 0;
};

}  // namespace holoflow::runtime
