// SPDX-License-Identifier: LGPL-2.1-or-later
// The task behind Input nodes: a bounded queue of pushed frames and the tensor that each iteration
// takes from it.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "holoflow/core/tasks.hh"
#include "holoflow/device/hand_over.hh"
#include "holoflow/runtime/device.hh"
#include "holoflow/runtime/rim.hh"

namespace holoflow::tasks {

/// Something pushed and not given back yet. Calls release exactly once, at the latest when it dies.
class PushedFrames {
public:
  PushedFrames() = default;
  explicit PushedFrames(runtime::InputFrames &&frames);
  PushedFrames(const PushedFrames &) = delete;
  PushedFrames &operator=(const PushedFrames &) = delete;
  ~PushedFrames();

  /// Exchanged rather than moved, and given back rather than destroyed: what has been allocated for
  /// shapes and records goes round.
  void swap(PushedFrames &other) noexcept;
  void give_back() noexcept;

  runtime::InputFrames frames;
  size_t count = 0;  ///< frames in it
  size_t taken = 0;  ///< frames already copied out
  uint64_t first_sequence = 0;  ///< sequence number of its first frame

private:
  bool held_ = false;
};

/// Frames wait in a queue of two pushes. An iteration takes one tensor of frame_count(tensor)
/// frames:
///
///   owns its output    one push that is a whole packed tensor   → its memory is published
///   (borrowed)
///                      anything else                            → copied into the task's own slot
///   yielded its output                                          → copied into the owner's memory
///
/// Where a GPU may read the memory, release_output only marks the section's stream: a push is given
/// back, and an own slot used again, once that mark has fired. execute looks for fired marks, and
/// waits for all of them before it sleeps for a frame, so that an application whose buffers are all
/// here gets them back. Pageable memory is copied into an own slot, which is page-locked.
///
/// Loans are numbered: returned_ ≤ released_ ≤ given_.
///   [released_, given_)     the graph reads them, several at once where the section runs ahead
///   [returned_, released_)  the device may still read them
///
/// Threads: push and end on the application's, execute and release_output on the section's,
/// interrupt on any. begin_run before the section runs.
class InputTask final : public core::ISyncTask,
                        public runtime::IFrameInput,
                        public runtime::IRunObserver,
                        public runtime::ILedgerSource {
public:
  InputTask(
      core::TDesc tensor, bool owns_output, runtime::Device &device, cudaStream_t stream = nullptr);
  ~InputTask() override;

  core::OpResult execute(core::SyncCtx &ctx) override;
  bool ready() const noexcept override;
  void release_output(int index) override;
  void interrupt() noexcept override;

  /// Throws std::invalid_argument where the frames do not fit the tensor; they are given back then.
  PushResult push(runtime::InputFrames &&frames) override;
  void end() override;
  const core::TDesc &tensor() const override { return tensor_; }
  uint64_t frames_entered() const override { return entered_; }

  void begin_run() override;
  /// Frames are numbered on.
  void continue_run() override;
  void end_of_section(bool eof) override;
  runtime::NodeLedgerView ledger_view() const override;

  /// Own slots beside a GPU, unless more tensors are under way at once: one is read while the next
  /// is filled.
  static constexpr size_t enough_slots = 3;

private:
  static constexpr size_t no_slot = SIZE_MAX;
  struct Loan {
    PushedFrames borrowed;
    size_t slot = no_slot;  // of slots_, where the frames were copied
    runtime::StreamPosition read = {};
  };

  void check(PushedFrames &pushed) const;
  core::OpResult take_next(std::atomic<bool> *cancelled);
  const std::byte *borrowable() const;
  size_t take_slot();
  Loan &lend(const std::byte *memory, size_t slot);
  void return_oldest(bool wait);
  void return_finished();
  void return_all();
  void return_everything();
  void copy_frames(size_t count, std::byte *to) const;
  void write_records(size_t count, std::span<core::FrameRecord> records) const;
  void drop_queue();

  const core::TDesc tensor_;
  const size_t tensor_frames_;
  const size_t frame_bytes_;
  const bool owns_output_;
  runtime::Device &device_;

  const std::shared_ptr<runtime::StreamMarks> marks_;  // with the section and its other tasks

  // Section's thread only.
  PushedFrames current_;  // being copied out; count 0 where there is none
  std::vector<Loan> loans_;  // a ring
  uint64_t given_ = 0, released_ = 0, returned_ = 0;
  std::vector<runtime::MemoryBlock> slots_;  // for copies, allocated when they are needed
  std::vector<size_t> free_slots_;

  mutable std::mutex mutex_;  // guards what follows; never held while a release callback runs
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::array<PushedFrames, 2> queue_;
  size_t first_ = 0;  // index of the oldest push
  size_t queued_ = 0;  // pushes in the queue
  size_t queued_frames_ = 0;
  bool ended_ = false;  // end() was called
  bool interrupted_ = false;  // the run is being stopped
  bool closed_ = false;  // the section has ended

  std::atomic<uint64_t> entered_ = 0;
  std::atomic<uint64_t> left_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
};

}  // namespace holoflow::tasks
