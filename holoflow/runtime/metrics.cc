// SPDX-License-Identifier: LGPL-2.1-or-later
// Rates of nodes.
#include "holoflow/runtime/metrics.hh"

namespace holoflow::runtime {

void Metrics::set_interval(std::chrono::milliseconds interval) {
  const std::lock_guard lock(mutex_);
  interval_ = interval;
}

std::map<std::string, NodeMetrics> Metrics::read(NodeRuntimes &nodes) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  const bool first = last_.empty();
  if (!first && now - last_time_ < interval_)
    return latest_;

  const double seconds = first ? 0.0 : std::chrono::duration<double>(now - last_time_).count();
  last_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto &node = nodes[i];
    const Reading current{node.counters.runs.load(), node.counters.duration_ns.load()};
    // A new run starts from the counters of the last one, so differences never go below zero.
    const auto runs = static_cast<double>(current.runs - last_[i].runs);
    const auto duration_ms = static_cast<double>(current.duration_ns - last_[i].duration_ns) * 1e-6;
    auto &metrics = latest_[node.plan->spec.name];
    metrics.sample_count = current.runs;
    if (!first && seconds > 0) {
      metrics.average_duration_ms = runs > 0 ? duration_ms / runs : 0.0;
      metrics.runs_per_second = runs / seconds;
      metrics.host_throughput_bytes_per_second =
          runs * static_cast<double>(node.host_bytes) / seconds;
      metrics.device_throughput_bytes_per_second =
          runs * static_cast<double>(node.device_bytes) / seconds;
    }
    last_[i] = current;
  }
  last_time_ = now;
  return latest_;
}

}  // namespace holoflow::runtime
