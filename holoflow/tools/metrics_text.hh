// SPDX-License-Identifier: LGPL-2.1-or-later
// Rates of sections and nodes, for people and for programs.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "holoflow/runtime/graph_exec.hh"

namespace holoflow::tools {

/// What a scheduler measured between two questions.
struct RunMetrics {
  std::map<std::string, runtime::SectionMetrics> sections;
  std::map<std::string, runtime::NodeMetrics> nodes;
  std::vector<runtime::ReplayStats> replays;
  nlohmann::json replays_json;
};

/// To be called before the first frame: the rates of take_metrics count from here on.
void begin_metrics(runtime::Scheduler &scheduler);
[[nodiscard]] RunMetrics take_metrics(runtime::Scheduler &scheduler);

/// A line for each section: iterations, what it waited for, what its stream did; behind them a line
/// for each run that is recorded.
[[nodiscard]] std::string section_lines(const RunMetrics &metrics);
/// A line for each node.
[[nodiscard]] std::string node_lines(const RunMetrics &metrics);
/// {"sections": {name: {…}}, "nodes": {name: {…}}, "replays": [{…}]}
[[nodiscard]] nlohmann::json to_json(const RunMetrics &metrics);

}  // namespace holoflow::tools
