// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/measuring.hh"

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "holoflow/core/module.hh"

namespace holoflow::tools {

namespace {

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (const size_t colon = line.find(": ");
        line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  return "unknown";
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty())
    return 0;
  const double rank = std::ceil(share * static_cast<double>(values.size())) - 1;
  const auto at =
      std::clamp<size_t>(rank < 0 ? 0 : static_cast<size_t>(rank), 0, values.size() - 1);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double Stopwatch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

double Stopwatch::busy_seconds() const {
  return cpu_seconds() - cpu_begin_;
}

double Stopwatch::busy_cores() const {
  const double wall = seconds();
  return wall > 0 ? busy_seconds() / wall : 0;
}

nlohmann::json summary(const std::vector<double> &values) {
  const auto [minimum, maximum] = std::minmax_element(values.begin(), values.end());
  return {
      {"median", median(values)},
      {"minimum", values.empty() ? 0 : *minimum},
      {"maximum", values.empty() ? 0 : *maximum},
      {"values", values}};
}

nlohmann::json new_report(const std::string &program, const std::string &device) {
  utsname system{};
  uname(&system);
  return {
      {"program", program},
      {"version", HOLOFLOW_RELEASE},
      {"date", date()},
      {"machine",
       {{"processor", processor()},
        {"cores", std::thread::hardware_concurrency()},
        {"system", std::string(system.sysname) + " " + system.release}}},
      {"device", device}};
}

void write_report(const std::string &path, const nlohmann::json &report) {
  std::ofstream file(path);
  file << report.dump(2) << '\n';
  file.close();
  if (!file)
    throw std::runtime_error("report \"" + path + "\": cannot be written");
}

}  // namespace holoflow::tools
