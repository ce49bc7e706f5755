// SPDX-License-Identifier: LGPL-2.1-or-later
// The life of a run: start, stop, end; one thread per section.
//
//   idle ──start()──► running ──last section ends──► finished ──wait()──► idle
//                        │
//                        ▼ request_stop() or a task's error
//                     stopping: `cancelled` is set, every task is interrupted, every section woken;
//                               each ends within its current call
#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <deque>
#include <thread>

#include "holoflow/core/error.hh"
#include "holoflow/runtime/graph_exec.hh"
#include "holoflow/runtime/metrics.hh"
#include "holoflow/runtime/node_runtime.hh"
#include "holoflow/runtime/section_runner.hh"

namespace holoflow::runtime {

namespace {

NodeLedger ledger_of_foreign(const AsyncLink &link) {
  NodeLedger ledger;
  ledger.left = link.frames_out();
  ledger.entered = link.frames_in();
  const auto inside = ledger.entered > ledger.left ? ledger.entered - ledger.left : 0;
  if (const auto lost = link.drain_timeout(); lost > 0)
    ledger.dropped["drain-timeout"] = lost;
  else
    ledger.held = inside;
  return ledger;
}

NodeLedger ledger_of(const NodeLedgerView &view) {
  NodeLedger ledger;
  ledger.entered = view.entered;
  ledger.left = view.left;
  ledger.skipped = view.skipped;
  ledger.failed = view.failed;
  ledger.held = view.held;
  ledger.awaited = view.awaited;
  if (view.dropped > 0)
    ledger.dropped[view.dropped_reason] = view.dropped;
  if (view.overflowed > 0)
    ledger.dropped["queue-full"] += view.overflowed;
  return ledger;
}

nlohmann::json to_json(const NodeLedger &ledger) {
  return {{"entered", ledger.entered}, {"left", ledger.left},     {"dropped", ledger.dropped},
          {"skipped", ledger.skipped}, {"failed", ledger.failed}, {"held", ledger.held}};
}

nlohmann::json to_json(const ReplayStats &replay) {
  return {
      {"section", replay.section},
      {"nodes", replay.nodes},
      {"key", replay.key},
      {"hits", replay.hits},
      {"misses", replay.misses},
      {"records", replay.records},
      {"re_records", replay.re_records},
      {"fallbacks", replay.fallbacks},
      {"operations", replay.operations},
      {"bytes", replay.bytes}};
}

}  // namespace

class Scheduler::Impl {
public:
  Impl(
      const GraphPlan &graph, const std::vector<Section> &sections, ExecResources &resources,
      std::chrono::milliseconds metrics_interval)
      : wakers_(sections.size()), nodes_(graph, sections, resources, router_, wakers_),
        metrics_(metrics_interval) {
    for (size_t id = 0; id < sections.size(); ++id) {
      runners_.emplace_back(graph, sections[id], nodes_, wakers_[id], state_, resources);
      sources_.push_back({&sections[id], &runners_.back().counters()});
    }
    state_.interrupt = [this] { interrupt(); };
  }

  ~Impl() {
    request_stop();
    join();
  }

  enum class Beginning { Anew, GoesOn };

  void start(Beginning beginning) {
    if (running_)
      return;
    join();
    state_.begin_run();
    rethrown_ = false;
    for (auto &runner : runners_)
      runner.trace.reset(trace_spans_);
    for (auto &node : nodes_)
      begin_run(*node, beginning);
    running_ = true;
    sections_left_ = runners_.size();
    if (runners_.empty()) {
      finish();
      return;
    }
    for (size_t id = 0; id < runners_.size(); ++id)
      threads_.emplace_back([this, id] { run_section(id); });
  }

  void request_stop() {
    if (running_)
      state_.stop();
  }

  void wait() {
    join();
    if (const auto error = state_.error(); error != nullptr && !rethrown_) {
      rethrown_ = true;
      std::rethrow_exception(error);
    }
  }

  [[nodiscard]] bool is_running() const { return running_; }
  [[nodiscard]] bool stop_requested() const { return state_.cancelled; }

  Metrics &metrics() { return metrics_; }
  const std::vector<Metrics::Source> &sections() const { return sources_; }
  void set_trace(size_t spans) { trace_spans_ = spans; }

  nlohmann::json trace(std::optional<std::chrono::steady_clock::time_point> origin) const {
    std::vector<std::string> names;
    std::vector<const SectionTrace *> traces;
    for (size_t id = 0; id < runners_.size() && !running_; ++id) {
      names.push_back(sources_[id].section->name);
      traces.push_back(&runners_[id].trace);
    }
    return chrome_trace(names, traces, origin);
  }
  std::vector<ReplayStats> replays() const {
    std::vector<ReplayStats> result;
    for (const auto &runner : runners_)
      for (const auto &recording : runner.recordings())
        result.push_back(recording.stats());
    return result;
  }

  NodeRuntimes &nodes() { return nodes_; }
  RunState &state() { return state_; }
  holoflow_event::Router &router() { return router_; }

