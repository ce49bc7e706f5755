// SPDX-License-Identifier: LGPL-2.1-or-later
// Suggestions for misspelt names.
#include "holoflow/core/near_name.hh"

#include <gtest/gtest.h>

namespace holoflow::core {
namespace {

const std::vector<std::string> types{"Mean",       "Max", "Min",      "Conversion",
                                     "BatchQueue", "FFT", "Filter2D", "FFTShift"};

TEST(NearName, FindsTypingErrors) {
  EXPECT_EQ(nearest_name("meen", types), "Mean");
  EXPECT_EQ(nearest_name("Conversoin", types), "Conversion");
  EXPECT_EQ(nearest_name("batch_queue", types), "BatchQueue");
  EXPECT_EQ(nearest_name("filter2", types), "Filter2D");
  EXPECT_EQ(nearest_name("FTF", types), "FFT");
}

TEST(NearName, TakesTheSameNameInOtherCase) {
  EXPECT_EQ(nearest_name("FFTSHIFT", types), "FFTShift");
}

TEST(NearName, IsSilentWhereNothingIsNear) {
  EXPECT_EQ(nearest_name("", types), "");
  EXPECT_EQ(nearest_name("Sobel", types), "");
  EXPECT_EQ(nearest_name("x", types), "");
  EXPECT_EQ(nearest_name("a", {"b"}), "");
  EXPECT_EQ(nearest_name(std::string(1000, 'a'), {std::string(1000, 'a')}), "");
}

TEST(NearName, ChoosesTheFirstInTheAlphabetAmongEquals) {
  EXPECT_EQ(nearest_name("Mac", {"Max", "Mab"}), "Mab");
  EXPECT_EQ(nearest_name("Mac", {"Mab", "Max"}), "Mab");
}

TEST(NearName, SuggestionIsTheEndOfASentence) {
  EXPECT_EQ(suggestion("meen", types), "; did you mean \"Mean\"?");
  EXPECT_EQ(suggestion("Sobel", types), "");
}

}  // namespace
}  // namespace holoflow::core
