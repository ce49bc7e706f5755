// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/measuring.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace holoflow::tools {

namespace {

TEST(Measuring, MedianIsAMeasuredValue) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2);
  EXPECT_EQ(median({}), 0);
}

TEST(Measuring, QuantileHasItsShareOfValuesBelow) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i)
    values.push_back(i);
  EXPECT_EQ(quantile(values, 0.99), 99);
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 1), 100);
}

TEST(Measuring, SummaryKeepsTheOrderOfTheValues) {
  const auto result = summary({2, 9, 1});
  EXPECT_EQ(result.at("values"), nlohmann::json({2.0, 9.0, 1.0}));
  EXPECT_EQ(result.at("median"), 2.0);
  EXPECT_EQ(result.at("minimum"), 1.0);
  EXPECT_EQ(result.at("maximum"), 9.0);
  EXPECT_EQ(summary({}).at("maximum"), 0.0);
}

TEST(Measuring, StopwatchNeverRunsBackwards) {
  const Stopwatch stopwatch;
  const double first = stopwatch.seconds();
  EXPECT_GE(first, 0);
  EXPECT_GE(stopwatch.seconds(), first);
  EXPECT_GE(stopwatch.busy_seconds(), 0);
  EXPECT_GE(stopwatch.busy_cores(), 0);
}

TEST(Measuring, ReportIsWrittenAsItIs) {
  auto report = new_report("test", "CPU");
  EXPECT_EQ(report.at("program"), "test");
  EXPECT_EQ(report.at("device"), "CPU");
  const std::string date = report.at("date");
  EXPECT_EQ(date.size(), std::string("2000-01-01T00:00:00Z").size()) << date;
  const auto path =
      std::filesystem::temp_directory_path() / ("report-" + std::to_string(::getpid()) + ".json");
  write_report(path, report);
  std::ifstream file(path);
  EXPECT_EQ(nlohmann::json::parse(file), report);
  std::filesystem::remove(path);
}

TEST(Measuring, ReportThatCannotBeWrittenNamesTheFile) {
  try {
    write_report("/nowhere/at/all.json", {});
    FAIL() << "expected an exception";
  } catch (const std::runtime_error &error) {
    EXPECT_STREQ(error.what(), "report \"/nowhere/at/all.json\": cannot be written");
  }
}

}  // namespace

}  // namespace holoflow::tools
