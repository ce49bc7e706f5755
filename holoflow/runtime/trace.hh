// SPDX-License-Identifier: LGPL-2.1-or-later
// The spans of a run, kept in memory and written as Chrome's trace format.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "holoflow/runtime/compile_trace.hh"

namespace holoflow::runtime {

/// What one section did: the newest spans, oldest first. Names outlive it.
///
/// Threads: add on the section's; everything else while it does not run.
class SectionTrace {
public:
  using Clock = std::chrono::steady_clock;
  enum class Row { Host, Device };

  struct Span {
    const char *name = "";  ///< of the node, or what the thread waited for
    const char *phase = "";
    Row row = Row::Host;
    Clock::time_point begin = {}, end = {};
    const char *nodes = nullptr;  ///< of a run that was launched as one
  };

  void reset(size_t most_spans) {
    spans_.clear();
    spans_.reserve(most_spans);
    limit_ = most_spans;
    oldest_ = 0;
  }
  [[nodiscard]] bool is_on() const noexcept { return limit_ > 0; }

  void add(const Span &span) {
    if (spans_.size() < limit_) {
      spans_.push_back(span);
    } else {
      spans_[oldest_] = span;
      oldest_ = (oldest_ + 1) % limit_;
    }
  }

  [[nodiscard]] std::vector<Span> spans() const;

private:
  std::vector<Span> spans_;  // a ring once it is full
  size_t limit_ = 0;
  size_t oldest_ = 0;
};

/// A trace of sections by name as https://ui.perfetto.dev reads it: a process for the graph, two
/// threads for each section, microseconds since `origin`, by default the first span.
[[nodiscard]] nlohmann::json chrome_trace(
    const std::vector<std::string> &names, const std::vector<const SectionTrace *> &sections,
    std::optional<SectionTrace::Clock::time_point> origin = std::nullopt);

}  // namespace holoflow::runtime
