// SPDX-License-Identifier: LGPL-2.1-or-later
// Rates of nodes and sections, computed when somebody asks. Nothing is measured before the first
// question.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "holoflow/runtime/node_runtime.hh"
#include "holoflow/runtime/probe.hh"

namespace holoflow::runtime {

/// When to compute anew: at the first question, then once an interval has passed.
///
/// Threads: under the lock of its owner.
class ReadingClock {
public:
  using Clock = std::chrono::steady_clock;

  /// Seconds since the last reading if it is time for one, 0 for the first; else negative.
  [[nodiscard]] double next(std::chrono::milliseconds interval);
  /// The next reading is a first one.
  void restart() { last_ = {}; }

private:
  Clock::time_point last_ = {};
};

/// Threads: any.
class Metrics {
public:
  explicit Metrics(std::chrono::milliseconds interval) : interval_(interval) {}

  void set_interval(std::chrono::milliseconds interval);
  void set_device_rates(const DeviceRates &rates);
  /// Forgets what was read: the next reading has no rates.
  void restart();
  /// The rates since the last reading, if that is an interval ago; else those computed then.
  [[nodiscard]] std::map<std::string, NodeMetrics> read(NodeRuntimes &nodes);

  /// One section to read_sections.
  struct Source {
    const Section *section;
    const SectionCounters *counters;
  };
  [[nodiscard]] std::map<std::string, SectionMetrics> read_sections(
      const std::vector<Source> &sections, NodeRuntimes &nodes);

private:
  struct Reading {
    uint64_t runs = 0, duration_ns = 0, waited_ns = 0;
    uint64_t device_ns = 0, device_samples = 0, fill_sum = 0, fill_samples = 0;
  };
  struct SectionReading {
    uint64_t iterations = 0, host_ns = 0, upstream_ns = 0, downstream_ns = 0, device_wait_ns = 0;
    uint64_t sampled_iterations = 0, upload_ns = 0, compute_ns = 0, download_ns = 0;
  };
  static Reading read(const NodeRuntime &node);
  static SectionReading read(const SectionCounters &counters);

  std::mutex mutex_;  // guards everything below
  std::chrono::milliseconds interval_;
  DeviceRates device_rates_;
  ReadingClock nodes_clock_, sections_clock_;
  std::vector<Reading> last_;
  std::map<std::string, NodeMetrics> latest_;
  std::vector<SectionReading> last_sections_;
  std::map<std::string, SectionMetrics> latest_sections_;
};

}  // namespace holoflow::runtime
