// SPDX-License-Identifier: LGPL-2.1-or-later
// The graph behind the ports: one for each element.
//
//   Stopped ── start() ──► Waiting ── caps on every input ──► Ready ── a buffer ──► Running
//                             ▲                               │ ▲ ▲                  │   │
//                             └────────── other caps ─────────┘ │ │ the run is over  │   │
//                                                               │ └──────────────────┘   │
//                                                               └─ Draining ◄────────────┘
//                                                                     every input has ended
//   Flushing: from a pad's FLUSH_START, or its deactivation, to the last pad's FLUSH_STOP; then
//             Ready, or Waiting where there is no graph
//   Failed:   a task ended the run, Running or Draining; until a flush or stop()
//
// A run is one life of the scheduler's threads: it begins with the first buffer and ends when its
// inputs have ended (EOS, other caps), when everything is to come out (DRAIN, SEGMENT_DONE, gaps)
// or is to be thrown away (flush, stop). After it was only to come out, the next run goes on with
// what windows keep.
//
// Who owns: the session owns the graph; ports are owned by their GObjects, which are children of
// the bin and hold the session. Who waits: an input's streaming thread, in enter() for the graph,
// in push() for room, in drain() and FLUSH_STOP for the end of a run, in DRAIN for the output's
// task; an output's section in on_frames() for downstream. Who wakes: flushes, deactivation and
// halt() wake all of them and never wait themselves.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gstholoflowledger.h"
#include "gstholoflowmodel.h"
#include "gstholoflowqos.h"
#include "gstholoflowtrace.h"
#include "holoflow/runtime/graph_session.hh"

namespace holoflow::gst {

class InputPort;
class OutputPort;

enum class StreamState { Stopped, Waiting, Ready, Running, Draining, Flushing, Failed };

[[nodiscard]] const char *to_string(StreamState state);
/// The table of the legal moves.
[[nodiscard]] bool may_follow(StreamState from, StreamState to);

/// One compiled graph with its runs.
struct Graph {
  std::shared_ptr<const GraphModel> model;
  std::map<std::string, InputStream> streams;  ///< what it was compiled for, by Input
  std::shared_ptr<const Inference> inference;
  std::unique_ptr<runtime::GraphSession> session;
  bool has_untraced_run = false;  ///< its last run is in no trace yet; who changes the graph knows

  /// Since its run last went on behind a drain: frames that had entered each Input before, and what
  /// happens to those that follow, by Output. Empty in a run that did not. Who changes the graph
  /// writes them, between runs.
  std::map<std::string, uint64_t> entered_before;
  std::map<std::string, runtime::StreamShape> resumed_shapes;

  /// Of the frames that entered an Input in this run: those that wait for no others to come before
  /// they leave at an Output, and those up to the newest that does leave.
  struct Place {
    uint64_t settled = 0, shown = 0;
  };
  [[nodiscard]] Place place_at(const std::string &output) const;
  /// The run begins anew or goes on.
  void begin_places(bool goes_on);
};

/// Time by which a live stream is delayed, and that the graph can hold.
struct Delay {
  GstClockTime least = 0;
  GstClockTime most = 0;
  friend bool operator==(const Delay &, const Delay &) = default;
};

/// Threads: as each function says. Errors: each failure posts one message on the bus; nothing
/// throws.
class Session {
public:
  explicit Session(GstElement *element);
  ~Session();

  // The bin: state changes and properties.
  /// In NULL and READY.
  void set_ports(std::vector<InputPort *> inputs, std::vector<OutputPort *> outputs);
  /// The graph for compiles to come. While running it takes effect before the next buffer; where it
  /// cannot, `refused` is called on the streaming thread and the graph stays as it is.
  void set_model(std::shared_ptr<const GraphModel> model, std::function<void()> refused = {});
  void start();
  /// In PAUSED: runs a graph without Inputs. False where it cannot run; an error was posted.
  [[nodiscard]] bool start_sources();
  /// Ends the stream of a graph without Inputs, with what is inside.
  void end_sources(EventPtr eos);
  /// Wakes everything that waits and makes calls to come return FLUSHING. Does not wait.
  void halt();
  /// Pads are inactive: waits for the run, which halt() has ended, and frees the graph.
  void stop();

