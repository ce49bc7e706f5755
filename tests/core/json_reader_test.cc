// SPDX-License-Identifier: LGPL-2.1-or-later
// The JSON scanner: values as nlohmann's parser reads them, faults with their place.
#include "holoflow/core/json_reader.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holoflow::core {
namespace {

using testing::HasSubstr;

nlohmann::json read(std::string_view text) {
  return JsonReader(text, "t").read_document();
}

// The fault's text, "" where there is none.
std::string fault(std::string_view text) {
  try {
    (void)read(text);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(JsonReader, ReadsWhatNlohmannReads) {
  for (const char *text :
       {"{}",
        "[]",
        " [ ] ",
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12",
        "-7",
        "1.5",
        "-2.5e-3",
        "1E+2",
        "4.0",
        "18446744073709551615",
        "-9223372036854775808",
        "\"\"",
        R"("a\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00")",
        "\"é€😀\"",
        R"({"a": [1, {"b": null}], "c/~": "x"})",
        "\t[1,\r\n2]\n"}) {
    const auto expected = nlohmann::json::parse(text);
    const auto value = read(text);
    EXPECT_EQ(value, expected) << text;
    EXPECT_EQ(value.type(), expected.type()) << text;
    EXPECT_EQ(value.dump(), expected.dump()) << text;
  }
}

TEST(JsonReader, SkipsCommentsAndAByteOrderMark) {
  EXPECT_EQ(read("\xef\xbb\xbf// first\n[1, // second, \" ] \n 2]// last").dump(), "[1,2]");
  EXPECT_EQ(read(R"(["// no comment"])").dump(), R"(["// no comment"])");
}

TEST(JsonReader, RecordsWhereValuesAndKeysBegin) {
  const std::string_view text = "{\n  \"a\": [10,\n    {\"b/c\": true}]}";
  JsonReader reader(text, "t");
  (void)reader.read_document();
  const auto expect = [&](const char *pointer, int line, int column) {
    EXPECT_EQ(reader.source().find(pointer).line, line) << pointer;
    EXPECT_EQ(reader.source().find(pointer).column, column) << pointer;
  };
  expect("", 1, 1);
  expect("/a", 2, 8);
  expect("/a/0", 2, 9);
  expect("/a/1", 3, 5);
  expect("/a/1/b~1c", 3, 13);
  EXPECT_EQ(reader.source().find_key("/a").column, 3);
  EXPECT_EQ(reader.source().find_key("/a/1/b~1c").column, 6);
}

TEST(JsonReader, SyntaxFaultsHavePlaceExpectedAndGot) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "t, line 1, column 1: expected a value, got the end of the text"},
      {"{\"a\": }", "t, line 1, column 7, /a: expected a value, got \"}\""},
      {"{\"a\" 1}", "t, line 1, column 6, /a: expected \":\" behind the key \"a\", got \"1\""},
      {"{a: 1}", "t, line 1, column 2: expected a key in double quotes, got \"a\""},
      {"{\"a\": 1",
       "t, line 1, column 8: expected \",\" or \"}\" behind a member, got the end of "
       "the text"},
      {"{\"a\": 1,\n}",
       "t, line 2, column 1: expected another member behind \",\", got \"}\"; "
       "remove the comma"},
      {"[1,]",
       "t, line 1, column 4: expected another element behind \",\", got \"]\"; remove the "
       "comma"},
      {"[1 2]", "t, line 1, column 4: expected \",\" or \"]\" behind an element, got \"2\""},
      {"[1] 2", "t, line 1, column 5: expected nothing behind the graph, got \"2\""},
      {"['a']",
       "t, line 1, column 2, /0: expected a value, got \"'\"; strings stand in double "
       "quotes"},
      {"[yes]",
       "t, line 1, column 2, /0: expected a value, got \"yes\"; strings stand in double "
       "quotes, other words are true, false and null"},
      {"[01]", "t, line 1, column 2, /0: a number does not begin with 0"},
      {"[-]", "t, line 1, column 3, /0: expected a digit behind \"-\", got \"]\""},
      {"[1.]", "t, line 1, column 4, /0: expected a digit behind \".\", got \"]\""},
      {"[1e+]", "t, line 1, column 5, /0: expected a digit in the exponent, got \"]\""},
      {"[+1]", "t, line 1, column 2, /0: expected a value, got \"+\""},
      {"[18446744073709551616]",
       "t, line 1, column 2, /0: the number \"18446744073709551616\" does "
       "not fit in 64 bits"},
      {"[1e999]", "t, line 1, column 2, /0: the number \"1e999\" does not fit in 64 bits"},
      {"[\"abc",
       "t, line 1, column 2, /0: the string that begins here does not end; a \" is "
       "missing"},
      {"[\"abc\n\"]",
       "t, line 1, column 2, /0: the string that begins here does not end on its "
       "line; a \" is missing"},
      {"[\"\\",
       "t, line 1, column 2, /0: the string that begins here does not end; a \" is "
       "missing"},
      {"[\"\\x41\"]",
       "t, line 1, column 3, /0: unknown escape \"\\\" with \"x\"; expected \\\" \\\\ "
       "\\/ \\b \\f \\n \\r \\t or \\uXXXX"},
      {"[\"\\u12g4\"]", "t, line 1, column 5, /0: expected four hexadecimal digits behind \\u"},
      {"[\"\\ude00\"]", "t, line 1, column 3, /0: a low surrogate without a high one before it"},
      {"[\"\\ud83d!\"]", "t, line 1, column 3, /0: a high surrogate without a low one behind it"},
      {"[\"\x01\"]",
       "t, line 1, column 3, /0: byte 0x01 in a string; write it as an escape (\\t, "
       "\\u0009)"},
      {"/* a */ []",
       "t, line 1, column 1: expected \"//\", got \"/\"; a comment begins with \"//\" "
       "and ends with its line"},
      {"\xff\xfe", "t, line 1, column 1: expected a value, got byte 0xff"},
  };
  for (const auto &[text, expected] : cases)
    EXPECT_EQ(fault(text), expected) << text;
}

TEST(JsonReader, RefusesMalformedUtf8) {
  // A lone continuation, an overlong slash, a surrogate, too large a code, a cut sequence.
  for (const char *bytes :
       {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xf8\x88\x80\x80\x80", "\xe2\x82"})
    EXPECT_THAT(fault("[\"" + std::string(bytes) + "\"]"), HasSubstr("is no UTF-8 text")) << bytes;
}

TEST(JsonReader, DuplicateKeysAreCollectedAndTheFirstValueStays) {
  JsonReader reader("{\"a\": 1,\n \"a\": {\"x\": 2}, \"b\": 3, \"b\": 4}", "t");
  EXPECT_EQ(reader.read_document().dump(), R"({"a":1,"b":3})");
  ASSERT_EQ(reader.faults().size(), 2u);
  EXPECT_STREQ(
      reader.faults()[0].what(),
      "t, line 2, column 2, /a: duplicate key \"a\"; it is already at line 1, column 2");
  EXPECT_EQ(reader.faults()[1].pointer, "/b");
}

TEST(JsonReader, NestingIsLimitedSoThatNoStackOverflows) {
  const auto nested = [](int depth) {
    return std::string(size_t(depth), '[') + std::string(size_t(depth), ']');
  };
  EXPECT_EQ(fault(nested(max_graph_depth)), "");
  EXPECT_THAT(
      fault(nested(max_graph_depth + 1)),
      HasSubstr("objects and arrays are nested more than 64 deep"));
  EXPECT_THAT(fault(std::string(100000, '[')), HasSubstr("line 1, column 65"));
  std::string objects;
  for (int i = 0; i < 100000; ++i)
    objects += "{\"a\":";
  EXPECT_THAT(fault(objects), HasSubstr("nested more than 64 deep"));
}

TEST(JsonReader, ReadsOneValueInTheMiddleOfAText) {
  JsonReader reader("x =\n [1, 2] rest", "t");
  EXPECT_EQ(reader.read_value_at(5, {2, 2}, "/p").dump(), "[1,2]");
  EXPECT_EQ(reader.offset(), 11u);
  EXPECT_EQ(reader.source().find("/p/1").line, 2);
  EXPECT_EQ(reader.source().find("/p/1").column, 6);
}

// A text that would need gigabytes for its pointers, were they all kept.
TEST(JsonReader, LongPathsOfManyValuesStaySmall) {
  std::string text;
  const std::string key(20000, 'k');
  for (int i = 0; i < 40; ++i)
    text += "{\"" + key + "\":";
  text += "[0";
  for (int i = 0; i < 200000; ++i)
    text += ",0";
  text += "]";
  text += std::string(40, '}');
  JsonReader reader(text, "t");
  (void)reader.read_document();
  EXPECT_EQ(reader.source().find("").line, 1);
  EXPECT_TRUE(reader.faults().empty());
}

}  // namespace
}  // namespace holoflow::core
