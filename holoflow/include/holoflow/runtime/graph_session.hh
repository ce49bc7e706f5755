// SPDX-License-Identifier: LGPL-2.1-or-later
// A compiled graph and its runs: what GraphRunner and the GStreamer element drive.
//
//                 start()                 end() of every input
//        ┌─ Idle ─────────► Running ──────────────────────────► Ending ─── the last section ends
//        ──┐ │    ▲                │ │ stop()                          │ stop() │ │    │ │
//        └───────────► Stopping ◄──────────┘                               │ │    │ │ sources ended
//        │ the last section ends                        │ │    │                ▼ ▼ ▼ │    │
//        Drained ◄─┐         Stopped                                         Drained │    │
//        start(), resume() ──┘  start() ─┘         an error of a task, from anywhere: Failed
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "holoflow/runtime/compiler.hh"
#include "holoflow/runtime/rim.hh"

namespace holoflow::runtime {

/// Where a session is. Nothing runs in Idle, Drained, Stopped and Failed.
enum class SessionState {
  Idle,  ///< it has not run yet
  Running,
  Ending,  ///< every input has ended; what is inside comes out
  Stopping,  ///< what is inside is thrown away
  Drained,  ///< everything has come out
  Stopped,
  Failed,  ///< a task threw
};

/// "idle", "running", …
[[nodiscard]] const char *to_string(SessionState state);
/// Whether sections run.
[[nodiscard]] bool is_active(SessionState state);
/// The table of the legal moves.
[[nodiscard]] bool may_follow(SessionState from, SessionState to);

/// Threads: start, resume and the destructor belong to one thread at a time; everything else may
/// come from any. Errors: start and resume throw TaskError where a task's begin_run or continue_run
/// does, and std::logic_error out of turn; what ends a run is kept, see error().
class GraphSession {
public:
  struct Options {
    std::chrono::milliseconds metrics_interval{1000};
    size_t trace_spans = 0;  ///< of each section, see Scheduler::set_trace
  };

  explicit GraphSession(std::unique_ptr<CompilerOutput> compiled, Options options);
  explicit GraphSession(std::unique_ptr<CompilerOutput> compiled)
      : GraphSession(std::move(compiled), Options()) {}
  GraphSession(const GraphSession &) = delete;
  GraphSession &operator=(const GraphSession &) = delete;
  ~GraphSession();  ///< stops and waits

  /// The rims by the names of their nodes; the pointers stay valid as long as the session.
  [[nodiscard]] const std::map<std::string, IFrameInput *> &inputs() const { return inputs_; }
  [[nodiscard]] const std::map<std::string, IFrameOutput *> &outputs() const { return outputs_; }
  /// Throw std::invalid_argument with the names there are.
  [[nodiscard]] IFrameInput &input(const std::string &node) const;
  [[nodiscard]] IFrameOutput &output(const std::string &node) const;

  /// Called when a run is over, with its error or null: on the last section's thread, or by start()
  /// and resume() where they throw. Before the first start. It must not start or destroy the
  /// session.
  void set_on_over(std::function<void(std::exception_ptr)> callback);

  /// A new run. Outputs need their sinks before.
  void start();
  /// Goes on after Drained, see Scheduler::resume().
  void resume();
  /// No more frames for one input, or for all, in this run.
  void end(const std::string &input);
  void end();
  /// Throws away what is inside. Does not wait.
  void stop() noexcept;

  /// Waits until nothing runs.
  void wait() const;
  [[nodiscard]] SessionState state() const;
  /// What ended the last run, null where nothing went wrong.
  [[nodiscard]] std::exception_ptr error() const;

  [[nodiscard]] const CompilerOutput &compiled() const { return *compiled_; }
  [[nodiscard]] Scheduler &scheduler() { return *scheduler_; }
  [[nodiscard]] const Scheduler &scheduler() const { return *scheduler_; }

private:
  enum class Beginning { Anew, GoesOn };

  void begin(Beginning beginning);
  void finish(std::exception_ptr error);
  void move_to(SessionState next);  // with the lock

  const std::unique_ptr<CompilerOutput> compiled_;
  std::map<std::string, IFrameInput *> inputs_;
  std::map<std::string, IFrameOutput *> outputs_;
  std::function<void(std::exception_ptr)> on_over_;

  mutable std::mutex mutex_;  // guards what follows; never held while anything is called
  mutable std::condition_variable changed_;
  SessionState state_ = SessionState::Idle;
  std::exception_ptr error_;
  std::map<std::string, bool> ended_;  // by input

  std::unique_ptr<Scheduler> scheduler_;  // goes first: it refers to the rest
};

}  // namespace holoflow::runtime
