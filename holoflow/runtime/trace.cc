// SPDX-License-Identifier: LGPL-2.1-or-later
// Spans as JSON.
#include "holoflow/runtime/trace.hh"

#include <algorithm>

namespace holoflow::runtime {

namespace {

constexpr int run_process = 1;
constexpr int compile_process = 2;

double microseconds(SectionTrace::Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

std::vector<SectionTrace::Span> SectionTrace::spans() const {
  std::vector<Span> result(spans_.begin() + static_cast<std::ptrdiff_t>(oldest_), spans_.end());
  result.insert(
      result.end(), spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(oldest_));
  return result;
}

nlohmann::json chrome_trace(
    const std::vector<std::string> &names, const std::vector<const SectionTrace *> &sections,
    std::optional<SectionTrace::Clock::time_point> origin) {
  using Span = SectionTrace::Span;
  using Clock = SectionTrace::Clock;
  auto first = origin.value_or(Clock::time_point::max());
  std::vector<std::vector<Span>> spans;
  for (const auto *section : sections) {
    spans.push_back(section->spans());
    for (const auto &span : spans.back())
      if (!origin)
        first = std::min(first, span.begin);
  }
  auto events = nlohmann::json::array();
  const auto add_name = [&](size_t row, const char *what, nlohmann::json args) {
    events.push_back(
        {{"ph", "M"}, {"pid", run_process}, {"tid", row}, {"name", what}, {"args", args}});
  };
  const auto name_row = [&](size_t row, const std::string &name) {
    add_name(row, "thread_name", {{"name", name}});
    add_name(row, "thread_sort_index", {{"sort_index", row}});
  };
  add_name(0, "process_name", {{"name", "graph"}});
  for (size_t section = 0; section < spans.size(); ++section) {
    name_row(2 * section, names[section] + ", thread");
    const bool on_device =
        std::any_of(spans[section].begin(), spans[section].end(), [](const Span &span) {
          return span.row == SectionTrace::Row::Device;
        });
    if (on_device)
      name_row(2 * section + 1, names[section] + ", stream");
    for (const auto &span : spans[section]) {
      events.push_back(
          {{"ph", "X"},
           {"pid", run_process},
           {"tid", 2 * section + (span.row == SectionTrace::Row::Device ? 1 : 0)},
           {"name", span.name},
           {"cat", span.phase},
           {"ts", microseconds(span.begin - first)},
           {"dur", microseconds(span.end - span.begin)}});
      if (span.nodes != nullptr)
        events.back()["args"] = {{"nodes", span.nodes}};
    }
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

nlohmann::json chrome_events(
    const std::vector<CompileSpan> &spans, SectionTrace::Clock::time_point origin) {
  auto events = nlohmann::json::array();
  for (const auto &span : spans)
    events.push_back(
        {{"ph", "X"},
         {"pid", compile_process},
         {"tid", span.category == "factory" ? 2 : 1},
         {"name", span.name},
         {"cat", span.category},
         {"ts", microseconds(span.begin - origin)},
         {"dur", microseconds(span.end - span.begin)}});
  return events;
}

}  // namespace holoflow::runtime
