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

TEST(NearName, NamesAllWhereNoneIsNear) {
  EXPECT_EQ(suggestion_or_names("inn", {"in", "other"}, "it has"), "; did you mean \"in\"?");
  EXPECT_EQ(suggestion_or_names("x", {"in", "b"}, "it has"), "; it has \"in\", \"b\"");
  EXPECT_EQ(suggestion_or_names("x", {}, "it has"), "");
}

TEST(NearName, TypesAreListedElsewhere) {
  EXPECT_EQ(type_suggestion("meen", types), "; did you mean \"Mean\"?");
  EXPECT_EQ(type_suggestion("Sobel", types), "; \"holoflow tasks\" lists the types there are");
}

TEST(NearName, AlternativesAreOneOfWhich) {
  EXPECT_EQ(alternatives({}), "");
  EXPECT_EQ(alternatives({"a"}), "a");
  EXPECT_EQ(alternatives({"a", "b"}), "a or b");
  EXPECT_EQ(alternatives({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace holoflow::core
