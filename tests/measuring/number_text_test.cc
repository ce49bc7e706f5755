// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/number_text.hh"

#include <gtest/gtest.h>

#include <stdexcept>

namespace holoflow::tools {

namespace {

TEST(NumberText, ReadsWhatIsMeant) {
  EXPECT_EQ(parse_count("1"), 1u);
  EXPECT_EQ(parse_count("18446744073709551615"), ~size_t{0});
  EXPECT_EQ(parse_seconds("0.25"), 0.25);
  EXPECT_EQ(parse_seconds("1e-3"), 1e-3);
  const auto size = parse_frame_size("640x480");
  EXPECT_EQ(size.width, 640u);
  EXPECT_EQ(size.height, 480u);
}

/// The text of the exception, "" where there is none.
template <typename Parse> std::string refusal(Parse parse, const std::string &text) {
  try {
    (void)parse(text);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "";
}

TEST(NumberText, RefusesEverythingElse) {
  for (const char *text : {"", "0", "-1", "+1", "1.0", "1 ", " 1", "1e3", "18446744073709551616"})
    EXPECT_EQ(
        refusal(parse_count, text),
        "expected a whole number of at least 1, got \"" + std::string(text) + "\"");
  for (const char *text : {"", "0", "-1", "nan", "inf", "1s", "86401"})
    EXPECT_EQ(
        refusal(parse_seconds, text),
        "expected a number of seconds between 0 and 86400, got \"" + std::string(text) + "\"");
  for (const char *text : {"", "x", "640", "640x", "x480", "0x480", "640x0", "640X480", "1x1x1"})
    EXPECT_EQ(
        refusal(parse_frame_size, text),
        "expected a size as WIDTHxHEIGHT, got \"" + std::string(text) + "\"");
}

}  // namespace

}  // namespace holoflow::tools
