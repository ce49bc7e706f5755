// SPDX-License-Identifier: LGPL-2.1-or-later
// Rates of nodes and sections.
#include "holoflow/runtime/metrics.hh"

#include <algorithm>
#include <utility>

namespace holoflow::runtime {

namespace {

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

double seconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

// A stream that is busy nearly all the time is what holds its section up, however long the thread
// waits for it or for queues that fill up behind it.
constexpr double busy_stream = 0.7;

std::string find_limiter(const SectionMetrics &metrics) {
  using Share = std::pair<double, const char *>;
  const auto device = std::max(
      {Share{metrics.upload_share, "upload"}, Share{metrics.compute_share, "compute"},
       Share{metrics.download_share, "download"}});
  if (device.first >= busy_stream)
    return device.second;
  const auto largest = std::max(
      {device, Share{metrics.host_share, "host"}, Share{metrics.upstream_share, "upstream"},
       Share{metrics.downstream_share, "downstream"}});
  return largest.first > 0 ? largest.second : "";
}

/// Bytes that one iteration moves.
struct IterationBytes {
  size_t upload = 0, download = 0, device = 0;
};

IterationBytes bytes_of(const Section &section, NodeRuntimes &nodes) {
  IterationBytes bytes;
  for (const auto index : section.sync_topo) {
    const auto &node = nodes[index];
    if (node.uploads)
      bytes.upload += node.host_bytes;
    if (node.downloads)
      bytes.download += node.host_bytes;
    bytes.device += node.device_bytes;
  }
  return bytes;
}

}  // namespace

double ReadingClock::next(std::chrono::milliseconds interval) {
  const auto now = Clock::now();
  const bool first = last_ == Clock::time_point{};
  if (!first && now - last_ < interval)
    return -1.0;
  const auto since = first ? 0.0 : std::chrono::duration<double>(now - last_).count();
  last_ = now;
  return since;
}

void Metrics::set_interval(std::chrono::milliseconds interval) {
  const std::lock_guard lock(mutex_);
  interval_ = interval;
}

void Metrics::set_device_rates(const DeviceRates &rates) {
  const std::lock_guard lock(mutex_);
  device_rates_ = rates;
}

void Metrics::restart() {
  const std::lock_guard lock(mutex_);
  nodes_clock_.restart();
  sections_clock_.restart();
  latest_.clear();
  latest_sections_.clear();
}

Metrics::Reading Metrics::read(const NodeRuntime &node) {
  const auto &counters = node.counters;
  return {node.runs(),          counters.duration_ns,    counters.waited_ns,
          counters.device_ns,   counters.device_samples, counters.fill_sum,
          counters.fill_samples};
}

Metrics::SectionReading Metrics::read(const SectionCounters &counters) {
  return {counters.iterations,    counters.host_ns,        counters.upstream_ns,
          counters.downstream_ns, counters.device_wait_ns, counters.sampled_iterations,
          counters.upload_ns,     counters.compute_ns,     counters.download_ns};
}

// A new run goes on from the counters of the last one, so differences never go below zero.
std::map<std::string, NodeMetrics> Metrics::read(NodeRuntimes &nodes) {
  const std::lock_guard lock(mutex_);
  const auto time = nodes_clock_.next(interval_);
  if (time < 0)
    return latest_;
  last_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto &node = nodes[i];
    const auto now = read(node);
    const auto &last = last_[i];
    const auto runs = static_cast<double>(now.runs - last.runs);
    auto &metrics = latest_[node.plan->spec.name];
    metrics.sample_count = now.runs;
    if (time > 0) {
      metrics.average_duration_ms = ratio(1e3 * seconds(now.duration_ns - last.duration_ns), runs);
      metrics.runs_per_second = runs / time;
      metrics.host_throughput_bytes_per_second = runs * static_cast<double>(node.host_bytes) / time;
      metrics.device_throughput_bytes_per_second =
          runs * static_cast<double>(node.device_bytes) / time;
      metrics.waiting_share = seconds(now.waited_ns - last.waited_ns) / time;
      metrics.average_device_duration_ms = ratio(
          1e3 * seconds(now.device_ns - last.device_ns),
          static_cast<double>(now.device_samples - last.device_samples));
      metrics.average_fill = ratio(
          static_cast<double>(now.fill_sum - last.fill_sum),
          static_cast<double>(now.fill_samples - last.fill_samples));
    }
    last_[i] = now;
  }
  return latest_;
}

std::map<std::string, SectionMetrics> Metrics::read_sections(
    const std::vector<Source> &sections, NodeRuntimes &nodes) {
  const std::lock_guard lock(mutex_);
  const auto time = sections_clock_.next(interval_);
  if (time < 0)
    return latest_sections_;
  last_sections_.resize(sections.size());
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto now = read(*sections[i].counters);
    const auto &last = last_sections_[i];
    auto &metrics = latest_sections_[sections[i].section->name];
    if (time > 0) {
      const auto iterations = static_cast<double>(now.iterations - last.iterations);
      const auto sampled = static_cast<double>(now.sampled_iterations - last.sampled_iterations);
      // Device time of the sampled iterations stands for all.
      const auto device_share = [&](uint64_t nanoseconds) {
        return ratio(seconds(nanoseconds), sampled) * iterations / time;
      };
      metrics.iterations_per_second = iterations / time;
      metrics.host_share = seconds(now.host_ns - last.host_ns) / time;
      metrics.upstream_share = seconds(now.upstream_ns - last.upstream_ns) / time;
      metrics.downstream_share = seconds(now.downstream_ns - last.downstream_ns) / time;
      metrics.device_share = seconds(now.device_wait_ns - last.device_wait_ns) / time;
      metrics.upload_share = device_share(now.upload_ns - last.upload_ns);
      metrics.compute_share = device_share(now.compute_ns - last.compute_ns);
      metrics.download_share = device_share(now.download_ns - last.download_ns);
      const auto bytes = bytes_of(*sections[i].section, nodes);
      metrics.upload_bytes_per_second = static_cast<double>(bytes.upload) * iterations / time;
      metrics.download_bytes_per_second = static_cast<double>(bytes.download) * iterations / time;
      metrics.device_bytes_per_second = static_cast<double>(bytes.device) * iterations / time;
      metrics.to_device_rate_share =
          ratio(metrics.upload_bytes_per_second, device_rates_.to_device);
      metrics.to_host_rate_share = ratio(metrics.download_bytes_per_second, device_rates_.to_host);
      metrics.memory_rate_share = ratio(metrics.device_bytes_per_second, device_rates_.memory);
      metrics.limiter = find_limiter(metrics);
    }
    last_sections_[i] = now;
  }
  return latest_sections_;
}

}  // namespace holoflow::runtime
