// SPDX-License-Identifier: LGPL-2.1-or-later
// Rates of nodes, computed when somebody asks. Nothing is measured before the first question.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "holoflow/runtime/node_runtime.hh"

namespace holoflow::runtime {

/// Threads: any.
class Metrics {
public:
  explicit Metrics(std::chrono::milliseconds interval) : interval_(interval) {}

  void set_interval(std::chrono::milliseconds interval);
  /// The rates since the last reading, if that is an interval ago; else those computed then.
  [[nodiscard]] std::map<std::string, NodeMetrics> read(NodeRuntimes &nodes);

private:
  using Clock = std::chrono::steady_clock;
  struct Reading {
    uint64_t runs = 0;
    uint64_t duration_ns = 0;
  };

  std::mutex mutex_;  // guards everything below
  std::chrono::milliseconds interval_;
  Clock::time_point last_time_ = {};
  std::vector<Reading> last_;
  std::map<std::string, NodeMetrics> latest_;
};

}  // namespace holoflow::runtime