  // Any thread.
  [[nodiscard]] GstElement *element() const { return element_; }
  [[nodiscard]] bool is_started() const;
  [[nodiscard]] std::shared_ptr<const GraphModel> model() const;
  /// Frames of the Inputs whose caps have come, but for that of `port`.
  [[nodiscard]] Frames known_frames(const InputPort *except) const;
  [[nodiscard]] std::vector<InputPort *> inputs() const;
  [[nodiscard]] std::vector<OutputPort *> outputs() const;
  /// The Outputs whose records are those of the Input; all where nobody knows.
  [[nodiscard]] std::vector<OutputPort *> outputs_of(const std::string &input) const;
  [[nodiscard]] std::optional<Delay> delay_of(const std::string &output) const;
  [[nodiscard]] StructurePtr stats() const;
  /// True once for each start: whether a failed negotiation is worth a message.
  [[nodiscard]] bool first_explanation();
  /// A buffer came that never enters the graph.
  void count_refused();

  // An input's streaming thread.
  struct Entry {
    GstFlowReturn flow = GST_FLOW_OK;
    std::shared_ptr<Graph> graph = {};  ///< it runs, where flow is OK
    uint64_t run = 0;  ///< in this run
    bool is_shared = false;  ///< there are other inputs
  };
  /// Waits until the graph can take a buffer of that port: compiles it, starts it. Not OK also
  /// where downstream wants no more.
  [[nodiscard]] Entry enter(InputPort &port);
  /// The graph took no buffer more: why, or OK where it is worth another enter().
  [[nodiscard]] GstFlowReturn why_closed(InputPort &port, const Entry &entry);
  /// What all outputs together answer upstream of that input: not that another one flushes them.
  [[nodiscard]] GstFlowReturn flow(const InputPort &port) const;
  /// An output's task: downstream of it answered something else than OK.
  void on_flow();
  enum class CapsAnswer {
    Taken,  ///< also where other inputs have none yet
    Refused,  ///< an error was posted, and the former caps hold
    Interrupted,  ///< by a flush or a stop: nothing has changed
  };
  /// Before caps are judged: makes or refuses the graph for settings that have changed.
  void settle_settings(InputPort &port);
  /// Other caps of the port, which its node takes.
  [[nodiscard]] CapsAnswer set_caps(InputPort &port, GstCaps *caps);
  /// Lets everything out that comes without another frame; false where a flush or a stop came
  /// first. What windows keep stays.
  bool drain(InputPort &port);
  void end_input(InputPort &port, EventPtr eos);
  /// Before an event takes its place: waits until the run that an EOS on that pad ended is over,
  /// and until other pads have been flushed.
  void await_turn(InputPort &port);
  /// Frames of a port in this run.
  struct Inside {
    uint64_t entered = 0;
    uint64_t unsettled = 0;  ///< those that wait for others, at the Output where most do
    GstClockTime span = 0;  ///< of the largest window, 0 where that is unknown
    std::map<std::string, Graph::Place> places;  ///< by Output

    [[nodiscard]] Graph::Place place(const std::string &output) const;
  };
  [[nodiscard]] Inside inside(const InputPort &port);

  // Flushes and activation: any thread for the first of each pair.
  void begin_flush(InputPort &port, EventPtr event);
  void end_flush(InputPort &port, EventPtr event);
  void deactivate(InputPort &port);
  void activate(InputPort &port);
  /// A pad was deactivated, an output's too: everything inside is thrown away. And is active again.
  void begin_inactivity();
  void end_inactivity();
  /// Sends an upstream event from an output to the inputs, those that reach several outputs once.
  bool send_upstream(OutputPort &from, EventPtr event);

private:
  class Change;
  /// Which frames the counts of the graph's nodes are about.
  enum class RunOf {
    Nothing,  ///< they are in totals_ already
    Frames,  ///< of the run that is under way, or is over
    FramesToGoOn,  ///< of one that was only to come out: the next run continues it
  };
  /// What is said once.
  enum class Once { WhyCapsFail, MissingInput, NothingLeft };

