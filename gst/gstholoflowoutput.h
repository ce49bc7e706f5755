// SPDX-License-Identifier: LGPL-2.1-or-later
// The way out of the graph: one source pad with its queue and its task.
//
//   inputs' threads  ── queue_event() ──► [waiting for their frame] ──┐
//   section's thread ── on_frames()   ──► wrapped as a buffer ────────┴► [queue] ─► pad's task ─►
//
// An event that came in behind frame n leaves behind frame n. The queue holds two buffers; a
// section that is faster than downstream waits in on_frames.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "gstholoflowcaps.h"
#include "gstholoflowledger.h"
#include "gstholoflowpointers.h"
#include "holoflow/runtime/rim.hh"

namespace holoflow::gst {

/// Threads: IFrameSink's calls come from the section, activate, flush and EOS from whoever controls
/// the pads; the task is the pad's own. No lock is held while something is pushed or posted.
class OutputPort final : public runtime::IFrameSink {
public:
  /// `on_flow`: downstream answered something else than OK; called on the pad's task.
  OutputPort(GstElement *element, GstPad *pad, std::string node, std::function<void()> on_flow);
  ~OutputPort() override;

  [[nodiscard]] const std::string &node() const { return node_; }
  [[nodiscard]] GstPad *pad() const { return pad_; }

  /// From the pad's activation.
  bool activate(bool active);
  /// From PAUSED to READY: forgets the stream. The pad is inactive.
  void reset();

  /// `event` leaves behind the first `after_frames` frames of the run, at once without a run.
  void queue_event(EventPtr event, uint64_t after_frames);
  /// An event that does not wait for frames.
  bool push_now(EventPtr event);
  /// The same as queue_event with a CAPS event; nothing where they are the caps that left last.
  /// Buffers behind have this layout.
  void queue_caps(CapsPtr caps, const OutputLayout &layout, uint64_t after_frames);
  /// Ends the stream behind everything that the run still brings, at once without a run. Of several
  /// before the end the last one counts.
  void queue_eos(EventPtr event);

  /// A run begins, or goes on with the frames of the one before. `departed`: where its frames are
  /// counted when they have left, null for nowhere.
  void begin_run(std::shared_ptr<DepartedFrames> departed, bool goes_on);
  /// The run comes to its end, and the stream does not: an EOS that another input brought waits.
  void begin_drain();
  /// The run is over: what waits leaves. `failed`: with EOS in any case.
  void end_run(bool failed);
  /// Nobody wants anything any more: the section that brings frames ends.
  void close();
  /// Whether the run may bring more.
  [[nodiscard]] bool expects_frames() const;

  /// Makes on_frames and the task stop waiting and sends the event on. Never waits for frames.
  void flush_start(EventPtr event);
  /// Forgets buffers, keeps sticky events but segments, and starts anew. No run may be active.
  /// Without an event where an input was deactivated.
  void flush_stop(EventPtr event);
  /// Like a flush that nobody is told of: on_frames stops waiting.
  void interrupt_flow();

  /// Waits until everything that was queued has been pushed; false where that was interrupted.
  bool wait_until_pushed();

  [[nodiscard]] bool is_active() const;
  /// What downstream answered last; FLUSHING while flushing or inactive.
  [[nodiscard]] GstFlowReturn flow() const;
  /// The pad was linked or its peer wants another allocation.
  void reconfigure();
  [[nodiscard]] CapsPtr current_caps() const;

  core::OpResult on_frames(runtime::OutputFrames &&frames) override;
  void on_end(bool eof) override;
  void interrupt() noexcept override;
  std::chrono::nanoseconds take_waiting_time() override { return timed_.take(); }

private:
  enum class Pad { Inactive, Active, Flushing };
  enum class Run {
    None,
    Running,
    Draining,  ///< everything comes out, and no end of the stream
    Interrupted,  ///< it is being stopped
    Drained,  ///< the Output has handed out everything, others may still run
  };
  enum class End {
    Open,
    Received,  ///< upstream learns nothing of later errors
    Sent,  ///< nothing leaves behind it
  };

  struct Span {
    uint64_t first = 0, end = 0;
  };
  // A buffer or an event; a CAPS event brings the layout of what follows.
  struct Item {
    BufferPtr buffer;
    EventPtr event;
    std::shared_ptr<const OutputLayout> layout = {};  // shared by the queue and the task
    Span frames = {};  // of a buffer: those that left with none before it
    std::shared_ptr<DepartedFrames> departed = {};  // where they are counted, with its run
  };
  struct Waiting {
    Item item;
    uint64_t after_frames;
  };

  static void run_task(gpointer self);
  void push_next();
  /// Whether downstream took it.
  bool push_buffer(BufferPtr buffer);
  void push_event(Item item);
  void answer(GstFlowReturn flow, uint64_t life);
  [[nodiscard]] bool takes_video_meta();
  static void count(const Item &item, bool left);

  // With the lock.
  [[nodiscard]] bool takes_frames() const {
    return pad_state_ == Pad::Active && layout_ != nullptr &&
        (run_ == Run::Running || run_ == Run::Draining);
  }
  [[nodiscard]] bool waits_for_frames() const {
    return run_ == Run::Running || run_ == Run::Draining || run_ == Run::Interrupted;
  }
  void wait_for_frame(Item item, uint64_t after_frames);
  void release_waiting(uint64_t frames_out);
  void release_all();
  void append(Item item);
  static std::optional<Span> span_of(std::span<const core::FrameRecord> records);
  void append_frames(Item item, const std::optional<Span> &span);
  void drop_queued();
  void append_eos(EventPtr event);
  void restart_stream();
  void begin_life();
  [[nodiscard]] std::deque<Item> take_sticky();

  GstElement *const element_;
  GstPad *const pad_;  // of the port that owns this
  const std::string node_;
  const std::function<void()> on_flow_;

  runtime::TimedWait timed_;  // the section's
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::condition_variable pushed_;
  std::deque<Item> queue_;
  size_t queued_buffers_ = 0;
  std::deque<Waiting> waiting_;
  EventPtr eos_;  // upstream's, until it is queued
  Pad pad_state_ = Pad::Inactive;
  Run run_ = Run::None;
  End end_ = End::Open;
  uint64_t life_ = 0;  // since the last flush or activation
  GstFlowReturn flow_ = GST_FLOW_OK;
  bool closed_ = false;  // frames would be thrown away
  bool in_hand_ = false;  // the task has something that it took from the queue
  std::thread::id task_;  // its thread
  bool ask_again_ = false;  // allocation is to be negotiated anew
  uint64_t frames_out_ = 0;  // of this run: highest sequence number that was queued plus one
  uint64_t run_number_ = 0;
  std::shared_ptr<DepartedFrames> departed_;  // with the session, and buffers that wait
  CapsPtr caps_;  // queued last
  std::shared_ptr<const OutputLayout> layout_;  // of frames that on_frames brings

  // The task's own.
  std::shared_ptr<const OutputLayout> pushed_layout_;
  CapsPtr pushed_caps_;
  std::optional<bool> video_meta_;  // nothing: not asked yet
};

}  // namespace holoflow::gst
