// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/metrics_text.hh"

#include <spdlog/fmt/fmt.h>

#include <chrono>

namespace holoflow::tools {

namespace {

double megabytes(double bytes) {
  return bytes * 1e-6;
}

std::string share_text(const char *what, double share) {
  return share > 0 ? fmt::format(", {} {:.0f} %", what, share * 100) : std::string();
}

/// `share`: of the highest rate, 0 where that is not known.
std::string rate_text(const char *what, double bytes_per_second, double share = 0) {
  if (bytes_per_second <= 0)
    return {};
  const auto text = fmt::format(", {} {:.1f} MB/s", what, megabytes(bytes_per_second));
  return share > 0 ? text + fmt::format(" ({:.0f} % of its rate)", share * 100) : text;
}

std::string replay_line(const runtime::ReplayStats &replay) {
  auto text = fmt::format(
      "  {}: {} tasks ({} … {}) as one launch: {} replays, {} recordings", replay.section,
      replay.nodes.size(), replay.nodes.front(), replay.nodes.back(), replay.hits,
      replay.records + replay.re_records);
  if (replay.average_device_duration_ms > 0)
    text += fmt::format(", device {:.3f} ms", replay.average_device_duration_ms);
  for (const auto &[reason, count] : replay.fallbacks)
    text += fmt::format(", {} one by one ({})", count, reason);
  return text + "\n";
}

}  // namespace

void begin_metrics(runtime::Scheduler &scheduler) {
  scheduler.set_metrics_interval(std::chrono::milliseconds(0));
  (void)scheduler.metrics();
  (void)scheduler.section_metrics();
}

RunMetrics take_metrics(runtime::Scheduler &scheduler) {
  return {
      scheduler.section_metrics(), scheduler.metrics(), scheduler.replays(),
      scheduler.stats().at("replays")};
}

std::string section_lines(const RunMetrics &metrics) {
  std::string text;
  for (const auto &[name, section] : metrics.sections)
    text +=
        fmt::format(
            "  {}: limited by {}, {:.1f} iterations per second", name,
            section.limiter.empty() ? "nothing" : section.limiter, section.iterations_per_second) +
        share_text("host", section.host_share) + share_text("upstream", section.upstream_share) +
        share_text("downstream", section.downstream_share) +
        share_text("waits for its stream", section.device_share) +
        share_text("upload", section.upload_share) + share_text("compute", section.compute_share) +
        share_text("download", section.download_share) +
        rate_text("up", section.upload_bytes_per_second, section.to_device_rate_share) +
        rate_text("down", section.download_bytes_per_second, section.to_host_rate_share) +
        rate_text("device memory", section.device_bytes_per_second, section.memory_rate_share) +
        "\n";
  for (const auto &replay : metrics.replays)
    text += replay_line(replay);
  return text;
}

std::string node_lines(const RunMetrics &metrics) {
  std::string text;
  for (const auto &[name, node] : metrics.nodes) {
    text += fmt::format(
        "  {}: {} runs, host {:.3f} ms", name, node.sample_count, node.average_duration_ms);
    if (node.average_device_duration_ms > 0)
      text += fmt::format(", device {:.3f} ms", node.average_device_duration_ms);
    text += share_text("waited for", node.waiting_share);
    if (node.average_fill > 0)
      text += fmt::format(", holds {:.1f} frames", node.average_fill);
    text += rate_text("host memory", node.host_throughput_bytes_per_second) +
        rate_text("device memory", node.device_throughput_bytes_per_second) + "\n";
  }
  return text;
}

nlohmann::json to_json(const RunMetrics &metrics) {
  auto sections = nlohmann::json::object();
  for (const auto &[name, section] : metrics.sections)
    sections[name] = {
        {"limiter", section.limiter},
        {"iterations_per_second", section.iterations_per_second},
        {"host_share", section.host_share},
        {"upstream_share", section.upstream_share},
        {"downstream_share", section.downstream_share},
        {"device_share", section.device_share},
        {"upload_share", section.upload_share},
        {"compute_share", section.compute_share},
        {"download_share", section.download_share},
        {"upload_bytes_per_second", section.upload_bytes_per_second},
        {"download_bytes_per_second", section.download_bytes_per_second},
        {"device_bytes_per_second", section.device_bytes_per_second},
        {"to_device_rate_share", section.to_device_rate_share},
        {"to_host_rate_share", section.to_host_rate_share},
        {"memory_rate_share", section.memory_rate_share}};
  auto nodes = nlohmann::json::object();
  for (const auto &[name, node] : metrics.nodes)
    nodes[name] = {
        {"runs", node.sample_count},
        {"host_ms", node.average_duration_ms},
        {"device_ms", node.average_device_duration_ms},
        {"waiting_share", node.waiting_share},
        {"fill", node.average_fill},
        {"host_bytes_per_second", node.host_throughput_bytes_per_second},
        {"device_bytes_per_second", node.device_throughput_bytes_per_second}};
  return {
      {"sections", std::move(sections)},
      {"nodes", std::move(nodes)},
      {"replays", metrics.replays_json}};
}

}  // namespace holoflow::tools