  // With the lock.
  void move_to(StreamState next);
  [[nodiscard]] bool runs() const {
    return state_ == StreamState::Running || state_ == StreamState::Draining;
  }
  [[nodiscard]] GstFlowReturn refusal_of(const InputPort &port) const;
  [[nodiscard]] bool has_all_streams() const;
  [[nodiscard]] bool has_inactive_output() const;
  [[nodiscard]] bool is_current() const;
  [[nodiscard]] const InputPort *ended_input() const;
  [[nodiscard]] bool anyone_flushes() const;
  [[nodiscard]] std::map<std::string, InputStream> streams() const;

  [[nodiscard]] GstFlowReturn combined_flow() const;
  [[nodiscard]] bool all_ended() const;
  bool wait_for_turn(InputPort &port, std::unique_lock<std::mutex> &lock);
  bool end_run(std::unique_lock<std::mutex> &lock);
  void await_others(const InputPort &port, std::unique_lock<std::mutex> &lock);

  bool prepare();
  bool replace_settings();
  bool compile();
  [[nodiscard]] std::shared_ptr<Graph> build(
      std::shared_ptr<const GraphModel> model, std::map<std::string, InputStream> streams);
  void adopt(std::shared_ptr<Graph> graph);
  void discard_graph();
  void announce(const Graph &graph, bool between_frames);
  void say_device(const runtime::CompileReport &report);
  void post_warnings(const runtime::CompileReport &report);

  bool begin_run();
  void close_run();
  void post_eos(std::unique_lock<std::mutex> &lock);
  void warn_of_nothing_left(std::unique_lock<std::mutex> &lock);
  void on_over(std::exception_ptr error);
  void throw_away();
  void end_flushing(EventPtr event);
  bool send_qos(const OutputPort &from, EventPtr event);
  void forget_flush(InputPort &port, guint32 seqnum);
  void keep_trace(Graph &graph);
  void write_trace();
  void warn_of_trace(const std::string &fault);
  [[nodiscard]] ClosedRun run_of(const Graph &graph) const;
  void add_settled_runs();

  GstElement *const element_;
  core::Registry registry_;  // for compiles, which may add GPU implementations

  // One streaming thread at a time, see Change, and stop().
  std::set<std::string> warned_;  // of the graph, by sentence
  TraceLog trace_;

  mutable std::mutex mutex_;  // guards what follows, and the ports' shared part
  std::condition_variable changed_;
  std::vector<InputPort *> inputs_;
  std::vector<OutputPort *> outputs_;
  StreamState state_ = StreamState::Stopped;
  bool changing_ = false;  // a thread replaces or starts the graph
  RunOf run_ = RunOf::Nothing;
  uint64_t run_number_ = 0;  // also of those that were thrown away
  std::shared_ptr<Graph> graph_;
  std::shared_ptr<const GraphModel> model_;
  std::function<void()> refused_;
  std::map<std::string, Delay> delays_;  // by Output
  std::string device_;
  FrameCounts totals_;  // of earlier runs
  Departures departed_;  // of the run
  std::vector<ClosedRun> closed_runs_;  // whose last buffers wait at outputs
  std::optional<guint32> flush_seqnum_;  // of the FLUSH_START that was sent on last
  std::map<std::string, CombinedQos> qos_;  // by Input
  std::optional<guint32> upstream_seqnum_;  // of the event that went to all inputs last
  guint32 eos_seqnum_ = GST_SEQNUM_INVALID;  // of the EOS that came last
  std::set<Once> said_;  // since start()
};

}  // namespace holoflow::gst
