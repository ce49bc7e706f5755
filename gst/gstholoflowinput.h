// SPDX-License-Identifier: LGPL-2.1-or-later
// The way into the graph: one sink pad. Buffers become frames, events take their place between
// them.
#pragma once

#include <optional>
#include <string>

#include "gstholoflowsession.h"

namespace holoflow::gst {

/// Threads: events and buffers of the pad come one at a time, with its stream lock; FLUSH_START,
/// activation and questions on any thread.
class InputPort {
public:
  InputPort(Session &session, GstPad *pad, PortNode node);
  InputPort(const InputPort &) = delete;
  InputPort &operator=(const InputPort &) = delete;

  [[nodiscard]] GstPad *pad() const { return pad_; }
  [[nodiscard]] const PortNode &node() const { return node_; }

  GstFlowReturn handle_buffer(BufferPtr buffer);
  /// FLUSHING where a flush or a stop came first: upstream must not take that for a refusal.
  GstFlowReturn handle_event(EventPtr event);
  /// Lets out what is inside, then asks downstream.
  bool handle_drain(GstQuery *query);
  /// Whether the graph takes these caps; posts an error that says why not, once for the same caps.
  /// The streaming thread's.
  bool judge_caps(GstCaps *caps);
  void set_active(bool active);
  /// Whether the bin's pad for it is linked.
  [[nodiscard]] bool is_linked() const;
  /// From PAUSED to READY: forgets the stream.
  void reset();

  /// What the session knows of the port; its mutex guards it.
  struct Shared {
    enum class Pad { Inactive, Active, Flushing };
    Pad pad = Pad::Inactive;
    bool ended = false;  ///< EOS came, and the run that it ended may still be under way
    /// Its caps: taken by the graph, or waiting for those of other inputs.
    std::optional<InputStream> stream;
    std::optional<guint32> awaited_flush;  ///< the seek that is to bring it
  } shared;

private:
  GstFlowReturn handle_caps(GstCaps *caps);
  void queue_serialized(EventPtr event);
  void queue_gap(EventPtr event);
  GstFlowReturn push(BufferPtr buffer);
  void drop(const std::string &why, GstClockTime timestamp, GstClockTime duration);

  Session &session_;
  GstPad *const pad_;  // of the port that owns this
  const PortNode node_;

  // The streaming thread's, and reset().
  CapsPtr caps_;
  CapsPtr refused_caps_;
  std::shared_ptr<Graph> graph_;  // that rim_ belongs to
  runtime::IFrameInput *rim_ = nullptr;
  GstSegment segment_;
  GstClockTime gap_time_ = 0;  // since frames began to wait for others
  uint64_t gap_after_ = 0;  // so many frames
  guint64 dropped_ = 0;
  bool warned_of_drop_ = false;
  bool lost_ = false;  // the next frame comes behind one that was dropped
};

}  // namespace holoflow::gst
