// SPDX-License-Identifier: LGPL-2.1-or-later
// Spans as JSON.
#include "holoflow/runtime/trace.hh"

#include <algorithm>

namespace holoflow::runtime {

std::vector<SectionTrace::Span> SectionTrace::spans() const {
  std::vector<Span> result(spans_.begin() + static_cast<std::ptrdiff_t>(oldest_), spans_.end());
  result.insert(
      result.end(), spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(oldest_));
  return result;
}

nlohmann::json chrome_trace(
    const std::vector<std::string> &names, const std::vector<const SectionTrace *> &sections) {
  using Span = SectionTrace::Span;
  using Clock = SectionTrace::Clock;
  auto first = Clock::time_point::max();
  std::vector<std::vector<Span>> spans;
  for (const auto *section : sections) {
    spans.push_back(section->spans());
    for (const auto &span : spans.back())
      first = std::min(first, span.begin);
  }
  const auto microseconds = [](Clock::duration duration) {
    return std::chrono::duration<double, std::micro>(duration).count();
  };
  auto events = nlohmann::json::array();
  const auto name_row = [&](size_t row, const std::string &name) {
    events.push_back(
        {{"ph", "M"},
         {"pid", 1},
         {"tid", row},
         {"name", "thread_name"},
         {"args", {{"name", name}}}});
    events.push_back(
        {{"ph", "M"},
         {"pid", 1},
         {"tid", row},
         {"name", "thread_sort_index"},
         {"args", {{"sort_index", row}}}});
  };
  for (size_t section = 0; section < spans.size(); ++section) {
    name_row(2 * section, names[section] + ", thread");
    const bool on_device =
        std::any_of(spans[section].begin(), spans[section].end(), [](const Span &span) {
          return span.row == SectionTrace::Row::Device;
        });
    if (on_device)
      name_row(2 * section + 1, names[section] + ", stream");
    for (const auto &span : spans[section])
      events.push_back(
          {{"ph", "X"},
           {"pid", 1},
           {"tid", 2 * section + (span.row == SectionTrace::Row::Device ? 1 : 0)},
           {"name", span.name},
           {"cat", span.phase},
           {"ts", microseconds(span.begin - first)},
           {"dur", microseconds(span.end - span.begin)}});
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

}  // namespace holoflow::runtime
