// SPDX-License-Identifier: LGPL-2.1-or-later
// What everything that measures has in common: `holoflow bench` and the programs in tests/bench.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace holoflow::tools {

/// The value below which the share `share` (0 to 1) of the values lies; 0 without values.
[[nodiscard]] double quantile(std::vector<double> values, double share);
[[nodiscard]] double median(std::vector<double> values);

/// Seconds that all threads of the process have computed.
[[nodiscard]] double cpu_seconds();

/// Wall time and computing time since it was made.
class Stopwatch {
public:
  [[nodiscard]] double seconds() const;
  [[nodiscard]] double busy_seconds() const;
  /// Cores that were busy on average.
  [[nodiscard]] double busy_cores() const;

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double cpu_begin_ = cpu_seconds();
};

/// {"median", "minimum", "maximum", "values"}, the values in the order in which they were measured.
[[nodiscard]] nlohmann::json summary(const std::vector<double> &values);

/// A report to be filled: {"program", "version", "date", "machine": {…}, "device"}. `device` is
/// "CPU" or the GPU's name.
[[nodiscard]] nlohmann::json new_report(const std::string &program, const std::string &device);

/// Throws std::runtime_error that names the file where it cannot be written.
void write_report(const std::string &path, const nlohmann::json &report);

}  // namespace holoflow::tools
