// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs of a compiled graph, one after the other.
#include "holoflow/runtime/graph_session.hh"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "holoflow/core/near_name.hh"

namespace holoflow::runtime {

namespace {

using State = SessionState;

struct Move {
  State from, to;
};
// The drawing in the header. An error may end a run from wherever it is.
constexpr std::array moves{
    Move{State::Idle, State::Running},    Move{State::Drained, State::Running},
    Move{State::Stopped, State::Running}, Move{State::Failed, State::Running},
    Move{State::Running, State::Ending},  Move{State::Running, State::Stopping},
    Move{State::Ending, State::Stopping}, Move{State::Running, State::Drained},
    Move{State::Ending, State::Drained},  Move{State::Stopping, State::Stopped},
    Move{State::Running, State::Failed},  Move{State::Ending, State::Failed},
    Move{State::Stopping, State::Failed},
};

template <typename Rims> auto &find(const Rims &rims, const std::string &name, const char *type) {
  const auto found = rims.find(name);
  if (found != rims.end())
    return *found->second;
  std::vector<std::string> names;
  for (const auto &[known, rim] : rims)
    names.push_back(known);
  throw std::invalid_argument(
      "no " + std::string(type) + " node \"" + name + "\" in this graph" +
      core::suggestion_or_names(name, names, "it has"));
}

}  // namespace

const char *to_string(SessionState state) {
  switch (state) {
  case State::Idle:
    return "idle";
  case State::Running:
    return "running";
  case State::Ending:
    return "ending";
  case State::Stopping:
    return "stopping";
  case State::Drained:
    return "drained";
  case State::Stopped:
    return "stopped";
  case State::Failed:
    return "failed";
  }
  return "unknown";
}

bool is_active(SessionState state) {
  return state == State::Running || state == State::Ending || state == State::Stopping;
}

bool may_follow(SessionState from, SessionState to) {
  return std::any_of(moves.begin(), moves.end(), [&](const Move &move) {
    return move.from == from && move.to == to;
  });
}

GraphSession::GraphSession(std::unique_ptr<CompilerOutput> compiled, Options options)
    : compiled_(std::move(compiled)) {
  for (auto &[name, task] : compiled_->resources.tasks) {
    if (auto *input = dynamic_cast<IFrameInput *>(task.get()))
      inputs_.emplace(name, input);
    if (auto *output = dynamic_cast<IFrameOutput *>(task.get()))
      outputs_.emplace(name, output);
  }
  scheduler_ = std::make_unique<Scheduler>(
      compiled_->graph, compiled_->sections, compiled_->resources, options.metrics_interval);
  scheduler_->set_trace(options.trace_spans);
  scheduler_->set_on_finished([this](std::exception_ptr error) { finish(std::move(error)); });
}

GraphSession::~GraphSession() {
  stop();
  wait();
}

IFrameInput &GraphSession::input(const std::string &node) const {
  return find(inputs_, node, "Input");
}
IFrameOutput &GraphSession::output(const std::string &node) const {
  return find(outputs_, node, "Output");
}

void GraphSession::set_on_over(std::function<void(std::exception_ptr)> callback) {
  on_over_ = std::move(callback);
}

void GraphSession::move_to(State next) {
  if (!may_follow(state_, next))
    throw std::logic_error(
        std::string("a graph that is ") + to_string(state_) + " cannot become " + to_string(next));
  state_ = next;
}

void GraphSession::start() {
  begin(Beginning::Anew);
}

void GraphSession::resume() {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::Drained)
      throw std::logic_error(
          std::string("only a graph that has drained goes on, this one is ") + to_string(state_));
  }
  begin(Beginning::GoesOn);
}

void GraphSession::begin(Beginning beginning) {
  {
    const std::lock_guard lock(mutex_);
    move_to(State::Running);
    error_ = nullptr;
    ended_.clear();
  }
  try {
    beginning == Beginning::Anew ? scheduler_->start() : scheduler_->resume();
  } catch (...) {
    finish(std::current_exception());
    throw;
  }
  bool stopping = false;
  {
    const std::lock_guard lock(mutex_);
    stopping = state_ == State::Stopping;
  }
  // A stop that came before the sections ran found nothing to stop.
  if (stopping)
    scheduler_->request_stop();
}

void GraphSession::finish(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    error_ = error;
  }
  if (on_over_)
    on_over_(error);
  // Notified with the lock: whoever waits may destroy the session as soon as it is free.
  const std::lock_guard lock(mutex_);
  if (error != nullptr)
    move_to(State::Failed);
  else
    move_to(state_ == State::Stopping ? State::Stopped : State::Drained);
  changed_.notify_all();
}

void GraphSession::end(const std::string &name) {
  IFrameInput &rim = input(name);
  {
    const std::lock_guard lock(mutex_);
    ended_[name] = true;
    if (ended_.size() == inputs_.size() && state_ == State::Running)
      move_to(State::Ending);
  }
  rim.end();
}

void GraphSession::end() {
  for (const auto &[name, rim] : inputs_)
    end(name);
}

void GraphSession::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!may_follow(state_, State::Stopping))
      return;
    move_to(State::Stopping);
  }
  scheduler_->request_stop();
}

void GraphSession::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !is_active(state_); });
}

SessionState GraphSession::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::exception_ptr GraphSession::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace holoflow::runtime
