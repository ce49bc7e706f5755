// SPDX-License-Identifier: LGPL-2.1-or-later
// The way out of the graph: one source pad with its queue and its task.
//
//   upstream's thread ── queue_event() ──► [waiting for their frame] ──┐
//   section's thread  ── on_frames()   ──► wrapped as a buffer ────────┴► [queue] ─► pad's task ─►
//
// An event that came in behind frame n leaves behind frame n. The queue holds two buffers; a
// section that is faster than downstream waits in on_frames.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "gstholoflowcaps.h"
#include "gstholoflowpointers.h"
#include "holoflow/runtime/rim.hh"

namespace holoflow::gst {

/// Threads: IFrameSink's calls come from the section, activate, flush and EOS from whoever controls
/// the pad; the task is the pad's own. No lock is held while something is pushed or posted.
class OutputPort final : public runtime::IFrameSink {
public:
  /// `on_flow`: downstream answered something else than OK; called on the pad's task.
  OutputPort(GstElement *element, std::function<void(GstFlowReturn)> on_flow);
  ~OutputPort() override;

  /// The pad that buffers leave through; before activate(true). Not owned.
  void set_pad(GstPad *pad) { pad_ = pad; }

  /// From the pad's activation.
  bool activate(bool active);

  /// `event` leaves behind the first `after_frames` frames of the run, at once without a run.
  void queue_event(EventPtr event, uint64_t after_frames);
  /// An event that does not wait for frames.
  bool push_now(EventPtr event);
  /// The same as queue_event with a CAPS event; nothing where they are the caps that left last.
  /// Buffers behind have this layout.
  void queue_caps(CapsPtr caps, const OutputLayout &layout, uint64_t after_frames);
  /// Ends the stream behind everything that the run still brings, at once without a run.
  void queue_eos(EventPtr event);

  /// A run begins: frames count from 0.
  void begin_run();
  /// The run is over: what waits leaves. `failed`: with EOS in any case.
  void end_run(bool failed);

  /// Makes on_frames and the task stop waiting and sends the event on. Never waits for frames.
  void flush_start(EventPtr event);
  /// Forgets buffers, keeps sticky events but segments, and starts anew. No run may be active.
  void flush_stop(EventPtr event);

  /// What downstream answered last; FLUSHING while flushing or inactive.
  [[nodiscard]] GstFlowReturn flow() const;
  /// The pad was linked or its peer wants another allocation.
  void reconfigure();
  /// Buffers since reset_count: those that left, those given up by flushes, stops and downstream's
  /// end, those still here.
  struct Counts {
    uint64_t out, dropped, held;
  };
  [[nodiscard]] Counts counts() const;
  void reset_count();
  [[nodiscard]] CapsPtr current_caps() const;

  core::OpResult on_frames(runtime::OutputFrames &&frames) override;
  void on_end(bool eof) override;
  void interrupt() noexcept override;
  std::chrono::nanoseconds take_waiting_time() override { return timed_.take(); }

private:
  // A buffer or an event; a CAPS event brings the layout of what follows.
  struct Item {
    BufferPtr buffer;
    EventPtr event;
    std::shared_ptr<const OutputLayout> layout = {};  // shared by the queue and the task
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
  void answer(GstFlowReturn flow);
  [[nodiscard]] bool takes_video_meta();

  // With the lock.
  void wait_for_frame(Item item, uint64_t after_frames);
  void release_waiting(uint64_t frames_out);
  void release_all();
  void append(Item item);
  void drop_queued();
  void append_eos(EventPtr event);
  void restart_stream();
  [[nodiscard]] std::deque<Item> take_sticky();

  GstElement *const element_;
  const std::function<void(GstFlowReturn)> on_flow_;
  GstPad *pad_ = nullptr;

  runtime::TimedWait timed_;  // the section's
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::deque<Item> queue_;
  size_t queued_buffers_ = 0;
  std::deque<Waiting> waiting_;
  EventPtr eos_;  // upstream's, until it is queued
  bool running_ = false;  // between begin_run and end_run
  bool drained_ = false;  // the Output has handed out everything
  bool interrupted_ = false;
  bool active_ = false;
  bool flushing_ = false;
  bool eos_received_ = false;  // upstream learns nothing of later errors
  GstFlowReturn flow_ = GST_FLOW_OK;
  uint64_t frames_out_ = 0;  // of this run: highest sequence number that left plus one
  uint64_t buffers_out_ = 0;
  uint64_t buffers_dropped_ = 0;
  bool pushing_ = false;  // the task has a buffer in hand
  CapsPtr caps_;  // queued last
  std::shared_ptr<const OutputLayout> layout_;  // of frames that on_frames brings
  bool ask_again_ = false;  // allocation is to be negotiated anew
  bool eos_sent_ = false;  // nothing leaves behind it

  // The task's own.
  std::shared_ptr<const OutputLayout> pushed_layout_;
  CapsPtr pushed_caps_;
  std::optional<bool> video_meta_;  // nothing: not asked yet
};

}  // namespace holoflow::gst