  std::map<std::string, NodeLedger> ledger() {
    std::map<std::string, NodeLedger> result;
    for (const auto &node : nodes_) {
      const auto *source = dynamic_cast<ILedgerSource *>(node->task);
      if (source == nullptr && node->link == nullptr)
        continue;
      auto ledger =
          source != nullptr ? ledger_of(source->ledger_view()) : ledger_of_foreign(*node->link);
      if (const auto aborted = std::min(node->counters.aborted_frames.load(), ledger.left)) {
        ledger.left -= aborted;
        ledger.dropped["stopped"] += aborted;
      }
      if (node->link != nullptr && node->link->discarded() > 0) {
        ledger.entered += node->link->discarded();
        ledger.dropped["consumer-ended"] += node->link->discarded();
      }
      // Nobody comes for what is still inside when the run is over.
      if (node->link != nullptr && node->link->consumer_gone() && !running_ && ledger.held > 0)
        ledger.dropped["consumer-ended"] += std::exchange(ledger.held, 0);
      result.emplace(node->plan->spec.name, std::move(ledger));
    }
    return result;
  }

  std::function<void(std::exception_ptr)> on_finished;

private:
  // Throws TaskError; nothing runs then, and the next start() tries all of it again.
  static void begin_run(NodeRuntime &node, Beginning beginning) {
    const bool anew = beginning == Beginning::Anew;
    if (anew)
      node.counters.aborted_frames = 0;
    if (node.link != nullptr)
      anew ? node.link->begin_run() : node.link->continue_run();
    RunningPlace place("");
    place.enter(*node.plan, anew ? "begin_run" : "continue_run");
    try {
      anew ? node.task->begin_run() : node.task->continue_run();
    } catch (...) {
      std::rethrow_exception(place.describe_failure());
    }
  }

  void run_section(size_t id) {
    pthread_setname_np(pthread_self(), ("hf-section-" + std::to_string(id % 1000)).c_str());
    // Waits of tens of microseconds shall not take the usual fifty more.
    prctl(PR_SET_TIMERSLACK, 1000UL);
    runners_[id].run();
    if (--sections_left_ == 0)
      finish();
  }

  void finish() {
    running_ = false;
    if (on_finished)
      on_finished(state_.error());
  }

  void interrupt() {
    for (auto &node : nodes_)
      node->task->interrupt();
    for (auto &waker : wakers_)
      waker.notify();
  }

  void join() { threads_.clear(); }

  holoflow_event::Router router_;
  std::deque<Waker> wakers_;  // one per section; a deque, because wakers do not move
  NodeRuntimes nodes_;
  RunState state_;
  Metrics metrics_;
  std::deque<SectionRunner> runners_;
  std::vector<Metrics::Source> sources_;  // by section
  size_t trace_spans_ = 0;  // the controlling thread's
  std::atomic<bool> running_{false};
  std::atomic<size_t> sections_left_{0};
  bool rethrown_ = false;  // the controlling thread's
  std::vector<std::jthread> threads_;
};

Scheduler::Scheduler(
    const GraphPlan &graph, const std::vector<Section> &sections, ExecResources &resources,
    std::chrono::milliseconds metrics_interval)
    : impl_(std::make_unique<Impl>(graph, sections, resources, metrics_interval)) {}
Scheduler::~Scheduler() = default;

void Scheduler::start() {
  impl_->start(Impl::Beginning::Anew);
}
void Scheduler::resume() {
  impl_->start(Impl::Beginning::GoesOn);
}
void Scheduler::request_stop() {
  impl_->request_stop();
}
void Scheduler::wait() {
  impl_->wait();
}
bool Scheduler::is_running() const {
  return impl_->is_running();
}
bool Scheduler::stop_requested() const {
  return impl_->stop_requested();
}

void Scheduler::set_metrics_interval(std::chrono::milliseconds interval) {
  impl_->metrics().set_interval(interval);
}

std::map<std::string, NodeMetrics> Scheduler::metrics() const {
  impl_->state().measuring = true;
  return impl_->metrics().read(impl_->nodes());
}

std::map<std::string, SectionMetrics> Scheduler::section_metrics() const {
  impl_->state().measuring = true;
  return impl_->metrics().read_sections(impl_->sections(), impl_->nodes());
}

void Scheduler::stop_metrics() {
  impl_->state().measuring = false;
  impl_->metrics().restart();
}

void Scheduler::set_device_rates(const DeviceRates &rates) {
  impl_->metrics().set_device_rates(rates);
}

void Scheduler::set_trace(size_t spans) {
  impl_->set_trace(spans);
}

nlohmann::json Scheduler::trace(std::optional<std::chrono::steady_clock::time_point> origin) const {
  return impl_->trace(origin);
}

bool Scheduler::ui_try_send(const std::string &node_id, nlohmann::json &&data) noexcept {
  return impl_->router().ui_try_send(node_id, std::move(data));
}

std::optional<holoflow_event::Event> Scheduler::ui_try_receive() noexcept {
  return impl_->router().ui_try_receive();
}

std::vector<ReplayStats> Scheduler::replays() const {
  return impl_->replays();
}

std::map<std::string, NodeLedger> Scheduler::ledger() const {
  return impl_->ledger();
}

nlohmann::json Scheduler::stats() const {
  auto nodes = nlohmann::json::object();
  for (const auto &[name, ledger] : impl_->ledger())
    nodes[name] = to_json(ledger);
  auto replays = nlohmann::json::array();
  for (const auto &replay : impl_->replays())
    replays.push_back(to_json(replay));
  return {
      {"running", is_running()},
      {"nodes", std::move(nodes)},
      {"replays", std::move(replays)},
      {"events_dropped", impl_->router().dropped()}};
}

void Scheduler::set_on_finished(std::function<void(std::exception_ptr)> callback) {
  impl_->on_finished = std::move(callback);
}

}  // namespace holoflow::runtime
