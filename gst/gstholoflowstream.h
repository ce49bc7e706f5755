// SPDX-License-Identifier: LGPL-2.1-or-later
// The running graph behind one sink pad and one source pad.
//
//   stopped ── start() ──► idle ── CAPS ──► compiled ── buffer ──► running
//      ▲                                       ▲                      │
//      │                                       └─ EOS, flush, failure ┘
//      └─ halt(), then stop(), from anywhere
//
// A run is one life of the scheduler's threads: it begins with the first buffer, drains at EOS and
// where the graph is compiled anew, and is thrown away by a flush or a stop.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "gstholoflowmodel.h"
#include "gstholoflowoutput.h"
#include "gstholoflowtrace.h"
#include "holoflow/runtime/graph_exec.hh"

namespace holoflow::gst {

/// Threads: the events and buffers of one pad come one at a time, with its stream lock;
/// flush_start, halt and the questions may come on any thread. start and stop belong to state
/// changes, stop after the pads were deactivated. Errors: each failure posts one message on the
/// bus; nothing throws.
class Stream {
public:
  explicit Stream(GstElement *element);
  ~Stream();

  /// While stopped.
  void set_pads(GstPad *sink, GstPad *src);
  /// The graph for compiles to come. While running it takes effect before the next buffer.
  void set_model(std::shared_ptr<const GraphModel> model);

  void start();
  /// Wakes everything that waits and makes calls to come return FLUSHING. Does not wait.
  void halt();
  /// Waits for the run, which halt() has ended, and frees the graph.
  void stop();

  [[nodiscard]] bool is_started() const;

  /// Whether the graph takes these caps; posts an error that says why not, once for the same caps.
  bool judge_caps(GstCaps *caps);
  bool handle_event(EventPtr event);
  GstFlowReturn handle_buffer(BufferPtr buffer);

  [[nodiscard]] OutputPort &output() { return output_; }
  /// Frames by which a live stream is delayed, and that the graph can hold, as time; nothing while
  /// no frame duration is known.
  struct Delay {
    GstClockTime least = 0;
    GstClockTime most = 0;
    friend bool operator==(const Delay &, const Delay &) = default;
  };
  [[nodiscard]] std::optional<Delay> delay() const;
  [[nodiscard]] StructurePtr stats() const;
  /// True once for each start: whether a failed negotiation is worth a message.
  [[nodiscard]] bool first_explanation();

private:
  // One compiled graph with its scheduler.
  struct Run {
    std::unique_ptr<runtime::CompilerOutput> compiled;
    std::unique_ptr<runtime::Scheduler> scheduler;  // refers to compiled
    runtime::IFrameInput *input = nullptr;  // a task in compiled
    InputStream stream;  // what was compiled for
    std::shared_ptr<const GraphModel> model;
    bool started = false;  // and its trace not kept yet
  };
  // Frames; of runs that are over, but for `held`.
  struct Totals {
    uint64_t entered = 0, dropped = 0, failed = 0, held = 0;
  };

  bool handle_caps(GstCaps *caps);
  bool compile(const InputStream &stream, const std::string &caps);
  std::unique_ptr<Run> build(const InputStream &stream, std::shared_ptr<const GraphModel> model);
  void announce(const Run &run, const InputStream &stream, uint64_t after_frames);
  void say_device(const runtime::CompileReport &report);
  void post_warnings(const runtime::CompileReport &report);
  void update_graph();
  void announce_latency();

  bool begin_flush(EventPtr event);
  bool end_flush(EventPtr event);
  bool end_stream(EventPtr event);

  GstFlowReturn state_flow() const;
  GstFlowReturn why_closed();
  bool ensure_running();
  void drain();
  void end_run();
  void discard_run();
  void keep_trace();
  void write_trace();
  void warn_of_trace(const std::string &fault);
  void count_run();
  static Totals count(const std::map<std::string, runtime::NodeLedger> &ledger, const Run &run);
  void request_stop();
  void on_finished(std::exception_ptr error);
  [[nodiscard]] uint64_t frames_entered() const;
  void drop(const std::string &why);

  GstElement *const element_;
  GstPad *sink_ = nullptr;
  OutputPort output_;
  core::Registry registry_;  // for compiles, which may add GPU implementations

  // The sink pad's streaming thread, and stop().
  std::optional<InputStream> input_;
  CapsPtr input_caps_;
  CapsPtr refused_caps_;
  std::optional<Delay> announced_delay_;
  bool warned_of_drop_ = false;
  std::set<std::string> warned_;  // of the graph, by sentence
  TraceLog trace_;

  // Guards run_ against readers on other threads; what is called with it never waits for the graph.
  // May be held when state_mutex_ is taken, never the other way round.
  mutable std::mutex run_mutex_;
  std::unique_ptr<Run> run_;

  mutable std::mutex state_mutex_;  // guards what follows
  std::condition_variable run_over_;
  std::shared_ptr<const GraphModel> model_;
  bool model_changed_ = false;
  bool started_ = false;
  bool flushing_ = false;
  bool run_active_ = false;
  bool failed_ = false;
  bool explained_ = true;
  std::optional<Delay> delay_;
  Totals totals_;
  uint64_t dropped_ = 0;  // buffers that never entered
  std::string device_;
};

}  // namespace holoflow::gst
